//! The solvers against references written as plain loops in double precision.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::row_update::{DescentScratch, RowProblem, improve};
use super::*;

fn settings(solver: Solver) -> Settings {
    Settings {
        solver,
        ..Settings::new(1)
    }
}

fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Random counts, dense and sparse, with an empty document and an empty term. A fraction `density` is not zero, an eighth of
/// that among the second half of the terms, so that F's term shards may differ in layout.
fn counts(documents: usize, terms: usize, density: f64, largest: f64, seed: u64) -> [Counts; 2] {
    let mut next = random(seed);
    let values: Vec<f32> = (0..documents * terms)
        .map(|cell| {
            let density = match cell % terms < terms.div_ceil(2) {
                true => density,
                false => density / 8.0,
            };
            let nonzero = next() < density && cell / terms != 1 && cell % terms != 2;
            let count = 1.0 + (next() * next() * next() * largest).floor();
            if nonzero || cell == 0 {
                count as f32
            } else {
                0.0
            }
        })
        .collect();
    let (mut starts, mut columns, mut nonzero_values) = (vec![0u64], Vec::new(), Vec::new());
    for row in values.chunks(terms) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            columns.push(column as u32);
            nonzero_values.push(*value);
        }
        starts.push(columns.len() as u64);
    }
    [
        Counts::dense(documents, terms, values).unwrap(),
        Counts::csr(documents, terms, starts, columns, nonzero_values).unwrap(),
    ]
}

fn table(rows: usize, columns: usize, next: &mut impl FnMut() -> f64) -> Matrix {
    let values = (0..rows * columns).map(|_| (next() + 0.01) as f32);
    Matrix::from_parts(rows, columns, values.collect())
}

fn dense(counts: &Counts) -> Vec<Vec<f64>> {
    let mut row = vec![0.0; counts.terms()];
    (0..counts.documents())
        .map(|document| {
            counts.fill_rows(&[document], &mut row).unwrap();
            row.iter().map(|count| f64::from(*count)).collect()
        })
        .collect()
}

fn rows_of(matrix: &Matrix) -> Vec<Vec<f64>> {
    (0..matrix.rows())
        .map(|row| {
            matrix
                .row(row)
                .iter()
                .map(|value| f64::from(*value))
                .collect()
        })
        .collect()
}

/// The score as it is defined: the sum of x log (L F).
fn exact_score(counts: &[Vec<f64>], l: &[Vec<f64>], f: &[Vec<f64>]) -> f64 {
    let mut score = 0.0;
    for (counts, weights) in counts.iter().zip(l) {
        for (term, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let rate: f64 = weights.iter().zip(f).map(|(w, f)| w * f[term]).sum();
            score += count * rate.ln();
        }
    }
    score
}

