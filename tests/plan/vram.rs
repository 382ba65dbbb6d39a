//! Budgets of VRAM: simulated on the CPU, and too small for L.

use crate::measured::value;
use crate::plan::{model, sparse};
use testkit::{one_test, passed};
use topicbook::{Budget, Optimizer, Solver, Synthetic, TableStorage};

#[test]
fn a_vram_budget_stands_for_a_gpu_on_the_cpu() {
    let corpus = Synthetic::new(400, 3_000, 4).seed(2).generate().unwrap();
    let model = model(4).batch_size(100);
    let with = |size: &str| model.clone().budget(Budget::new().vram(size).unwrap());
    let resident = with("1 GiB").plan(corpus.counts()).unwrap();
    let text = resident.to_string();
    testkit::assert_has(&text, ["X, 1 byte a count", "stands for one"]);
    let uploaded = with("2 MiB").plan(corpus.counts()).unwrap();
    let text = uploaded.to_string();
    assert!(
        !text.contains("X, ") && text.contains("is uploaded part by part"),
        "{text}"
    );
    let split = with("1 MiB").plan(corpus.counts()).unwrap();
    assert!(split.micro_batch() < 100);
    assert!(split.peak_vram().unwrap() <= 1 << 20);
    assert!(split.to_string().contains("micro-batches of"));
    testkit::refused! { with("100 kB").plan(corpus.counts()), "of VRAM", "the budget is"; }
    let (whole, fit) = (model.fit(corpus.counts()).unwrap(), split.fit().unwrap());
    assert!((whole.loss().unwrap() / fit.loss().unwrap() - 1.0).abs() < 1e-6);
    let memory = fit.memory();
    assert!(value(&memory, "VRAM reserved", "budget, MiB") == 1.0);
    assert!(value(&memory, "VRAM reserved", "measured peak, MiB").is_nan());
    assert!(fit.plot_memory().to_png().unwrap().len() > 1_000);
    assert_eq!(
        split.table().get_column_names(),
        ["what", "location", "when", "bytes"]
    );
}

/// L is offloaded to host memory before batches are split, and to a file only where RAM is short, too.
#[test]
fn l_is_offloaded_when_the_gpu_is_too_small_for_it() {
    // In a process of its own, because a budget of RAM counts what other tests have allocated.
    passed(one_test("vram::offloaded_alone").output());
}

#[test]
#[ignore = "l_is_offloaded_when_the_gpu_is_too_small_for_it runs it in a process of its own"]
fn offloaded_alone() {
    let counts = sparse(200_000, 500, 3);
    let with = |budget: Budget| model(50).batch_size(1_024).budget(budget);
    let text = |plan: &topicbook::Plan| plan.to_string();
    let on_gpu = with(Budget::new().vram("1 GiB").unwrap())
        .plan(&counts)
        .unwrap();
    assert!(
        !text(&on_gpu).contains("offloaded to host memory"),
        "{on_gpu}"
    );
    let offloaded = with(Budget::new().vram("16 MiB").unwrap())
        .plan(&counts)
        .unwrap();
    testkit::assert_has(
        text(&offloaded),
        ["offloaded to host memory", "rows of L, and their gradients"],
    );
    assert!(!text(&offloaded).contains("mapped files"), "{offloaded}");
    assert_eq!(offloaded.micro_batch(), 1_024);
    assert!(offloaded.peak_vram().unwrap() <= 16 << 20);
    let small = || Budget::new().vram("16 MiB").unwrap().ram("60 MiB").unwrap();
    // Without a folder in the budget, L does not go into a file.
    let refused = with(small()).plan(&counts).unwrap_err();
    assert!(refused.remedy().unwrap().contains("spill_dir"), "{refused}");
    let in_file = with(small().spill_dir(std::env::temp_dir()))
        .plan(&counts)
        .unwrap();
    testkit::assert_has(
        text(&in_file),
        ["offloaded to host memory", "memory-mapped files"],
    );
    // With these settings L is in host memory, however large the GPU is.
    let steps = Solver::mini_batch();
    for solver in [
        steps.table_storage(TableStorage::File(std::env::temp_dir())),
        steps.optimizer(Optimizer::RowwiseAdamW),
    ] {
        let plan = model(50)
            .solver(solver)
            .budget(Budget::new().vram("1 GiB").unwrap())
            .plan(&counts)
            .unwrap();
        testkit::assert_has(text(&plan), ["rows of L, and their gradients"]);
        assert!(!text(&plan).contains("offloaded to host memory"), "{plan}");
    }
    let error = with(Budget::new().vram("100 kB").unwrap())
        .plan(&counts)
        .unwrap_err();
    // The number of topics that the error suggests is the largest that fits.
    let message = error.to_string();
    let suggested = message.split("use k = ").nth(1);
    let k = suggested.and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let k = k.unwrap_or_else(|| panic!("{message}"));
    let plan = |k: usize| {
        let model = model(k).batch_size(1_024);
        model
            .budget(Budget::new().vram("100 kB").unwrap())
            .plan(&counts)
    };
    assert!(plan(k).is_ok() && plan(k + 1).is_err(), "{message}");
}
