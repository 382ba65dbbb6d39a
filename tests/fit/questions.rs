//! What can be asked of a fit, against plain loops over L and F.

use testkit::refused;
use topicbook::{Counts, ErrorKind, Fit, Solver, Terms, TopicModel};

fn counts() -> Counts {
    crate::drawn([300, 80, 4], 500, 4).counts()
}

fn terms() -> Terms {
    Terms::new((0..80).map(|term| format!("word{term}"))).unwrap()
}

fn fit(counts: &Counts) -> Fit {
    let model = TopicModel::new(4).solver(Solver::auto()).seed(1).quiet();
    model.terms(terms()).fit(counts).unwrap()
}

/// Rows of a matrix by falling value in a column; ties by row.
fn falling(fit: &Fit, topic: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..fit.documents()).collect();
    order.sort_by(|&a, &b| fit.l().row(b)[topic].total_cmp(&fit.l().row(a)[topic]));
    order
}

#[test]
fn top_documents_are_those_of_a_sorted_column() {
    let fit = fit(&counts());
    let table = fit.top_documents(7);
    assert_eq!(table.height(), 28);
    let all = table.numbers("document").unwrap();
    for topic in 0..4 {
        let order = falling(&fit, topic);
        let expected: Vec<f64> = order[..7].iter().map(|&d| d as f64).collect();
        assert_eq!(all[topic * 7..][..7], expected);
        let one = fit.documents_of_topic(topic, 7).unwrap();
        assert_eq!(one.numbers("document").unwrap(), expected);
        let largest = one.numbers("proportion").unwrap()[0];
        assert_eq!(largest as f32, fit.l().row(order[0])[topic]);
    }
    assert_eq!(fit.top_documents(1_000).height(), 1_200);
}

#[test]
fn topics_and_terms_are_found_from_both_sides() {
    let fit = fit(&counts());
    let best = fit.terms_of_topic(2, 1).unwrap();
    let term = &best.texts("term").unwrap()[0];
    let column = terms().find(term).unwrap();
    let probability = best.numbers("probability").unwrap()[0];
    assert_eq!(probability as f32, fit.f().row(2)[column]);
    let topic = fit.topics_of_term(term).unwrap().numbers("topic").unwrap()[0];
    let largest = (0..4).map(|k| fit.f().row(k)[column]).fold(0.0, f32::max);
    assert_eq!(fit.f().row(topic as usize)[column], largest);
    refused! { fit.topics_of_term("wrd17") => Value, "`word17`"; }
    // Without names a term is the number of its column.
    let unnamed = TopicModel::new(2).epochs(2).quiet().fit(counts()).unwrap();
    assert_eq!(unnamed.topics_of_term("79").unwrap().height(), 2);
    assert!(unnamed.topics_of_term("80").is_err());
}

#[test]
fn sizes_are_means_of_columns() {
    let fit = fit(&counts());
    let table = fit.topic_sizes();
    let numbers = |column| table.numbers(column).unwrap();
    for topic in 0..4 {
        let proportions = (0..300).map(|document| f64::from(fit.l().row(document)[topic]));
        let mean = proportions.sum::<f64>() / 300.0;
        assert!((numbers("share")[topic] - mean).abs() < 1e-12);
        let largest = |document: &usize| {
            let row = fit.l().row(*document).to_vec();
            row.iter().all(|&other| other <= row[topic])
        };
        let documents = (0..300).filter(largest).count();
        assert_eq!(numbers("documents")[topic], documents as f64);
    }
}

#[test]
fn correlations_are_those_of_the_columns() {
    let fit = fit(&counts());
    let found = fit.topic_correlation();
    let column = |topic: usize| -> Vec<f64> {
        let l = fit.l();
        (0..300).map(|row| f64::from(l.row(row)[topic])).collect()
    };
    for a in 0..4 {
        for b in 0..4 {
            let (x, y) = (column(a), column(b));
            let mean = |values: &[f64]| values.iter().sum::<f64>() / 300.0;
            let (mean_x, mean_y) = (mean(&x), mean(&y));
            let mut sums = [0.0; 3];
            for (x, y) in x.iter().zip(&y) {
                sums[0] += (x - mean_x) * (y - mean_y);
                sums[1] += (x - mean_x).powi(2);
                sums[2] += (y - mean_y).powi(2);
            }
            let expected = sums[0] / (sums[1] * sums[2]).sqrt();
            assert!((f64::from(found.row(a)[b]) - expected).abs() < 1e-6);
        }
    }
}

