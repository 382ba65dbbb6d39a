//! Rankings against a plain matrix product and a sort.

use std::path::Path;

use testkit::refused;

use crate::config::Settings;
use crate::counts::Fingerprint;
use crate::data::Matrix;
use crate::{Counts, ErrorKind, Fit};

use super::RankingEvaluation;
use super::evaluate::Measure;

/// Distributions over `columns` that differ from row to row, of numbers with few digits, so that there are ties.
fn distributions(rows: usize, columns: usize, step: usize) -> Matrix {
    let values = (0..rows).flat_map(|row| {
        let weight = move |column: usize| (1 + (row * 13 + column) * step % 7) as f32;
        let sum: f32 = (0..columns).map(weight).sum();
        (0..columns).map(move |column| weight(column) / sum)
    });
    Matrix::new(rows, columns, values.collect()).unwrap()
}

/// A fit to these counts, with an L and an F that nobody has fitted.
fn fit_of(counts: &Counts, k: usize) -> Fit {
    let (l, f) = (
        distributions(counts.documents(), k, 37),
        distributions(k, counts.terms(), 29),
    );
    Fit::new(Settings::new(k), l, f, None, Vec::new(), "CPU".into(), None)
        .fitted_to(Some(Fingerprint::of(counts).unwrap()))
}

/// Counts of which the first document has all terms and the second none; about one cell in `sparsity` of the others.
fn values(documents: usize, terms: usize, sparsity: usize) -> Vec<u8> {
    let value = |at: usize| match at / terms {
        0 => 1,
        1 => 0,
        _ => u8::from(at * 31 % (7 * sparsity) < 7) * (1 + at % 3) as u8,
    };
    (0..documents * terms).map(value).collect()
}

fn dense(documents: usize, terms: usize, sparsity: usize) -> Counts {
    Counts::dense(documents, terms, values(documents, terms, sparsity)).unwrap()
}

/// The same counts dense and sparse, in memory and in files.
fn everywhere(counts: &Counts, folder: &Path) -> Vec<Counts> {
    vec![
        counts.clone(),
        counts.write_npy(folder.join("X.npy")).unwrap(),
        counts.write_npz(folder.join("X.npz")).unwrap(),
        Counts::open(folder.join("X.npz")).unwrap(),
        Counts::open(folder.join("X.npz"))
            .unwrap()
            .select(0..counts.documents())
            .unwrap(),
    ]
}

fn rows_of(counts: &Counts) -> Vec<Vec<f32>> {
    let mut all = vec![0.0; counts.documents() * counts.terms()];
    let documents: Vec<usize> = (0..counts.documents()).collect();
    counts.fill_rows(&documents, &mut all).unwrap();
    all.chunks(counts.terms()).map(<[f32]>::to_vec).collect()
}

/// The terms without a count in `row`, sorted by the rates of L F, and their rates.
fn sorted(l: &[f32], f: &Matrix, row: &[f32]) -> Vec<(usize, f32)> {
    let rate = |term: usize| {
        let topics = l.iter().enumerate();
        let sum = topics.fold(0.0f32, |sum, (topic, l)| {
            f.row(topic)[term].mul_add(*l, sum)
        });
        sum.min(1.0)
    };
    let unseen = (0..row.len()).filter(|&term| row[term] == 0.0);
    let mut ranking: Vec<(usize, f32)> = unseen.map(|term| (term, rate(term))).collect();
    // A stable sort: ties stay in the order of their columns.
    ranking.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranking
}

/// Means and standard errors by plain loops: recall, its error, NDCG, its error.
fn means(pairs: &[(f64, f64)]) -> [f64; 4] {
    let n = pairs.len() as f64;
    let of = |value: fn(&(f64, f64)) -> f64| {
        let mean = pairs.iter().map(value).sum::<f64>() / n;
        let squares: f64 = pairs.iter().map(|pair| (value(pair) - mean).powi(2)).sum();
        [mean, (squares / (n - 1.0) / n).sqrt()]
    };
    let ([recall, recall_error], [ndcg, ndcg_error]) = (of(|pair| pair.0), of(|pair| pair.1));
    [recall, recall_error, ndcg, ndcg_error]
}

/// Recall and NDCG at n, from the definition.
fn by_definition(ranking: &[usize], relevant: &[usize], n: usize) -> (f64, f64) {
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let hits = (0..n.min(ranking.len())).filter(|&rank| relevant.contains(&ranking[rank]));
    let hits: Vec<usize> = hits.collect();
    let most = n.min(relevant.len());
    let ideal: f64 = (0..most).map(gain).sum();
    let found: f64 = hits.iter().map(|&rank| gain(rank)).sum();
    (hits.len() as f64 / most as f64, found / ideal)
}

