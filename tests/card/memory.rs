//! What a fit takes of the card, beside what its plan says.

use cardless::report;
use topicbook::{Budget, Counts, Device, Fit, Optimizer, Precision, Solver, TopicModel};

use crate::fits::{dense, model, rising, sparse};
use crate::machine::Machine;

/// A row of a fit's table of memory, in bytes.
fn measured(fit: &Fit, row: &str) -> f64 {
    let table = fit.memory();
    let names = table.column("memory").unwrap().str().unwrap().clone();
    let at = names.iter().position(|name| name == Some(row)).unwrap();
    let peaks = table.column("measured peak, MiB").unwrap();
    f64::from(1 << 20) * peaks.f64().unwrap().get(at).unwrap()
}

/// Counts are made when their turn has come.
type Make = Box<dyn Fn() -> Counts>;

fn cases() -> Vec<(Make, TopicModel)> {
    let bytes = |n, m| -> Make { Box::new(move || dense(n, m, |value| value)) };
    let numbers = |n, m| -> Make { Box::new(move || dense(n, m, f32::from)) };
    let sparse = |n, m, each| -> Make { Box::new(move || sparse(n, m, each)) };
    let rising = |n, m, mean| -> Make { Box::new(move || rising(n, m, mean)) };
    let adamw = |topics, batch| TopicModel::new(topics).batch_size(batch);
    let rowwise = |topics, batch| adamw(topics, batch).optimizer(Optimizer::RowwiseAdamW);
    let half = |topics, batch| adamw(topics, batch).precision(Precision::Bf16);
    let em = |topics, batch| adamw(topics, batch).solver(Solver::Em);
    let cases = vec![
        // Held, sent, and in parts.
        (bytes(2_000, 10_000), adamw(20, 768), None),
        (bytes(2_000, 10_000), adamw(20, 768), Some("24 MiB")),
        (bytes(2_000, 10_000), adamw(20, 768), Some("12 MiB")),
        (numbers(1_000, 5_000), adamw(64, 192), None),
        (numbers(1_000, 5_000), adamw(64, 192), Some("20 MiB")),
        (numbers(1_000, 5_000), half(64, 192), None),
        // L is the largest; beside the card.
        (bytes(100_000, 100), adamw(20, 1_024), None),
        (bytes(50_000, 200), rowwise(128, 4_096), None),
        (bytes(50_000, 200), rowwise(128, 4_096), Some("24 MiB")),
        (bytes(200_000, 50), rowwise(40, 8_192), None),
        (bytes(2_000, 10_000), rowwise(64, 512), None),
        (sparse(10_000, 10_000, 100), adamw(20, 1_024), None),
        (sparse(10_000, 10_000, 100), half(20, 1_024), None),
        (
            sparse(10_000, 10_000, 100),
            adamw(20, 1_024),
            Some("20 MiB"),
        ),
        (bytes(2_000, 10_000), em(20, 768), None),
        (bytes(2_000, 10_000), em(20, 768), Some("24 MiB")),
        (numbers(4_000, 10_000), em(20, 768), Some("100 MiB")),
        (sparse(10_000, 10_000, 100), em(20, 1_024), None),
        (sparse(10_000, 10_000, 100), em(20, 1_024), Some("16 MiB")),
        // Documents in the order of their lengths.
        (rising(20_000, 10_000, 100), adamw(20, 1_024), None),
        (rising(20_000, 10_000, 100), em(20, 1_024), None),
        (rising(20_000, 10_000, 100), em(20, 1_024), Some("24 MiB")),
    ];
    let model = |(counts, model, budget): (Make, TopicModel, Option<&str>)| {
        let budget = budget.map_or(Budget::new(), |size| Budget::new().vram(size));
        let model = model.epochs(2).quiet().device(Device::Cuda(0));
        (counts, model.budget(budget))
    };
    cases.into_iter().map(model).collect()
}