#[test]
fn similar_documents_are_the_nearest_in_hellinger_distance() {
    let fit = fit(&counts());
    let l = fit.l();
    let similarity = |a: usize, b: usize| {
        let common = l.row(a).iter().zip(l.row(b));
        let common: f64 = common
            .map(|(&p, &q)| (f64::from(p) * f64::from(q)).sqrt())
            .sum();
        1.0 - (1.0 - common).max(0.0).sqrt()
    };
    let table = fit.similar_documents(17, 5).unwrap();
    let documents = table.numbers("document").unwrap();
    let found = table.numbers("similarity").unwrap();
    let mut expected: Vec<f64> = (0..300)
        .filter(|&other| other != 17)
        .map(|other| similarity(17, other))
        .collect();
    expected.sort_by(|a, b| b.total_cmp(a));
    for (rank, &expected) in expected.iter().enumerate().take(5) {
        let (document, value) = (documents[rank] as usize, found[rank]);
        assert_ne!(document, 17);
        assert!((value - expected).abs() < 1e-3, "{value} {}", expected);
        assert!((value - similarity(17, document)).abs() < 1e-3);
    }
    assert_eq!(fit.similar_documents(17, 1_000).unwrap().height(), 299);
}

#[test]
fn topics_and_documents_that_do_not_exist_are_errors() {
    let fit = fit(&counts());
    refused! {
        fit.terms_of_topic(4, 3) => Shape, "counted from 0";
        fit.documents_of_topic(4, 3) => Shape, "counted from 0";
        fit.topics_of_document(300) => Shape, "counted from 0";
        fit.similar_documents(300, 2) => Shape, "counted from 0";
    }
}

#[test]
fn other_documents_are_scored_with_topics_of_their_own() {
    let counts = counts();
    let (train, test) = counts.split(0.5, 3).unwrap();
    let fit = fit(&train);
    // Both parts have the same shape: the score has to tell them apart.
    assert_eq!(train.shape(), test.shape());
    let likelihood = |l: &topicbook::Matrix, counts: &Counts| crate::score(counts, l, &fit.f());
    let expected = likelihood(&fit.l(), &train);
    assert!((fit.score(&train).unwrap() - expected).abs() < 1e-6 * expected.abs());
    let expected = likelihood(&fit.transform(&test).unwrap(), &test);
    let score = fit.score(&test).unwrap();
    assert!((score - expected).abs() < 1e-6 * expected.abs());
    assert!(score > likelihood(&fit.l(), &test));
    let tokens = test.summary().unwrap().total();
    assert_eq!(fit.score_per_token(&test).unwrap(), score / tokens);
    let evaluation = fit.evaluate(&test).unwrap();
    assert_eq!(fit.perplexity(&test).unwrap(), evaluation.perplexity());
    let train_score = fit.score_per_token(&train).unwrap();
    assert_eq!(fit.perplexity(&train).unwrap(), (-train_score).exp());
    // A saved fit still recognises its counts.
    let folder = tempfile::tempdir().unwrap();
    fit.save(folder.path().join("fit")).unwrap();
    let loaded = Fit::load(folder.path().join("fit")).unwrap();
    assert_eq!(loaded.score(&test).unwrap(), score);
    assert_eq!(loaded.score(&train).unwrap(), fit.score(&train).unwrap());
    let empty = Counts::dense(2, 80, vec![0u8; 160]).unwrap();
    assert!(fit.perplexity(&empty).is_err());
}

#[test]
fn a_cell_can_be_run_twice() {
    let (counts, names) = (counts(), terms());
    let model = TopicModel::new(4).epochs(2).quiet();
    for _ in 0..2 {
        // What a cell says: each line borrows what other cells hold.
        let fit = model.terms(&names).batch_size(64).fit(&counts).unwrap();
        assert_eq!(fit.term_names().as_ref(), Some(&names));
        let training = model.spawn(&counts).unwrap();
        assert_eq!(training.join().unwrap().l(), training.join().unwrap().l());
    }
    assert_eq!(model.settings(), TopicModel::new(4).epochs(2).settings());
}

#[test]
#[should_panic(expected = "there is no row 100000: 300 rows, counted from 0")]
fn a_row_that_does_not_exist_is_named() {
    fit(&counts()).l().row(100_000);
}