struct Expected {
    ranking: [f64; 4],
    popularity: [f64; 4],
    left_out: u64,
    documents_left_out: Vec<usize>,
}

fn expected_evaluation(
    fit: &Fit,
    counts: &Counts,
    held_out: &Counts,
    l: &Matrix,
    n: usize,
) -> Expected {
    let (rows, held) = (rows_of(counts), rows_of(held_out));
    let popularity = |term: usize| rows.iter().filter(|row| row[term] > 0.0).count();
    let mut popular: Vec<usize> = (0..counts.terms()).collect();
    popular.sort_by_key(|&term| std::cmp::Reverse(popularity(term)));
    let (mut own, mut baseline) = (Vec::new(), Vec::new());
    let (mut left_out, mut documents_left_out) = (0, Vec::new());
    for (document, (row, held)) in rows.iter().zip(&held).enumerate() {
        let held = (0..held.len()).filter(|&term| held[term] > 0.0);
        let (relevant, known): (Vec<usize>, Vec<usize>) = held.partition(|&term| row[term] == 0.0);
        left_out += known.len() as u64;
        if relevant.is_empty() {
            documents_left_out.push(document);
            continue;
        }
        let ranking = sorted(l.row(document), &fit.f, row).into_iter();
        let ranking: Vec<usize> = ranking.map(|pair| pair.0).collect();
        let unseen = popular.iter().copied().filter(|&term| row[term] == 0.0);
        let unseen: Vec<usize> = unseen.collect();
        own.push(by_definition(&ranking, &relevant, n));
        baseline.push(by_definition(&unseen, &relevant, n));
    }
    Expected {
        ranking: means(&own),
        popularity: means(&baseline),
        left_out,
        documents_left_out,
    }
}

fn assert_evaluation(found: &RankingEvaluation, expected: &Expected, what: &str) {
    let values = [
        found.recall(),
        found.recall_error().unwrap_or(f64::NAN),
        found.ndcg(),
        found.ndcg_error().unwrap_or(f64::NAN),
        found.popularity_recall(),
        found.popularity_ndcg(),
    ];
    let [recall, _, ndcg, _] = expected.popularity;
    for (found, expected) in values
        .iter()
        .zip(expected.ranking.iter().chain([&recall, &ndcg]))
    {
        // One document has no standard error.
        assert!(
            (found - expected).abs() < 1e-12 || found.is_nan() && expected.is_nan(),
            "{what}: {found} {expected}"
        );
    }
    assert_eq!(found.left_out(), expected.left_out, "{what}");
    assert_eq!(
        found.documents_left_out(),
        expected.documents_left_out,
        "{what}"
    );
}

#[test]
fn rankings_are_judged_as_by_plain_loops() {
    let folder = tempfile::tempdir().unwrap();
    for (k, documents, terms) in [(1, 5, 9), (3, 40, 300), (4, 33, 257)] {
        let all = dense(documents, terms, 5);
        let (counts, _) = all.split_tokens(1).unwrap();
        let fit = fit_of(&counts, k);
        // New documents: their counts are not the fit's.
        let other = dense(documents, terms, 9);
        let cases = [
            (counts.clone(), all.clone(), fit.l.clone()),
            (other.clone(), all.clone(), fit.transform(&other).unwrap()),
        ];
        for (counts, held_out, l) in cases {
            for n in [1, 7, terms, 10 * terms] {
                let expected = expected_evaluation(&fit, &counts, &held_out, &l, n);
                let what = format!("k = {k}, n = {n}");
                let counts = everywhere(&counts, folder.path());
                let elsewhere = tempfile::tempdir().unwrap();
                let held_out = everywhere(&held_out, elsewhere.path());
                for (counts, held_out) in counts.iter().zip(held_out.iter().rev()) {
                    let found = fit.evaluate_ranking(counts, held_out, n).unwrap();
                    assert_evaluation(&found, &expected, &what);
                    assert_eq!(found.n(), n);
                }
            }
        }
    }
}

