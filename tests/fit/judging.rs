//! Evaluation on held-out documents, against plain loops.

use topicbook::{Counts, ErrorKind, Evaluation, Fit, Matrix, Solver, Synthetic, TopicModel};

fn counts() -> Counts {
    Synthetic::new(260, 90, 4)
        .avg_doc_length(60)
        .seed(8)
        .generate()
        .unwrap()
        .counts()
}

fn fit(k: usize, counts: &Counts) -> Fit {
    let model = TopicModel::new(k).solver(Solver::auto()).seed(1).quiet();
    model.fit(counts).unwrap()
}

/// Dense rows.
fn rows(counts: &Counts) -> Vec<Vec<f32>> {
    let mut all = vec![0.0; counts.documents() * counts.terms()];
    let documents: Vec<usize> = (0..counts.documents()).collect();
    counts.fill_rows(&documents, &mut all).unwrap();
    all.chunks(counts.terms()).map(<[f32]>::to_vec).collect()
}

/// Score and tokens of each document: the second half of its tokens, by a plain loop over all terms.
fn by_loops(fit: &Fit, held_out: &Counts) -> Vec<(f64, f64)> {
    let (observed, completed) = held_out.split_tokens(0).unwrap();
    let (l, f): (Matrix, Matrix) = (fit.transform(&observed).unwrap(), fit.f());
    let completed = rows(&completed);
    let mut documents = Vec::new();
    for (document, row) in completed.iter().enumerate() {
        let (mut score, mut tokens) = (0.0, 0.0);
        for (term, &count) in row.iter().enumerate() {
            let mut p = 0.0;
            for topic in 0..f.rows() {
                p += f64::from(l.row(document)[topic]) * f64::from(f.row(topic)[term]);
            }
            if count > 0.0 {
                score += f64::from(count) * p.max(1e-10).ln();
                tokens += f64::from(count);
            }
        }
        documents.push((score, tokens));
    }
    documents
}

/// The ratio of the sums, and its standard error by the jackknife: the ratio without each of the documents.
fn with_jackknife(documents: &[(f64, f64)]) -> (f64, f64) {
    let n = documents.len() as f64;
    let sums = |skipped: usize| {
        let kept = documents
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != skipped);
        kept.fold((0.0, 0.0), |sums, (_, d)| (sums.0 + d.0, sums.1 + d.1))
    };
    let ratio = |(score, tokens): (f64, f64)| score / tokens;
    let without: Vec<f64> = (0..documents.len())
        .map(|skipped| ratio(sums(skipped)))
        .collect();
    let mean = without.iter().sum::<f64>() / n;
    let squares: f64 = without.iter().map(|value| (value - mean).powi(2)).sum();
    (ratio(sums(usize::MAX)), ((n - 1.0) / n * squares).sqrt())
}

#[test]
fn an_evaluation_is_what_plain_loops_compute() {
    let (train, held_out) = counts().split(0.75, 2).unwrap();
    for k in [1, 4] {
        let fit = fit(k, &train);
        let evaluation = fit.evaluate(&held_out).unwrap();
        let documents = by_loops(&fit, &held_out);
        let (expected, error) = with_jackknife(&documents);
        let score = evaluation.score_per_token();
        assert!((score - expected).abs() < 1e-6, "{k}: {score}, {expected}");
        // The jackknife and the linearised ratio differ in the second order.
        let linear = evaluation.standard_error().unwrap();
        assert!(
            (linear / error - 1.0).abs() < 0.02,
            "{k}: {linear}, {error}"
        );
        assert_eq!(evaluation.documents(), held_out.documents());
        let tokens: f64 = documents.iter().map(|document| document.1).sum();
        assert_eq!(evaluation.tokens(), tokens);
        assert_eq!(evaluation.perplexity(), (-score).exp());
    }
}

#[test]
fn an_evaluation_has_the_same_bits_wherever_the_counts_are() {
    let folder = tempfile::tempdir().unwrap();
    let (train, held_out) = counts().split(0.75, 2).unwrap();
    let fit = fit(4, &train);
    let expected = fit.evaluate(&held_out).unwrap();
    let npz = held_out.write_npz(folder.path().join("X.npz")).unwrap();
    let sources = [
        held_out.write_npy(folder.path().join("X.npy")).unwrap(),
        npz.select(0..held_out.documents()).unwrap(),
        npz,
    ];
    for counts in sources {
        assert!(fit.evaluate(&counts).unwrap() == expected, "{counts}");
    }
}

