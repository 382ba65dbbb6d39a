//! The steps of cNMF on the same factors, and cases in which they have no answer.

use super::clusters::{distances, k_means, mean_distances, silhouettes};
use super::*;
use crate::counts::Counts;
use crate::data::{Documents, Terms};
use crate::error::ErrorKind;

const FITS: usize = 10;
const K: usize = 3;
const TERMS: usize = 12;

/// F of ten fits of three topics, in another order in each, with noise; three topics are noise alone.
fn factors() -> Vec<Matrix> {
    let mut state = 12_345u64;
    let mut draw = || {
        state = (1_103_515_245 * state + 12_345) % (1 << 31);
        state as f64 / f64::from(1u32 << 31)
    };
    let fits = (0..FITS).map(|fit| {
        let rows = (0..K).flat_map(|topic| {
            let is_outlier = [(3, 1), (7, 2), (8, 0)].contains(&(fit, topic));
            let row: Vec<f64> = (0..TERMS)
                .map(|term| match (is_outlier, term / 4 == (topic + fit) % K) {
                    (true, _) => draw(),
                    (false, true) => 1.0 + 0.4 * draw(),
                    (false, false) => 0.1 + 0.4 * draw(),
                })
                .collect();
            let sum: f64 = row.iter().sum();
            row.into_iter().map(move |value| (value / sum) as f32)
        });
        Matrix::new(K, TERMS, rows.collect()).unwrap()
    });
    fits.collect()
}

/// A fit with these topics, and counts of twelve documents, each of one topic.
fn fit_and_counts(f: &Matrix) -> (Fit, Counts) {
    let l = Matrix::new(1, f.rows(), vec![1.0; f.rows()]).unwrap();
    let document =
        |document: usize| (0..TERMS).map(move |term| 1 + 20 * u8::from(term / 4 == document / 4));
    let counts = Counts::dense(12, TERMS, (0..12).flat_map(document).collect::<Vec<u8>>());
    (Fit::from_matrices(l, f).unwrap(), counts.unwrap())
}

fn consensus(all: &[Matrix]) -> Result<Consensus> {
    let (like, counts) = fit_and_counts(&all[0]);
    Consensus::of(all, &like, (&counts, &CountNames::default()))
}

#[test]
fn density_silhouettes_and_medians_are_those_of_cnmf() {
    // Its steps in numpy 2.4 and scikit-learn 1.9 on the same factors: euclidean_distances of rows of length 1, argpartition,
    // KMeans(n_clusters=3, n_init=10, random_state=1), silhouette_samples, median.
    #[rustfmt::skip]
    let density = [
        0.139485, 0.144367, 0.160813, 0.183839, 0.170876, 0.171893, 0.217399, 0.205955, 0.206969, 0.147667,
        0.427097, 0.165191, 0.179565, 0.176674, 0.170752, 0.212159, 0.177823, 0.187318, 0.180637, 0.173403,
        0.174435, 0.204374, 0.170103, 0.581131, 0.574665, 0.214101, 0.144148, 0.140185, 0.220258, 0.180390,
    ];
    #[rustfmt::skip]
    let clusters: [(usize, f64, [f32; TERMS]); K] = [
        (9, 0.788266, [0.177913, 0.159497, 0.162271, 0.164427, 0.047815, 0.042061, 0.051636, 0.026315, 0.028812, 0.044346, 0.048638, 0.046269]),
        (9, 0.774179, [0.035962, 0.061549, 0.047603, 0.060679, 0.162171, 0.164318, 0.158201, 0.154561, 0.038858, 0.026384, 0.045574, 0.044141]),
        (10, 0.726821, [0.039113, 0.038898, 0.053228, 0.048310, 0.042799, 0.034950, 0.047289, 0.034182, 0.165192, 0.166282, 0.164439, 0.165319]),
    ];
    let found = consensus(&factors()).unwrap();
    for (found, expected) in found.density.iter().zip(density) {
        assert!((found - expected).abs() < 2e-6, "{found} {expected}");
    }
    assert!((found.dropped() - 2.0 / 30.0).abs() < 1e-12);
    let (f, (fits, sizes)) = (found.fit.f(), found.sizes());
    assert_eq!(fits, FITS);
    for (members, stability, medians) in clusters {
        // The consensus orders topics by their shares.
        let near = |topic: &usize| (f.row(*topic)[0] - medians[0]).abs() < 2e-6;
        let topic = (0..K).find(near).unwrap();
        assert_eq!(sizes[topic][0], members);
        assert!((found.stability[topic] - stability).abs() < 2e-6);
        for (found, expected) in f.row(topic).iter().zip(medians) {
            assert!((found - expected).abs() < 2e-6, "{found} {expected}");
        }
    }
}