#[test]
fn plans_hold_to_a_tenth() {
    let machine = Machine::default().with("MEMORY", 24u64 << 30);
    let report = machine.run("memory::plans_hold_to_a_tenth", || {
        let mut wrong = Vec::new();
        for (counts, model) in cases() {
            let counts = counts();
            let plan = model.plan(&counts).unwrap();
            let before = report().unwrap();
            let fit = plan.fit().unwrap();
            let after = report().unwrap();
            let mib = |bytes: f64| bytes / f64::from(1 << 20);
            let reserved = measured(&fit, "VRAM reserved");
            let in_use = measured(&fit, "VRAM in use");
            let predicted = plan.peak_vram().unwrap() as f64;
            // What the driver has handed out, in whole or beyond an earlier fit's peak.
            let driver = after.memory_peak as f64;
            let settings = model.settings();
            let line = format!(
                "{counts}, k = {}, {}, {}, {}, batch {} in parts of {}: {:.2} MiB predicted, {:.2} reserved, {:.2} in use, {:.2} at most handed out",
                settings.topics, settings.solver, settings.optimizer, settings.precision, settings.batch_size,
                plan.micro_batch(), mib(predicted), mib(reserved), mib(in_use), mib(driver),
            );
            println!("{line}");
            let alone = after.memory_peak > before.memory_peak;
            if (predicted / reserved - 1.0).abs() > 0.1
                || (alone && (driver / reserved - 1.0).abs() > 0.02)
                || driver < 0.98 * reserved
                || in_use > reserved
                || after.memory > 0
            {
                wrong.push(format!("{line}\n{plan}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
    assert!(report.is_none_or(|report| report.refused == 0));
}

/// What the runtime takes of the host's memory, beside the plan. It is kept: hence a process for each fit.
#[test]
fn pinned_memory_is_planned() {
    let test = "memory::pinned_memory_is_planned";
    // The runtime's pages depend on the card's size.
    let machines = [8u64, 24, 141].map(|gibibytes| gibibytes << 30);
    // Held and sent, L beside the card, sparse, EM.
    let all = machines
        .iter()
        .flat_map(|memory| [0, 2, 7, 11, 16].map(|case| (memory, case)));
    for (memory, case) in all {
        let machine = Machine::default().with("MEMORY", memory).with("CASE", case);
        let ran = machine.run(test, || {
            let case: usize = std::env::var("CARDLESS_CASE").unwrap().parse().unwrap();
            let (counts, model) = cases().swap_remove(case);
            let counts = counts();
            let plan = model.plan(&counts).unwrap();
            let (table, mut planned) = (plan.table(), 0);
            let (names, bytes) = (
                table.column("what").unwrap(),
                table.column("bytes").unwrap(),
            );
            for (name, bytes) in names.str().unwrap().iter().zip(bytes.u64().unwrap().iter()) {
                if name.unwrap().starts_with("pinned") {
                    planned += bytes.unwrap();
                }
            }
            plan.fit().unwrap();
            let seen = report().unwrap().pinned_peak;
            let line = format!(
                "{counts}: {} MiB pinned, {} planned",
                seen >> 20,
                planned >> 20
            );
            println!("{line}");
            // One of the smallest pages more or less.
            assert!(planned.abs_diff(seen) <= seen / 10 + (20 << 20), "{line}");
        });
        if ran.is_none() {
            return;
        }
    }
}

#[test]
fn memory_is_flat_over_epochs_and_fits() {
    let _ = Machine::default().run("memory::memory_is_flat_over_epochs_and_fits", || {
        let kinds = [dense(700, 500, |value| value), sparse(700, 500, 20)];
        for counts in &kinds {
            for optimizer in [Optimizer::AdamW, Optimizer::RowwiseAdamW] {
                let model = model().optimizer(optimizer);
                let mut seen = Vec::new();
                // The first fit compiles kernels and pins stages; each of the others is in its own thread.
                for (number, epochs) in [2, 2, 50, 2, 2, 2, 2, 2, 2, 2].into_iter().enumerate() {
                    let before = report().unwrap();
                    let model = model.clone().epochs(epochs);
                    match number {
                        0 => model.fit(counts).unwrap(),
                        _ => model.spawn(counts).unwrap().join().unwrap(),
                    };
                    let after = report().unwrap();
                    assert_eq!(after.memory, 0);
                    seen.push((after.allocations - before.allocations, after.pinned));
                }
                assert!(
                    seen[1..].iter().all(|now| *now == seen[1]),
                    "{counts}: {seen:?}"
                );
            }
        }
    });
}