#[test]
fn recall_and_ndcg_of_three_documents_by_hand() {
    // The terms in the order of their popularity are 3, 2, 1, 0.
    let measure = Measure::new(2, vec![3, 2, 1, 0]);
    // It has term 3. Of the terms 0 and 2, the ranking 1, 2, 0 has one among the first two, at rank 2.
    let judged = measure.judge([1, 2].into_iter(), &[3], [0, 2, 3].into_iter());
    assert_eq!((judged.relevant, judged.known), (2, 1));
    assert_eq!(judged.recall, 0.5);
    let rank_2 = 1.0 / 3f64.log2();
    assert_eq!(judged.ndcg, rank_2 / (1.0 + rank_2));
    // The most popular others are 2 and 1: a hit at rank 1.
    assert_eq!(judged.popularity_recall, 0.5);
    assert_eq!(judged.popularity_ndcg, 1.0 / (1.0 + rank_2));
    // Three relevant terms, of which at most two can be found.
    let all = measure.judge([0, 1].into_iter(), &[], [0, 1, 2].into_iter());
    assert_eq!((all.recall, all.ndcg), (1.0, 1.0));
    assert_eq!(all.popularity_recall, 0.5);
    // Nothing that is new.
    let nothing = measure.judge([0, 1].into_iter(), &[2, 3], [2, 3].into_iter());
    assert!(!nothing.counts());
    assert_eq!(nothing.known, 2);
    let evaluation = RankingEvaluation::new(vec![judged, all, nothing], 2, 1);
    assert_eq!(evaluation.recall(), 0.75);
    // Two values at a distance of 0.25 from their mean: 0.25 / √(2 - 1).
    assert_eq!(evaluation.recall_error(), Some(0.25));
    assert_eq!(
        (evaluation.documents(), evaluation.documents_left_out()),
        (2, vec![2])
    );
    assert_eq!(evaluation.left_out(), 3);
    assert!(
        evaluation
            .to_string()
            .starts_with("recall@2 0.7500 ± 0.2500, NDCG@2 ")
    );
    let one = RankingEvaluation::new(vec![judged], 2, 1);
    assert_eq!((one.recall_error(), one.ndcg_error()), (None, None));
}

#[test]
fn rankings_that_cannot_be_judged_are_refused() {
    let counts = dense(6, 12, 3);
    let fit = fit_of(&counts, 2);
    let fewer_terms = dense(6, 11, 3);
    let fewer_documents = dense(5, 12, 3);
    refused! {
        fit.evaluate_ranking(&fewer_terms, &counts, 3) => Shape, "11 terms";
        fit.evaluate_ranking(&counts, &fewer_terms, 3) => Shape, "11 terms";
        fit.evaluate_ranking(&counts, &fewer_documents, 3) => Shape, "of 5 documents";
        fit.evaluate_ranking(&counts, &counts, 0) => Setting, "0 terms";
        fit.evaluate_ranking(&counts, &counts, 3) => Value, "nothing to evaluate";
    }
}

#[cfg(feature = "polars")]
mod tables {
    use crate::{Documents, Table, Terms};

    use super::*;

    /// The terms and rates of a table, as they were sorted.
    fn assert_rows(table: &Table, expected: &[(usize, f32)], what: &str) {
        let terms: Vec<usize> = table
            .texts("term")
            .unwrap()
            .iter()
            .map(|term| term.parse().unwrap())
            .collect();
        let rates = table.numbers("rate").unwrap().into_iter();
        let found: Vec<(usize, f32)> = terms
            .into_iter()
            .zip(rates.map(|rate| rate as f32))
            .collect();
        assert_eq!(found, expected, "{what}");
        let ranks = table.numbers("rank").unwrap().into_iter();
        assert!(
            ranks.eq((1..=expected.len()).map(|rank| rank as f64)),
            "{what}"
        );
    }

    fn rows_of_document(table: &Table, document: usize) -> Table {
        table
            .filter(polars::prelude::col("document").eq(document as u64))
            .unwrap()
    }

    #[test]
    fn recommendations_are_the_first_of_a_sorted_row_of_rates() {
        let folder = tempfile::tempdir().unwrap();
        for (k, documents, terms, sparsity) in [
            (1, 3, 5, 2),
            (1, 20, 64, 3),
            (3, 40, 300, 6),
            (5, 17, 257, 2),
        ] {
            let counts = dense(documents, terms, sparsity);
            let fit = fit_of(&counts, k);
            let rows = rows_of(&counts);
            for (place, counts) in everywhere(&counts, folder.path()).iter().enumerate() {
                for n in [1, 4, terms, usize::MAX] {
                    let all = fit.recommend_all(counts, n).unwrap();
                    let mut height = 0;
                    for (document, row) in rows.iter().enumerate() {
                        let mut expected = sorted(fit.l.row(document), &fit.f, row);
                        expected.truncate(n);
                        height += expected.len();
                        let what = format!("k = {k}, place {place}, document {document}, n = {n}");
                        assert_rows(
                            &fit.recommend(counts, document, n).unwrap(),
                            &expected,
                            &what,
                        );
                        assert_rows(&rows_of_document(&all, document), &expected, &what);
                    }
                    assert_eq!(all.height(), height);
                }
            }
        }
    }