#[test]
fn clusters_have_the_least_sum_of_squares_and_their_silhouettes_are_those_of_the_definition() {
    let all = factors();
    let topics: Vec<&[f32]> = all
        .iter()
        .flat_map(|f| (0..K).map(|row| f.row(row)))
        .collect();
    let distances = distances(&topics);
    // The reference: all divisions of nine topics into three clusters, with means of the vectors themselves.
    let rows: Vec<usize> = (0..9).collect();
    let few = distances
        .select_rows(&rows)
        .unwrap()
        .select_columns(&rows)
        .unwrap();
    let unit =
        |topic: usize, term: usize| f64::from(topics[topic][term]) / clusters::norm(topics[topic]);
    let squares = |of: &[usize]| -> f64 {
        let of_cluster = |cluster: usize| {
            let members: Vec<usize> = rows
                .iter()
                .copied()
                .filter(|&row| of[row] == cluster)
                .collect();
            let n = members.len() as f64;
            (0..TERMS)
                .map(|term| {
                    let mean: f64 = members.iter().map(|&row| unit(row, term)).sum::<f64>() / n;
                    members
                        .iter()
                        .map(|&row| (unit(row, term) - mean).powi(2))
                        .sum::<f64>()
                })
                .sum::<f64>()
        };
        (0..K).map(of_cluster).sum()
    };
    let least = (0..3usize.pow(9))
        .map(|code| {
            let of: Vec<usize> = rows
                .iter()
                .map(|&row| code / 3usize.pow(row as u32) % 3)
                .collect();
            squares(&of)
        })
        .filter(|sum| !sum.is_nan())
        .fold(f64::INFINITY, f64::min);
    let found = k_means(&few, K);
    assert!(
        (squares(&found) - least).abs() < 1e-9,
        "{} {least}",
        squares(&found)
    );
    for (row, silhouette) in silhouettes(&few, &found, K).into_iter().enumerate() {
        let mean = |cluster: usize| {
            let others = rows
                .iter()
                .filter(|&&other| other != row && found[other] == cluster);
            let distances: Vec<f64> = others.map(|&other| few.row(row)[other].into()).collect();
            distances.iter().sum::<f64>() / distances.len() as f64
        };
        let apart = (0..K).filter(|&cluster| cluster != found[row]).map(mean);
        let (a, b) = (mean(found[row]), apart.fold(f64::INFINITY, f64::min));
        assert!((silhouette - (b - a) / a.max(b)).abs() < 1e-9);
    }
}

#[test]
fn equal_topics_make_clusters_of_which_none_is_empty() {
    let f = Matrix::new(2, 4, vec![0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5]).unwrap();
    let topics: Vec<&[f32]> = (0..8).map(|topic| f.row(topic % 2)).collect();
    let distances = distances(&topics);
    assert!((distances.row(0)[1] - 2f32.sqrt()).abs() < 1e-6 && distances.row(0)[2] == 0.0);
    assert_eq!(mean_distances(&distances, 3), [0.0; 8]);
    for k in 1..=8 {
        let clusters = k_means(&distances, k);
        assert!(
            (0..k).all(|cluster| clusters.contains(&cluster)),
            "{k}: {clusters:?}"
        );
    }
}

#[test]
fn fits_without_common_topics_are_refused_and_a_topic_that_is_not_finite_is_dropped() {
    let mut all = factors();
    let mut values = all[0].values().to_vec();
    values[..TERMS].fill(f32::NAN);
    all[0] = Matrix::new(K, TERMS, values).unwrap();
    let (like, counts) = fit_and_counts(&all[1]);
    let terms = Terms::new((0..TERMS).map(|term| format!("term {term}"))).unwrap();
    let names = CountNames::of_table(terms, Documents::numbered(12).unwrap());
    let found = Consensus::of(&all, &like, (&counts, &names)).unwrap();
    assert!((found.dropped() - 3.0 / 30.0).abs() < 1e-12);
    assert!(found.fit().term_names().is_some() && found.fit().document_names().is_some());
    // Topics of two terms each, of which no two have one in common.
    let apart = |fit: usize| {
        let term = |topic: usize| {
            (0..TERMS).map(move |term| f32::from(u8::from(term / 2 == 3 * fit + topic)))
        };
        Matrix::new(K, TERMS, (0..K).flat_map(term).collect()).unwrap()
    };
    testkit::refused! {
        consensus(&[apart(0), apart(1)]) => Value, "0 of their 6 topics have near ones";
        consensus(&all[1..2]) => Setting, "no consensus of 1 fit";
    }
}
