//! Terms and documents picked from counts, in every layout and file, against plain loops over dense rows.

use std::path::Path;

use crate::rows::rows;
use testkit::{Random, refused};
use topicbook::{Counts, Dtype, ErrorKind, Terms};

const DOCUMENTS: usize = 53;
const TERMS: usize = 17;

/// Mostly zeros; term 4 is unused, term 5 is in every document, and document 7 is empty but for it.
fn source() -> Counts {
    let mut random = Random::new(3);
    let mut values = vec![0u16; DOCUMENTS * TERMS];
    for (document, row) in values.chunks_mut(TERMS).enumerate() {
        for (term, value) in row.iter_mut().enumerate() {
            if term != 4 && document != 7 && random.uniform() < 0.2 {
                *value = 1 + (900.0 * random.uniform()) as u16;
            }
        }
        row[5] = 2;
    }
    Counts::dense(DOCUMENTS, TERMS, values).unwrap()
}

/// The same counts in memory and in files, dense and sparse.
fn sources(folder: &Path) -> Vec<(String, Counts)> {
    let dense = source();
    let npz = dense.write_npz(folder.join("X.npz")).unwrap();
    let mut sources = vec![
        ("dense in memory".into(), dense.clone()),
        ("sparse in a file".into(), npz.clone()),
        ("sparse in memory".into(), npz.select(0..DOCUMENTS).unwrap()),
    ];
    for dtype in [
        Dtype::U16,
        Dtype::U32,
        Dtype::I32,
        Dtype::I64,
        Dtype::F32,
        Dtype::F64,
    ] {
        let path = folder.join(format!("{dtype}.npy"));
        let counts = dense.write_npy_as(path, dtype).unwrap();
        sources.push((format!("{dtype} in a file"), counts));
    }
    sources
}

fn names() -> Terms {
    Terms::new((0..TERMS).map(|term| format!("word{term}"))).unwrap()
}

/// Columns of dense rows, by a plain loop.
fn columns_of(all: &[f32], columns: &[usize]) -> Vec<f32> {
    let row = |row: &[f32]| {
        columns
            .iter()
            .map(|&column| row[column])
            .collect::<Vec<_>>()
    };
    all.chunks(TERMS).flat_map(row).collect()
}

#[test]
fn picked_terms_are_the_columns_of_the_source_in_every_layout() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(&source());
    for (name, counts) in sources(folder.path()) {
        for columns in [vec![0], vec![16, 2, 5, 4], (0..TERMS).rev().collect()] {
            let picked = counts.select_terms(&columns).unwrap();
            assert_eq!(picked.shape(), (DOCUMENTS, columns.len()), "{name}");
            assert_eq!(picked.dtype(), counts.dtype(), "{name}");
            assert_eq!(picked.layout(), counts.layout(), "{name}");
            assert_eq!(rows(&picked), columns_of(&all, &columns), "{name}");
        }
    }
}

#[test]
fn terms_are_dropped_and_kept_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (all, terms) = (rows(&source()), names());
    for (name, counts) in sources(folder.path()) {
        let stop_words = ["word5", "word0", "not a term"];
        let (rest, left) = counts.drop_terms(&terms, stop_words).unwrap();
        let kept: Vec<usize> = (1..TERMS).filter(|&term| term != 5).collect();
        assert_eq!(rows(&rest), columns_of(&all, &kept), "{name}");
        assert_eq!(left, terms.select(&kept).unwrap());
        let (two, both) = counts
            .keep_terms(&terms, vec!["word9".to_string(), "word3".into()])
            .unwrap();
        assert_eq!(rows(&two), columns_of(&all, &[3, 9]), "{name}");
        assert_eq!(both.as_slice(), ["word3", "word9"]);
    }
}

#[test]
fn terms_are_filtered_by_the_documents_that_contain_them() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(&source());
    let documents = |term: usize| all.chunks(TERMS).filter(|row| row[term] != 0.0).count();
    let terms = names();
    for (name, counts) in sources(folder.path()) {
        let expect = |kept: &Terms, wanted: &dyn Fn(usize) -> bool| {
            let expected: Vec<usize> = (0..TERMS).filter(|&term| wanted(documents(term))).collect();
            assert_eq!(*kept, terms.select(&expected).unwrap(), "{name}");
        };
        let (few, kept) = counts.filter_terms(&terms, 1, 0.99).unwrap();
        expect(&kept, &|found| (1..DOCUMENTS).contains(&found));
        assert_eq!(few.terms(), kept.len());
        let (_, kept) = counts.filter_terms(&terms, 10, 1.0).unwrap();
        expect(&kept, &|found| found >= 10);
        let (_, kept) = counts.filter_terms(&terms, 0.2, 53u64).unwrap();
        expect(&kept, &|found| found as f64 / DOCUMENTS as f64 >= 0.2);
    }
}

#[test]
fn terms_are_counted_as_by_a_plain_loop() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(&source());
    let column = |term: usize| all.chunks(TERMS).map(move |row| row[term]);
    for (name, counts) in sources(folder.path()) {
        let totals = counts.term_totals().unwrap();
        let frequencies = counts.document_frequencies().unwrap();
        for term in 0..TERMS {
            let total: f64 = column(term).map(f64::from).sum();
            assert_eq!(totals[term], total, "{name}");
            let with: Vec<usize> = (0..DOCUMENTS)
                .filter(|&document| all[document * TERMS + term] != 0.0)
                .collect();
            assert_eq!(frequencies[term], with.len() as u64, "{name}");
            assert_eq!(counts.documents_with(term).unwrap(), with, "{name}");
        }
    }
}