    #[test]
    fn new_documents_have_the_topics_of_transform() {
        let fit = fit_of(&dense(25, 70, 4), 3);
        // The new documents have the same shape first, and then another one.
        for documents in [25, 31] {
            let new = dense(documents, 70, 5);
            let rows = rows_of(&new);
            let l = fit.transform(&new).unwrap();
            let all = fit.recommend_all(&new, 6).unwrap();
            for (document, row) in rows.iter().enumerate() {
                let mut expected = sorted(l.row(document), &fit.f, row);
                expected.truncate(6);
                assert_rows(&rows_of_document(&all, document), &expected, "all");
                let own = fit.transform(new.select([document]).unwrap()).unwrap();
                let mut expected = sorted(own.row(0), &fit.f, row);
                expected.truncate(6);
                let one = fit.recommend(&new, document, 6).unwrap();
                assert_rows(&one, &expected, "one");
            }
        }
    }

    #[test]
    fn stored_zeros_are_no_counts() {
        let counts = Counts::csr(1, 4, vec![0, 3], vec![0, 1, 3], vec![2.0f32, 0.0, 1.0]).unwrap();
        let fit = fit_of(&counts, 2);
        let expected = sorted(fit.l.row(0), &fit.f, &[2.0, 0.0, 0.0, 1.0]);
        assert_eq!(expected.len(), 2);
        assert_rows(&fit.recommend(&counts, 0, 9).unwrap(), &expected, "one");
        assert_rows(&fit.recommend_all(&counts, 9).unwrap(), &expected, "all");
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let counts = dense(90, 600, 5);
        let (counts, held_out) = counts.split_tokens(3).unwrap();
        let fit = fit_of(&counts, 6);
        let [one, two] = [1, 2].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let table = fit.recommend_all(&counts, 9).unwrap();
                let evaluation = fit.evaluate_ranking(&counts, &held_out, 9).unwrap();
                (
                    table.texts("term").unwrap(),
                    table.numbers("rate").unwrap(),
                    evaluation,
                )
            })
        });
        assert!(one == two);
    }

    #[test]
    fn tables_have_the_names_of_terms_and_of_the_documents_of_the_fit() {
        let counts = dense(3, 4, 2);
        let mut fit = fit_of(&counts, 2);
        fit.terms = Some(Terms::new(["ant", "bee", "cat", "dog"]).unwrap());
        let documents = Documents::new(["Ann", "Ben", "Cleo"]).unwrap();
        let documents = documents
            .with_labels("town", ["Ulm", "Kiel", "Ulm"])
            .unwrap();
        let fit = fit.with_documents(documents).unwrap();
        let all = fit.recommend_all(&counts, 2).unwrap();
        let columns = ["document", "name", "town", "rank", "term", "rate"];
        assert_eq!(all.column_names(), columns);
        // Ann has all terms, Ben has none.
        assert_eq!(all.texts("name").unwrap()[..2], ["Ben", "Ben"]);
        assert_eq!(all.texts("town").unwrap()[0], "Kiel");
        let first = fit.recommend(&counts, 1, 1).unwrap();
        assert_eq!(
            all.texts("term").unwrap()[0],
            first.texts("term").unwrap()[0]
        );
        // The names belong to other documents.
        let new = fit.recommend_all(dense(2, 4, 2), 2).unwrap();
        assert_eq!(new.column_names(), ["document", "rank", "term", "rate"]);
        let label = Documents::numbered(3)
            .unwrap()
            .with_labels("rate", ["a", "b", "c"]);
        assert!(fit.with_documents(label.unwrap()).is_err());
    }

    #[test]
    fn what_cannot_be_recommended_is_refused() {
        let counts = dense(6, 12, 3);
        let fit = fit_of(&counts, 2);
        refused! {
            fit.recommend(&counts, 6, 3) => Shape, "document 6 of counts with 6 documents";
            fit.recommend(&counts, 0, 0) => Setting, "0 terms";
            fit.recommend_all(&counts, 0) => Setting, "0 terms";
            fit.recommend(dense(6, 11, 3), 0, 3) => Shape, "11 terms";
            fit.recommend_all(dense(6, 11, 3), 3) => Shape, "11 terms";
        }
        // Everything has been seen.
        assert_eq!(fit.recommend(&counts, 0, 3).unwrap().height(), 0);
    }
}