fn normalise(rows: &mut [Vec<f64>]) {
    for row in rows {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
}

/// One step of expectation-maximisation for L, then for F; returns the score between the two.
fn reference_em(counts: &[Vec<f64>], l: &mut [Vec<f64>], f: &mut [Vec<f64>]) -> f64 {
    for (counts, weights) in counts.iter().zip(l.iter_mut()) {
        if counts.iter().sum::<f64>() == 0.0 {
            let equal = 1.0 / weights.len() as f64;
            weights.fill(equal);
            continue;
        }
        let mut multipliers = vec![0.0; weights.len()];
        for (term, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let rate: f64 = weights.iter().zip(&*f).map(|(w, f)| w * f[term]).sum();
            for (multiplier, f) in multipliers.iter_mut().zip(&*f) {
                *multiplier += count / rate * f[term];
            }
        }
        weights
            .iter_mut()
            .zip(multipliers)
            .for_each(|(weight, multiplier)| *weight *= multiplier);
    }
    normalise(l);
    let score = exact_score(counts, l, f);
    let mut next = vec![vec![0.0; f[0].len()]; f.len()];
    for (counts, weights) in counts.iter().zip(l.iter()) {
        for (term, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let rate: f64 = weights.iter().zip(&*f).map(|(w, f)| w * f[term]).sum();
            for ((next, weight), f) in next.iter_mut().zip(weights).zip(&*f) {
                next[term] += count / rate * weight * f[term];
            }
        }
    }
    normalise(&mut next);
    f.clone_from_slice(&next);
    score
}

/// The objective of a row.
fn objective(x: &[f64], table: &[Vec<f64>], column_sums: &[f64], w: &[f64]) -> f64 {
    let rates = table
        .iter()
        .map(|f| f.iter().zip(w).map(|(f, w)| f * w).sum::<f64>());
    let likelihood: f64 = rates.zip(x).map(|(rate, x)| x * rate.ln()).sum();
    likelihood - w.iter().zip(column_sums).map(|(w, p)| w * p).sum::<f64>()
}

/// The coordinate steps of `row_update`; `None` if the objective has fallen, where `row_update` restores the row.
fn reference_descent(
    x: &[f64],
    table: &[Vec<f64>],
    column_sums: &[f64],
    floor: f64,
    sweeps: usize,
    start: &[f64],
) -> Option<Vec<f64>> {
    let mut w = start.to_vec();
    for _ in 0..sweeps {
        for topic in 0..w.len() {
            let (mut gradient, mut curvature) = (0.0, 0.0);
            for (f, x) in table.iter().zip(x) {
                let rate: f64 = f.iter().zip(&w).map(|(f, w)| f * w).sum();
                gradient += x * f[topic] / rate;
                curvature += x * (f[topic] / rate) * (f[topic] / rate);
            }
            let step = (gradient - column_sums[topic]) / curvature * gradient / column_sums[topic];
            w[topic] = (w[topic] + step).max(floor);
        }
    }
    let lost = objective(x, table, column_sums, &w) < objective(x, table, column_sums, start);
    let scale = x.iter().sum::<f64>() / w.iter().zip(column_sums).map(|(w, p)| w * p).sum::<f64>();
    (!lost).then(|| w.into_iter().map(|w| w * scale).collect())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(11),
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_row_follows_the_reference_and_never_lowers_its_objective(
        nonzeros in 1usize..90, topics in 1usize..40, sweeps in 1usize..5,
        largest in prop::sample::select(vec![2.0, 40.0, 60_000.0]), far in any::<bool>(),
        seed in 1u64..1_000_000,
    ) {
        let mut next = random(seed);
        let x: Vec<f64> = (0..nonzeros).map(|_| 1.0 + (next() * largest).floor()).collect();
        let total: f64 = x.iter().sum();
        // Rounded to f32, as `improve` reads them.
        let table: Vec<Vec<f64>> = (0..nonzeros)
            .map(|_| (0..topics).map(|_| f64::from((next().powi(4) + 1e-4) as f32)).collect())
            .collect();
        let column_sums: Vec<f64> = (0..topics)
            .map(|topic| f64::from(table.iter().map(|f| f[topic] as f32).sum::<f32>()))
            .collect();
        // Far from the maximum Newton's steps may overshoot.
        let decades = if far { 8.0 } else { 1.0 };
        let start: Vec<f64> = (0..topics)
            .map(|_| f64::from((total * 10f64.powf(-decades * next())) as f32))
            .collect();
        let floor = 1e-9 * total;
        let flat: Vec<f32> = table.iter().flatten().map(|f| *f as f32).collect();
        let column_sums_f32: Vec<f32> = column_sums.iter().map(|sum| *sum as f32).collect();
        let problem = RowProblem { factor: &flat, column_sums: &column_sums_f32, sweeps };
        let indices: Vec<u32> = (0..nonzeros as u32).collect();
        let x32: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let mut weights: Vec<f32> = start.iter().map(|w| *w as f32).collect();
        let mut scratch = DescentScratch::default();
        let outcome = improve(&indices, &x32, &problem, floor as f32, &mut weights, &mut scratch);
        let found: Vec<f64> = weights.iter().map(|w| f64::from(*w)).collect();
        let before = objective(&x, &table, &column_sums, &start);
        let after = objective(&x, &table, &column_sums, &found);
        let noise = 3e-6 * (before.abs() + after.abs() + total);
        prop_assert!(after >= before - noise, "{before} -> {after}");
        prop_assert!((outcome.likelihood - total - after).abs() <= noise);
        // Close to the maximum, where rounding does not decide the direction of a step, both reach the same point.
        let reference = reference_descent(&x, &table, &column_sums, floor, sweeps, &start);
        if let (false, Some(expected)) = (far, reference) {
            let expected = objective(&x, &table, &column_sums, &expected);
            prop_assert!((expected - after).abs() <= 10.0 * noise, "{expected} against {after}");
        }
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn expectation_maximisation_follows_the_reference(
        documents in 3usize..40, terms in prop_oneof![4usize..60, 500usize..1200], topics in 1usize..36,
        density in 0.05f64..1.0, seed in 1u64..1_000_000,
    ) {
        let both = counts(documents, terms, density, 30.0, seed);
        let mut next = random(seed + 1);
        let (l, f) = (table(documents, topics, &mut next), table(topics, terms, &mut next));
        let x = dense(&both[0]);
        let (mut exact_l, mut exact_f) = (rows_of(&l), rows_of(&f));
        normalise(&mut exact_l);
        normalise(&mut exact_f);
        let mut fits = both.each_ref().map(|counts| StreamingEm::by_em(counts, false, Start::New(&l, &f)).unwrap());
        for _ in 0..4 {
            let expected = reference_em(&x, &mut exact_l, &mut exact_f);
            let [a, b] = [0, 1].map(|i| fits[i].iterate(&both[i]).unwrap());
            prop_assert_eq!(a.score, b.score, "dense and sparse counts are the same counts");
            prop_assert!((a.score - expected).abs() <= 1e-5 * expected.abs() + 1e-9, "{} {}", a.score, expected);
        }
        let (found_l, found_f) = fits[0].topics().unwrap();
        for (found, exact) in [(rows_of(&found_l), &exact_l), (rows_of(&found_f), &exact_f)] {
            for (found, exact) in found.iter().zip(exact) {
                for (a, b) in found.iter().zip(exact) {
                    prop_assert!((a - b).abs() <= 2e-4, "{a} against {b}");
                }
            }
        }
    }

    #[test]
    fn iterations_do_not_lower_the_score_and_report_the_true_one(
        documents in 3usize..40, terms in prop_oneof![4usize..60, 500usize..1200], topics in 1usize..20,
        density in 0.05f64..1.0, seed in 1u64..1_000_000,
    ) {
        let both = counts(documents, terms, density, 300.0, seed);
        let mut next = random(seed + 1);
        let (l, f) = (table(documents, topics, &mut next), table(topics, terms, &mut next));
        let x = dense(&both[0]);
        let tokens: f64 = x.iter().flatten().sum();
        type Make = fn(&Counts, &Matrix, &Matrix) -> Result<Box<dyn Iterate>>;
        let makes: [(Make, bool); 5] = [
            (|c, l, f| Ok(Box::new(StreamingEm::by_em(c, false, Start::New(l, f))?)), false),
            (|c, l, f| Ok(Box::new(StreamingEm::by_descent(c, false, Start::New(l, f))?)), false),
            (|c, l, f| Ok(Box::new(Descent::new(c, Start::New(l, f))?.without_extrapolation())), true),
            (|c, l, f| Ok(Box::new(Search::new(c, Start::New(l, f), 3)?)), true),
            // Extrapolates, and rejects iterations that lower the score.
            (|c, l, f| Ok(Box::new(Descent::new(c, Start::New(l, f))?)), true),
        ];
        for (make, scores_its_result) in makes {
            let scores = both.each_ref().map(|counts| {
                let mut fit = make(counts, &l, &f).unwrap();
                let scores: Vec<f64> = (0..12).map(|_| fit.iterate(counts).unwrap().score).collect();
                (scores, fit.topics().unwrap())
            });
            prop_assert!(scores[0] == scores[1], "dense and sparse counts are the same counts");
            let (scores, (l, f)) = &scores[0];
            for pair in scores.windows(2) {
                // Rounding may lower the objective of a row by 1e-6 nats per token.
                prop_assert!(pair[1] >= pair[0] - 2e-6 * (pair[0].abs() + tokens), "{scores:?}");
            }
            let truth = exact_score(&x, &rows_of(l), &rows_of(f));
            // Solvers with one pass per iteration report the score before F's last update.
            let reported = scores[11];
            let noise = 1e-5 * truth.abs() + 1e-3;
            prop_assert!(truth >= reported - noise, "{reported} {truth}");
            prop_assert!(!scores_its_result || truth <= reported + noise, "{reported} {truth}");
            for (matrix, sums) in [(l, documents), (f, topics)] {
                prop_assert_eq!(matrix.rows(), sums);
                for row in rows_of(matrix) {
                    prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-4);
                }
            }
            let equal = 1.0 / topics as f32;
            prop_assert!(l.row(1).iter().all(|w| *w == equal), "an empty document has equal proportions");
            prop_assert!((0..topics).all(|topic| f.row(topic)[2] == 0.0), "an empty term has no probability");
        }
    }
}

#[test]
fn a_converged_fit_is_stationary() {
    let [counts, _] = counts(60, 40, 0.5, 50.0, 5);
    let mut next = random(6);
    let (l, f) = (table(60, 4, &mut next), table(4, 40, &mut next));
    let mut fit = Descent::new(&counts, Start::New(&l, &f)).unwrap();
    let mut previous_score = f64::NEG_INFINITY;
    let converged = (0..500).any(|_| {
        let iteration = fit.iterate(&counts).unwrap();
        let converged = iteration.converged(previous_score, 1e-8);
        previous_score = iteration.score;
        converged
    });
    assert!(converged);
    // A step of expectation-maximisation gains next to nothing.
    let (l, f) = fit.topics().unwrap();
    let (mut l, mut f) = (rows_of(&l), rows_of(&f));
    let x = dense(&counts);
    reference_em(&x, &mut l, &mut f);
    let after = exact_score(&x, &l, &f);
    let gain = after - previous_score;
    assert!(
        gain < 1e-5 * previous_score.abs(),
        "{previous_score} -> {after}"
    );
}

fn on_the_cpu(solver: Solver, counts: &Counts, l: &Matrix, f: &Matrix) -> Box<dyn Iterate> {
    let settings = settings(solver);
    create(&settings, counts, Start::New(l, f)).unwrap()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let [_, counts] = counts(200, 90, 0.3, 50.0, 5);
    let mut next = random(6);
    let (l, f) = (table(200, 7, &mut next), table(7, 90, &mut next));
    for solver in [Solver::em(), Solver::coordinate_descent(), Solver::auto()] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let mut fit = on_the_cpu(solver.clone(), &counts, &l, &f);
                let scores: Vec<f64> = (0..5)
                    .map(|_| fit.iterate(&counts).unwrap().score)
                    .collect();
                (scores, fit.topics().unwrap())
            })
        };
        assert!(run(1) == run(3), "{solver}");
    }
}

#[test]
fn one_topic_is_the_frequency_of_terms() {
    let [counts, _] = counts(20, 12, 0.5, 9.0, 3);
    let mut next = random(6);
    let (l, f) = (table(20, 1, &mut next), table(1, 12, &mut next));
    let x = dense(&counts);
    let total: f64 = x.iter().flatten().sum();
    for solver in [Solver::em(), Solver::coordinate_descent()] {
        let mut fit = on_the_cpu(solver.clone(), &counts, &l, &f);
        for _ in 0..3 {
            fit.iterate(&counts).unwrap();
        }
        let (_, f) = fit.topics().unwrap();
        for term in 0..12 {
            let frequency = x.iter().map(|row| row[term]).sum::<f64>() / total;
            assert!((f64::from(f.row(0)[term]) - frequency).abs() < 1e-6);
        }
    }
}