#[test]
fn stored_zeros_are_zeros() {
    let counts = Counts::csr(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![0.0, 3.0, 1.0]).unwrap();
    assert_eq!(counts.documents_with(0).unwrap(), Vec::<usize>::new());
    assert_eq!(counts.document_frequencies().unwrap(), [0, 2]);
}

#[test]
fn a_split_has_every_document_once_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(&source());
    let mut first_part = None;
    for (name, counts) in sources(folder.path()) {
        let (train, test) = counts.split(0.8, 9).unwrap();
        assert_eq!((train.documents(), test.documents()), (42, 11), "{name}");
        assert_eq!(train.dtype(), counts.dtype());
        let (train, test) = (rows(&train), rows(&test));
        // Merged in the order of the source, the two parts are the source.
        let (mut left, mut right) = (
            train.chunks(TERMS).peekable(),
            test.chunks(TERMS).peekable(),
        );
        for row in all.chunks(TERMS) {
            let next = match left.peek() == Some(&row) {
                true => left.next(),
                false => right.next(),
            };
            assert_eq!(next, Some(row), "{name}");
        }
        // The same documents from every file.
        assert_eq!(first_part.get_or_insert(train.clone()), &train, "{name}");
    }
    let (other, _) = source().split(0.8, 10).unwrap();
    assert_ne!(first_part, Some(rows(&other)));
}

#[test]
fn what_cannot_be_done_says_why() {
    let (counts, terms) = (source(), names());
    refused! {
        counts.select_terms([17]) => Shape, "column 17 of counts with 17 terms";
        counts.select_terms([3, 3]) => Shape, "column 3 twice";
        counts.select_terms([]) => Shape, "no term is left";
        counts.documents_with(17) => Shape, "column 17";
        counts.keep_terms(&terms, ["word99"]) => Value, "`word99` is not among the 17 terms";
        counts.filter_terms(&terms, -1, 1.0) => Setting, "terms in -1.0 documents";
        counts.filter_terms(&terms, 1, 5.0) => Setting, "terms in 5.0 documents";
        counts.filter_terms(&terms, 54, 1.0) => Shape, "no term is left";
        counts.drop_terms(Terms::new(["one"]).unwrap(), ["a"]) => Shape, "1 terms for counts of 17 terms";
        counts.split(1.0, 0) => Setting, "leave one part without a document";
        counts.split(f64::NAN, 0) => Setting, "leave one part without a document";
    }
}

#[test]
fn halves_sum_to_the_counts_and_are_the_same_in_every_layout() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(&source());
    let halves = |counts: &Counts, seed| {
        let (first, second) = counts.split_tokens(seed).unwrap();
        for half in [&first, &second] {
            assert_eq!(half.shape(), counts.shape());
            assert_eq!(half.dtype(), counts.dtype());
            assert_eq!(half.layout(), counts.layout());
        }
        (rows(&first), rows(&second))
    };
    let expected = halves(&source(), 3);
    for (name, counts) in sources(folder.path()) {
        let (first, second) = halves(&counts, 3);
        assert_eq!((&first, &second), (&expected.0, &expected.1), "{name}");
        for ((&first, &second), &count) in first.iter().zip(&second).zip(&all) {
            assert_eq!(first + second, count, "{name}");
            assert!(first >= 0.0 && second >= 0.0, "{name}");
        }
    }
    assert_ne!(halves(&source(), 4), expected);
    // About half: the tokens of the first half are binomial.
    let (tokens, total) = (expected.0.iter().sum::<f32>(), all.iter().sum::<f32>());
    let deviations = (tokens - total / 2.0) / (total / 4.0).sqrt();
    assert!(deviations.abs() < 4.0, "{tokens} of {total}");
}

#[test]
fn a_document_is_halved_alike_among_any_others() {
    // The halves of a document depend on its number and counts, not on other documents.
    let all = source();
    let (first, _) = all.split_tokens(9).unwrap();
    let (of_some, _) = all.select(0..20).unwrap().split_tokens(9).unwrap();
    assert_eq!(rows(&first)[..20 * TERMS], rows(&of_some)[..]);
}

#[test]
fn what_cannot_be_halved_is_named() {
    for (value, message) in [
        (-1.0, "-1 is negative"),
        (0.5, "not a whole number"),
        (f64::NAN, "NaN is not a count"),
        (1e12, "at most 16777216"),
    ] {
        let counts = Counts::dense(2, 2, vec![1.0, 0.0, 0.0, value]).unwrap();
        let error = counts.split_tokens(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.place(), Some("row 1, column 1 (counted from 0)"));
        assert!(error.remedy().is_some());
    }
    let largest = Counts::dense(1, 1, vec![16_777_216.0f32]).unwrap();
    let (first, second) = largest.split_tokens(0).unwrap();
    assert_eq!(rows(&first)[0] + rows(&second)[0], 16_777_216.0);
}