#[test]
fn more_topics_than_there_are_do_not_score_better_on_held_out_tokens() {
    // Of short documents, the few tokens of a half do not tell four topics apart.
    let corpus = Synthetic::new(260, 90, 4).avg_doc_length(600).seed(8);
    let counts = corpus.generate().unwrap().counts();
    let (train, held_out) = counts.split(0.75, 2).unwrap();
    let [true_k, far_more] = [4, 12].map(|k| fit(k, &train));
    let paired = |a: &Evaluation, b: &Evaluation| a.difference(b).unwrap();
    let [few, many] = [&true_k, &far_more].map(|fit| fit.evaluate(&held_out).unwrap());
    let difference = paired(&few, &many);
    assert!(
        difference.per_token > 5.0 * difference.standard_error.unwrap(),
        "{difference}"
    );
    assert!(difference.standard_error < few.standard_error());
    assert_eq!(paired(&many, &few).per_token, -difference.per_token);
    // The score of tokens that were fitted favours them: this is why there is document completion.
    let [few, many] = [true_k, far_more].map(|fit| fit.score_per_token(&held_out).unwrap());
    assert!(many > few);
}

#[test]
fn documents_with_an_empty_half_are_named_and_not_scored() {
    let fit = fit(3, &counts());
    // Document 0 is empty, 1 to 80 have a token, 81 has many.
    let mut values = vec![0u16; 82 * 90];
    for document in 1..81 {
        values[document * 90 + document] = 1;
    }
    values[81 * 90..].fill(7);
    let held_out = Counts::dense(82, 90, values).unwrap();
    let evaluation = fit.evaluate(&held_out).unwrap();
    assert_eq!(evaluation.empty_documents(), [0]);
    let (first, second) = held_out.split_tokens(0).unwrap();
    let with_tokens = |half: &Counts| half.summary().unwrap().document_lengths().to_vec();
    let (first, second) = (with_tokens(&first), with_tokens(&second));
    let expected = |is: fn(f64, f64) -> bool| -> Vec<usize> {
        (0..82)
            .filter(|&document| is(first[document], second[document]))
            .collect()
    };
    let without_first = evaluation.documents_without_first_half();
    assert_eq!(
        without_first,
        expected(|first, second| first == 0.0 && second > 0.0)
    );
    let without_second = evaluation.documents_without_second_half();
    assert_eq!(
        without_second,
        expected(|first, second| first > 0.0 && second == 0.0)
    );
    assert_eq!(without_first.len() + without_second.len(), 80);
    assert!(without_first.len() > 20 && without_second.len() > 20);
    assert_eq!(
        (evaluation.documents(), evaluation.tokens()),
        (1, second[81])
    );
    assert_eq!(evaluation.standard_error(), None);
    // Without the document that has both halves nothing is left.
    let error = fit.evaluate(held_out.select(0..81).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(
        error.to_string().contains("no document has tokens in both"),
        "{error}"
    );
}

#[test]
fn terms_that_the_training_lacks_are_counted() {
    // Terms 0 to 4 in the training; term 5 in the held-out documents alone.
    let train: Vec<u8> = (0..40 * 6)
        .map(|at| if at % 6 == 5 { 0 } else { 3 })
        .collect();
    let fit = fit(1, &Counts::dense(40, 6, train).unwrap());
    let held_out = Counts::dense(1, 6, vec![40u8, 0, 0, 0, 0, 40]).unwrap();
    let evaluation = fit.evaluate(&held_out).unwrap();
    let (_, second) = held_out.split_tokens(0).unwrap();
    let tokens = &rows(&second)[0];
    assert_eq!(evaluation.impossible_tokens(), f64::from(tokens[5]));
    let expected = f64::from(tokens[0]) * 0.2f64.ln() + f64::from(tokens[5]) * 1e-10f64.ln();
    let expected = expected / f64::from(tokens[0] + tokens[5]);
    assert!((evaluation.score_per_token() - expected).abs() < 1e-6);
}

#[test]
fn what_cannot_be_evaluated_is_refused_by_name() {
    let fit = fit(2, &counts());
    let other = Counts::dense(2, 3, vec![1u8; 6]).unwrap();
    let error = fit.evaluate(&other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    assert!(
        error
            .to_string()
            .contains("cannot evaluate counts of 3 terms with a fit of 90"),
        "{error}"
    );
    let mut values = vec![1.0; 180];
    values[100] = -2.0;
    let error = fit
        .evaluate(Counts::dense(2, 90, values).unwrap())
        .unwrap_err();
    assert_eq!(error.place(), Some("row 1, column 10 (counted from 0)"));
    let evaluation = fit.evaluate(counts()).unwrap();
    let (_, some) = counts().split(0.5, 1).unwrap();
    let error = evaluation
        .difference(fit.evaluate(&some).unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("different documents"), "{error}");
}
