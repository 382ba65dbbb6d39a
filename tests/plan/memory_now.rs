//! Memory at a moment, marks in a scope, and the list of values that exist.

use topicbook::{Counts, TopicModel, live, memory, memory_scope, release};

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
    let part = table.column("part").unwrap();
    let parts: Vec<&str> = part.str().unwrap().iter().flatten().collect();
    assert_eq!(parts, ["allocated", "dropped"]);
    let column = |name: &str| -> Vec<f64> {
        let column = table.column(name).unwrap();
        column.f64().unwrap().into_no_null_iter().collect()
    };
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
fn values_are_listed_while_a_variable_holds_them() {
    // Sizes that no other test of this process has.
    let rows = |text: &str| -> Vec<(String, u64, u64)> {
        let table = live();
        let text_of = |name: &str| -> Vec<String> {
            let column = table.column(name).unwrap();
            column
                .str()
                .unwrap()
                .iter()
                .flatten()
                .map(String::from)
                .collect()
        };
        let number = |name: &str| -> Vec<u64> {
            let column = table.column(name).unwrap();
            column.u64().unwrap().into_no_null_iter().collect()
        };
        let rows = text_of("kind").into_iter().zip(text_of("what"));
        let rows = rows.zip(number("bytes").into_iter().zip(number("handles")));
        rows.filter(|((_, what), _)| what.contains(text))
            .map(|((kind, _), (bytes, handles))| (kind, bytes, handles))
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
