//! Synthetic counts: their distribution, against formulas and against draws of NumPy, and their reproducibility.

use crate::rows::rows;
use topicbook::{Corpus, Dtype, ErrorKind, Layout, Synthetic};

/// The expected counts of a corpus: mean document length times L F.
fn expected(corpus: &Corpus, length: f64) -> Vec<f64> {
    let (l, f) = (corpus.true_l(), corpus.true_f());
    let mut expected = Vec::new();
    for document in 0..l.rows() {
        for term in 0..f.columns() {
            let rate: f64 = (0..f.rows())
                .map(|topic| f64::from(l.row(document)[topic]) * f64::from(f.row(topic)[term]))
                .sum();
            expected.push(rate * length);
        }
    }
    expected
}

#[test]
fn true_l_and_f_are_dirichlet() {
    let corpus = Synthetic::new(4_000, 50, 4).seed(3).generate().unwrap();
    let l = corpus.true_l();
    // Dirichlet(1) over k: mean 1 / k, variance (k - 1) / (k^2 (k + 1)).
    let (mean, variance) = (0.25, 3.0 / 80.0);
    for topic in 0..4 {
        let column: Vec<f64> = (0..l.rows())
            .map(|row| f64::from(l.row(row)[topic]))
            .collect();
        let average = column.iter().sum::<f64>() / column.len() as f64;
        let sample_variance =
            column.iter().map(|x| (x - average).powi(2)).sum::<f64>() / column.len() as f64;
        let standard_error = (variance / column.len() as f64).sqrt();
        assert!(
            (average - mean).abs() < 5.0 * standard_error,
            "mean {average}"
        );
        assert!(
            (sample_variance / variance - 1.0).abs() < 0.1,
            "variance {sample_variance}"
        );
    }
    for matrix in [corpus.true_l(), corpus.true_f()] {
        for row in 0..matrix.rows() {
            let sum: f64 = matrix.row(row).iter().map(|&x| f64::from(x)).sum();
            assert!((sum - 1.0).abs() < 1e-5, "row {row} sums to {sum}");
        }
    }
}

#[test]
fn document_lengths_are_poisson() {
    let length = 300.0;
    let corpus = Synthetic::new(5_000, 40, 3)
        .avg_doc_length(300)
        .seed(5)
        .generate()
        .unwrap();
    let summary = corpus.counts().summary().unwrap();
    let lengths = summary.document_lengths();
    let n = lengths.len() as f64;
    let mean = lengths.iter().sum::<f64>() / n;
    let variance = lengths.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    assert!(
        (mean - length).abs() < 5.0 * (length / n).sqrt(),
        "mean {mean}"
    );
    // The variance of a sample variance of a Poisson variable is about 2 a^2 / n.
    assert!(
        (variance - length).abs() < 5.0 * length * (2.0 / n).sqrt(),
        "variance {variance}"
    );
}

/// Pearson's chi-square of all cells against their expectations given the true L and F.
#[test]
fn counts_follow_l_f() {
    for (documents, terms, length) in [(200, 130, 20_000), (60, 900, 5_000), (40, 20, 200_000)] {
        let corpus = Synthetic::new(documents, terms, 5)
            .avg_doc_length(length)
            .seed(11)
            .generate()
            .unwrap();
        let (mut chi_square, mut cells) = (0.0f64, 0.0f64);
        for (count, expected) in rows(&corpus.counts())
            .into_iter()
            .zip(expected(&corpus, length as f64))
        {
            if expected > 2.0 {
                chi_square += (f64::from(count) - expected).powi(2) / expected;
                cells += 1.0;
            }
        }
        // Poisson cells: mean 1, variance 2 + 1 / mean.
        let standard_error = (2.5 / cells).sqrt();
        let ratio: f64 = chi_square / cells;
        assert!(
            (ratio - 1.0).abs() < 5.0 * standard_error,
            "{documents} x {terms}: chi-square per cell {ratio} over {cells} cells"
        );
    }
}

/// Given L and F, the counts of two terms in a document are uncorrelated (Poisson splitting).
#[test]
fn terms_are_independent_given_l_and_f() {
    let corpus = Synthetic::new(20_000, 2, 1)
        .avg_doc_length(50)
        .seed(2)
        .generate()
        .unwrap();
    let f = corpus.true_f();
    let rows = rows(&corpus.counts());
    let covariance: f64 = rows
        .chunks(2)
        .map(|pair| {
            (f64::from(pair[0]) - 50.0 * f64::from(f.row(0)[0]))
                * (f64::from(pair[1]) - 50.0 * f64::from(f.row(0)[1]))
        })
        .sum::<f64>()
        / 20_000.0;
    let standard_deviation = 50.0 * f64::from(f.row(0)[0] * f.row(0)[1]).sqrt();
    assert!(
        covariance.abs() < 5.0 * standard_deviation / 20_000f64.sqrt(),
        "covariance {covariance}"
    );
}

#[test]
fn a_seed_gives_the_same_corpus_with_any_number_of_threads() {
    let synthetic = Synthetic::new(37, 700, 3).avg_doc_length(2_000).seed(9);
    let many = synthetic.generate().unwrap();
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap()
        .install(|| synthetic.generate().unwrap());
    assert_eq!(rows(&many.counts()), rows(&one.counts()));
    assert_eq!(many.true_l(), one.true_l());
    let other = synthetic.clone().seed(10).generate().unwrap();
    assert_ne!(rows(&many.counts()), rows(&other.counts()));
}

