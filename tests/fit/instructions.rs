//! The same bits with all vector instructions that the processor has: each in a process of its own.

use std::hash::{DefaultHasher, Hash, Hasher};

use testkit::{one_test, passed};
use topicbook::{Counts, Fit, Matrix, Solver, Synthetic, TopicModel};

const CHILD: &str = "TOPICBOOK_TEST_INSTRUCTIONS";

/// Dense counts, some of them too large for inversion, and sparse ones; the number of terms fills no register.
fn corpora() -> [Synthetic; 2] {
    let dense = Synthetic::new(37, 203, 5).avg_doc_length(1_500);
    let sparse = Synthetic::new(90, 1_003, 5).avg_doc_length(60);
    [dense.seed(3), sparse.seed(4)]
}

fn models() -> [TopicModel; 4] {
    let adamw = TopicModel::new(5).batch_size(16);
    let of = |solver: Solver| TopicModel::new(5).solver(solver).tolerance(0.0);
    [
        adamw,
        of(Solver::em()),
        of(Solver::coordinate_descent()),
        of(Solver::auto()),
    ]
    .map(|model| model.epochs(12).seed(6).quiet())
}

/// A number that depends on every bit of the values, in their order.
fn digest(values: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    values.hash(&mut hasher);
    hasher.finish()
}

fn bits(matrix: &Matrix) -> u64 {
    let values = matrix.values().iter().map(|value| value.to_bits());
    digest(&values.collect::<Vec<u32>>())
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn results_of(counts: &Counts, model: &TopicModel) -> Vec<u64> {
    let fit: Fit = model.fit(counts).unwrap();
    let folded_in = fit.transform(counts).unwrap();
    let score = fit.score(counts).unwrap();
    vec![
        bits(&fit.l()),
        bits(&fit.f()),
        bits(&folded_in),
        score.to_bits(),
    ]
}

#[test]
fn results_do_not_depend_on_the_instructions() {
    if std::env::var_os(CHILD).is_some() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Vec::new();
        for corpus in corpora() {
            let corpus = corpus.generate().unwrap();
            let counts = corpus.counts();
            let path = folder.path().join("X.npy");
            counts.write_npy(&path).unwrap();
            results.push(digest(&std::fs::read(&path).unwrap()));
            for model in models() {
                results.extend(results_of(&counts, &model));
            }
        }
        let doctor = topicbook::doctor().to_string();
        println!(
            "{}\nRESULTS {results:?}",
            doctor.lines().next().unwrap_or_default()
        );
        return;
    }
    let mut seen = Vec::new();
    for (instructions, name) in [("all", "AVX"), ("avx2", "AVX2"), ("none", "no AVX")] {
        if instructions == "avx2" && !has_avx2() {
            println!("SKIPPED: this processor has no {name}");
            continue;
        }
        let mut child = one_test("instructions::results_do_not_depend_on_the_instructions");
        let child = child
            .env(CHILD, "1")
            .env("TOPICBOOK_INSTRUCTIONS", instructions);
        let text = passed(child.output());
        // Otherwise the variable would have changed nothing.
        assert!(text.contains(name), "{instructions}: {text}");
        let results = text.lines().find(|line| line.starts_with("RESULTS"));
        seen.push((instructions, results.unwrap().to_owned()));
    }
    for (instructions, results) in &seen {
        assert_eq!(results, &seen[0].1, "{instructions}");
    }
}
