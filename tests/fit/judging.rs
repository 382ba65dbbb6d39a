//! Evaluation on held-out documents, against plain loops.

use testkit::refused;
use topicbook::{Counts, ErrorKind, Evaluation, Fit, Matrix, Solver, Synthetic, TopicModel};

fn counts() -> Counts {
    crate::drawn([260, 90, 4], 60, 8).counts()
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

/// The proportions of a document by CVB0 with a Dirichlet prior, in plain `f64` loops over all terms and many sweeps.
fn posterior(row: &[f32], f: &Matrix, concentration: f64) -> Vec<f64> {
    let (k, terms) = f.shape();
    let prior = concentration / k as f64;
    let at = |topic: usize, term: usize| f64::from(f.row(topic)[term]) + 1e-30;
    let scaled = |weights: Vec<f64>| -> Vec<f64> {
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    };
    let mut of_terms: Vec<Vec<f64>> = (0..terms)
        .map(|term| scaled((0..k).map(|topic| at(topic, term)).collect()))
        .collect();
    let expected = |of_terms: &[Vec<f64>]| -> Vec<f64> {
        let part = |topic: usize| move |(x, g): (&f32, &Vec<f64>)| f64::from(*x) * g[topic];
        (0..k)
            .map(|topic| row.iter().zip(of_terms).map(part(topic)).sum())
            .collect()
    };
    for _ in 0..1000 {
        for term in (0..terms).filter(|term| row[*term] > 0.0) {
            let n = expected(&of_terms);
            let weight =
                |topic: usize| at(topic, term) * (prior + n[topic] - of_terms[term][topic]);
            of_terms[term] = scaled((0..k).map(weight).collect());
        }
    }
    scaled(expected(&of_terms).iter().map(|n| n + prior).collect())
}

/// Score and tokens of each document: the second half of its tokens, by plain loops over all terms, with the prior and the
/// smoothing of the evaluation.
fn by_loops(fit: &Fit, held_out: &Counts, evaluation: &Evaluation) -> Vec<(f64, f64)> {
    let (observed, completed) = held_out.split_tokens(0).unwrap();
    let f = fit.f();
    let mut documents = Vec::new();
    for (observed, completed) in rows(&observed).iter().zip(rows(&completed)) {
        let l = posterior(observed, &f, evaluation.concentration());
        let (mut score, mut tokens) = (0.0, 0.0);
        for (term, count) in completed.into_iter().enumerate() {
            let p: f64 = (0..f.rows())
                .map(|topic| l[topic] * f64::from(f.row(topic)[term]))
                .sum();
            let uniform = 1.0 / f.columns() as f64;
            let p = (1.0 - evaluation.smoothing()) * p + evaluation.smoothing() * uniform;
            if count > 0.0 {
                score += f64::from(count) * p.ln();
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
        let documents = by_loops(&fit, &held_out, &evaluation);
        let (expected, error) = with_jackknife(&documents);
        let score = evaluation.score_per_token();
        assert!((score - expected).abs() < 1e-4, "{k}: {score}, {expected}");
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
    refused! { fit.evaluate(held_out.select(0..81).unwrap()) => Value, "no document has tokens in both"; }
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
    // Half of the tokens are of a term that the fit does not have, which only the uniform distribution explains.
    let e = evaluation.smoothing();
    assert!(e > 0.9, "{e}");
    let known = ((1.0 - e) * 0.2 + e / 6.0).ln();
    let expected = f64::from(tokens[0]) * known + f64::from(tokens[5]) * (e / 6.0).ln();
    let expected = expected / f64::from(tokens[0] + tokens[5]);
    assert!((evaluation.score_per_token() - expected).abs() < 1e-6);
}

/// Documents of few tokens over `terms` terms, each of one of `k` themes with `terms / k` terms of its own.
fn themes(documents: usize, tokens: usize, (k, terms): (usize, usize)) -> Counts {
    let mut state = 9u64;
    let mut random = move |n: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let mut values = vec![0u8; documents * terms];
    for document in 0..documents {
        let theme = random(k);
        for _ in 0..tokens {
            // One token in eight is of any theme.
            let theme = if random(8) == 0 { random(k) } else { theme };
            values[document * terms + theme * (terms / k) + random(terms / k)] += 1;
        }
    }
    Counts::dense(documents, terms, values).unwrap()
}

#[test]
fn a_sweep_over_short_documents_recommends_the_true_number_of_topics() {
    // As in 3,000 reviews of 19 tokens, of six themes over 120 terms. With proportions of maximum likelihood, three topics
    // were recommended, and twelve had a perplexity of 1,612, where a uniform model has 120.
    let counts = themes(1500, 19, (6, 120));
    for solver in [Solver::coordinate_descent(), Solver::auto()] {
        let sweep = TopicModel::sweep([3, 6, 9, 12]).seeds(2);
        let sweep = sweep.model(TopicModel::new(1).solver(solver).quiet());
        let sweep = sweep.fit(&counts).unwrap();
        let sentence = sweep.recommendation();
        assert!(sentence.starts_with("6 topics"), "{sentence}");
        for run in sweep.runs() {
            assert!(run.evaluation.perplexity() < 100.0, "{}", run.evaluation);
        }
    }
}

#[test]
fn a_sweep_that_has_learned_nothing_recommends_nothing() {
    // The held-out documents have the terms that the training does not have.
    let [train, held_out] = [0, 1].map(|part| {
        let values = (0..40 * 20).map(|at| u8::from((at % 20 < 10) == (part == 0)));
        Counts::dense(40, 20, values.collect::<Vec<u8>>()).unwrap()
    });
    let sweep = TopicModel::sweep([1, 2]).held_out(&held_out);
    let sweep = sweep.model(TopicModel::new(1).quiet()).fit(&train).unwrap();
    let sentence = sweep.recommendation();
    assert!(sentence.starts_with("No number of topics"), "{sentence}");
    assert!(sentence.contains("-2.9957"), "{sentence}");
}

#[test]
fn what_cannot_be_evaluated_is_refused_by_name() {
    let fit = fit(2, &counts());
    let other = Counts::dense(2, 3, vec![1u8; 6]).unwrap();
    refused! {
        fit.evaluate(&other) => Shape, "cannot evaluate counts of 3 terms with a fit of 90";
    }
    let mut values = vec![1.0; 180];
    values[100] = -2.0;
    let negative = Counts::dense(2, 90, values).unwrap();
    refused! { fit.evaluate(&negative) => Value, "where: row 1, column 10 (counted from 0)"; }
    let evaluation = fit.evaluate(counts()).unwrap();
    let (_, some) = counts().split(0.5, 1).unwrap();
    refused! { evaluation.difference(fit.evaluate(&some).unwrap()) => Value, "different documents"; }
}