#[test]
fn counts_are_stored_in_the_smallest_layout() {
    let sparse = Synthetic::new(50, 5_000, 3)
        .avg_doc_length(100)
        .generate()
        .unwrap();
    assert_eq!(sparse.counts().layout(), Layout::Csr);
    let small = Synthetic::new(50, 500, 3)
        .avg_doc_length(3_000)
        .generate()
        .unwrap();
    assert_eq!(
        (small.counts().layout(), small.counts().dtype()),
        (Layout::Dense, Dtype::U8)
    );
    let large = Synthetic::new(50, 20, 3)
        .avg_doc_length(50_000)
        .generate()
        .unwrap();
    assert_eq!(
        (large.counts().layout(), large.counts().dtype()),
        (Layout::Dense, Dtype::U16)
    );
}

#[test]
fn counts_written_to_a_file_are_those_generated_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    for length in [60, 20_000] {
        let synthetic = Synthetic::new(45, 300, 4).avg_doc_length(length).seed(8);
        let path = folder.path().join(format!("{length}.npy"));
        let in_file = synthetic.write_npy(&path).unwrap();
        let in_memory = synthetic.generate().unwrap();
        assert_eq!(rows(&in_file.counts()), rows(&in_memory.counts()));
        assert_eq!(in_file.true_f(), in_memory.true_f());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn impossible_settings_are_refused() {
    for synthetic in [
        Synthetic::new(0, 5, 1),
        Synthetic::new(5, 0, 1),
        Synthetic::new(5, 5, 0),
        Synthetic::new(5, 5, 1).avg_doc_length(0),
        Synthetic::new(usize::MAX, 5, 1),
    ] {
        assert_eq!(synthetic.generate().unwrap_err().kind(), ErrorKind::Setting);
    }
    let too_large = Synthetic::new(10_000_000, 1_000_000, 1).avg_doc_length(1_000_000);
    assert_eq!(too_large.generate().unwrap_err().kind(), ErrorKind::Space);
}

/// NumPy draws counts from the same L and F. A two-sample chi-square test compares the histograms of all counts.
#[test]
fn numpy_draws_from_the_same_distribution() {
    let Some(python) = testkit::python() else {
        return;
    };
    let (documents, terms, topics, length) = (2_000, 60, 4, 400);
    let corpus = Synthetic::new(documents, terms, topics)
        .avg_doc_length(length)
        .seed(21)
        .generate()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, matrix) in [("L", corpus.true_l()), ("F", corpus.true_f())] {
        let bytes: Vec<u8> = matrix
            .values()
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let script = format!(
        "
import numpy as np
L = np.fromfile('L', dtype='<f4').reshape({documents}, {topics}).astype(float)
F = np.fromfile('F', dtype='<f4').reshape({topics}, {terms}).astype(float)
rng = np.random.default_rng(4)
lengths = rng.poisson({length}, size={documents})
P = L @ F
P /= P.sum(axis=1, keepdims=True)
X = np.array([rng.multinomial(lengths[i], P[i]) for i in range({documents})])
print(' '.join(map(str, np.bincount(X.ravel()))))
"
    );
    let numpy: Vec<f64> = testkit::run(&python, folder.path(), &script)
        .split_whitespace()
        .map(|count| count.parse().unwrap())
        .collect();
    let mut topicbook = vec![0.0; numpy.len()];
    for count in rows(&corpus.counts()) {
        topicbook[(count as usize).min(numpy.len() - 1)] += 1.0;
    }
    let (mut chi_square, mut classes) = (0.0, 0.0);
    for (a, b) in topicbook.iter().zip(&numpy) {
        if a + b >= 20.0 {
            chi_square += (a - b) * (a - b) / (a + b);
            classes += 1.0;
        }
    }
    let degrees_of_freedom: f64 = classes - 1.0;
    assert!(
        chi_square < degrees_of_freedom + 5.0 * (2.0 * degrees_of_freedom).sqrt(),
        "chi-square {chi_square} with {degrees_of_freedom} degrees of freedom"
    );
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_drawn() {
    let (_folder, path) = testkit::temp_path("X.npy");
    // L alone has 24 TB, F 26 TB; the buffers of a thread have 137 GB.
    let documents = Synthetic::new(1 << 40, 3, 2);
    let topics = Synthetic::new(5, 1 << 20, 1 << 21);
    let terms = Synthetic::new(1, u32::MAX as usize, 20);
    for recipe in [documents, topics, terms] {
        for error in [
            recipe.generate().map(drop).unwrap_err(),
            recipe.write_npy(&path).map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Space, "{error}");
            assert!(error.to_string().contains("synthetic counts"), "{error}");
            assert!(!path.exists());
        }
    }
}

#[test]
fn counts_beyond_their_type_are_refused() {
    let (_folder, path) = testkit::temp_path("X.npy");
    // The last mean is beyond those that can be drawn.
    for length in [1 << 36, 1 << 40, usize::MAX] {
        let recipe = Synthetic::new(5, 5, 2).avg_doc_length(length).seed(1);
        for error in [
            recipe.generate().map(drop).unwrap_err(),
            recipe.write_npy(&path).map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Value, "{error}");
            assert!(error.to_string().contains("above 4,294,967,294"), "{error}");
        }
    }
    // Close to the limit.
    let recipe = Synthetic::new(5, 1, 1).avg_doc_length(4_000_000_000);
    let total = recipe
        .generate()
        .unwrap()
        .counts()
        .summary()
        .unwrap()
        .total();
    assert!((total / 2e10 - 1.0).abs() < 1e-3, "{total}");
}
