//! Memory at a moment, marks in a scope, and the list of values that exist.

use topicbook::polars::prelude::{col, lit};
use topicbook::{Counts, GradientStep, Solver, TopicModel, live, memory, memory_scope, release};

#[test]
fn memory_now_is_that_of_the_system() {
    const ALLOCATED: u64 = 64 << 20;
    let before = memory().anonymous;
    let allocated = std::hint::black_box(vec![3u8; ALLOCATED as usize]);
    let now = memory();
    // Other tests of this process may free memory meanwhile.
    assert!(
        now.anonymous > ALLOCATED && now.anonymous > before + ALLOCATED / 2,
        "{before} {now}"
    );
    drop(allocated);
    assert!(now.free > 0 && now.to_string().contains("free"));
    assert!(release().to_string().contains("given back"));
}

#[test]
fn a_scope_has_a_row_for_each_mark() {
    let mut scope = memory_scope("parts");
    assert_eq!(scope.table().height(), 1);
    let memory = std::hint::black_box(vec![3u8; 64 << 20]);
    scope.mark("allocated");
    drop(memory);
    scope.mark("dropped");
    scope.finish();
    scope.mark("after the end");
    let table = scope.table();
    assert_eq!(table.texts("part").unwrap(), ["allocated", "dropped"]);
    let column = |name| table.numbers(name).unwrap();
    let (start, peak, change) = (
        column("start, MiB"),
        column("peak, MiB"),
        column("change, MiB"),
    );
    assert!(peak[0] - start[0] > 30.0, "{start:?} {peak:?}");
    assert!(change[0] > 30.0 && change[1] < -30.0, "{change:?}");
    assert!(column("seconds").iter().all(|seconds| *seconds >= 0.0));
}

#[test]
fn memory_over_time_is_a_page_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let mut scope = memory_scope("<script>alert('scope')</script>");
    let values = (0..1_200).map(|at| (at % 5) as u8).collect();
    let counts = Counts::dense(40, 30, values).unwrap();
    counts.summary().unwrap();
    scope.mark("<b>marked</b>");
    let model = TopicModel::new(3).epochs(3).quiet();
    let model = model.solver(Solver::mini_batch().step(GradientStep::Autodiff));
    let fit = model.fit(&counts).unwrap();
    scope.save_html(folder.path().join("scope.html")).unwrap();
    fit.save_memory_html(folder.path().join("fit.html"))
        .unwrap();
    let (of_scope, of_fit) = (read("scope.html"), read("fit.html"));
    for (page, texts) in [
        (
            &of_scope,
            [
                "&lt;b&gt;marked&lt;/b&gt;",
                "Marks",
                "Work",
                ">check<",
                ">fit<",
            ],
        ),
        (
            &of_fit,
            [
                "while gradients are computed",
                "while the tables are updated",
                "everything",
                "not separable",
                "predicted",
            ],
        ),
    ] {
        for text in texts {
            assert!(page.contains(text), "{text} is not in\n{page}");
        }
        assert_eq!(page.matches("<svg ").count(), 2);
        assert!(!page.contains("<script") && !page.contains("<b>"));
    }
    // A saved fit keeps the record.
    let file = folder.path().join("fit.safetensors");
    fit.save(&file).unwrap();
    let loaded = topicbook::Fit::load(&file).unwrap();
    let [before, after] = [&fit, &loaded].map(|fit| fit.memory_by_phase().to_string());
    assert_eq!(before, after);
    let absent = folder.path().join("absent/scope.html");
    assert!(scope.save_html(absent).is_err());
}

#[test]
fn values_are_listed_while_a_variable_holds_them() {
    // Sizes that no other test of this process has.
    let rows = |text: &str| -> Vec<(String, u64, u64)> {
        let found = live().filter(col("what").str().contains_literal(lit(text)));
        let found = found.unwrap();
        let numbers = |name| found.numbers(name).unwrap().into_iter();
        let kinds = found.texts("kind").unwrap().into_iter();
        kinds
            .zip(numbers("bytes").zip(numbers("handles")))
            .map(|(kind, (bytes, handles))| (kind, bytes as u64, handles as u64))
            .collect()
    };
    let counts = Counts::dense(97, 41, vec![1u8; 97 * 41]).unwrap();
    assert_eq!(rows("97 × 41"), [("counts".to_string(), 97 * 41, 1)]);
    let fit = TopicModel::new(3).epochs(1).quiet().fit(&counts).unwrap();
    let of_fit = rows("97 × 41, k = 3");
    assert_eq!(of_fit, [("fit".to_string(), 4 * 3 * (97 + 41), 1)]);
    // L and F belong to the fit.
    assert!(rows("97 × 3").is_empty());
    let l = fit.l();
    drop(fit);
    // L outlives it.
    assert_eq!(rows("97 × 3"), [("matrix".to_string(), 4 * 97 * 3, 1)]);
    drop((counts, l));
    assert!(rows("97 × 41").is_empty() && rows("97 × 3").is_empty());
}
