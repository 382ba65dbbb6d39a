//! Planned and measured VRAM and pinned memory of fits.

use fake_cuda::report;
use topicbook::{
    Budget, Counts, Device, Fit, GradientStep, MiniBatch, Optimizer, Precision, Solver, TopicModel,
};

use crate::fits::{dense, model, rising, sparse};
use crate::machine::Machine;

/// The measured peak in a row of a fit's memory table, in bytes.
fn measured_peak(fit: &Fit, row: &str) -> f64 {
    let table = fit.memory();
    let names = table.texts("memory").unwrap();
    let index = names.iter().position(|name| name == row).unwrap();
    f64::from(1 << 20) * table.numbers("measured peak, MiB").unwrap()[index]
}

/// Generates the counts of a case, one case at a time, because all of them together are large.
type MakeCounts = Box<dyn Fn() -> Counts>;

fn cases() -> Vec<(MakeCounts, TopicModel)> {
    let u8_counts = |n, m| -> MakeCounts { Box::new(move || dense(n, m, |value| value)) };
    let f32_counts = |n, m| -> MakeCounts { Box::new(move || dense(n, m, f32::from)) };
    let sparse = |n, m, nonzeros| -> MakeCounts { Box::new(move || sparse(n, m, nonzeros)) };
    let rising = |n, m, mean| -> MakeCounts { Box::new(move || rising(n, m, mean)) };
    let adamw = |topics, batch| TopicModel::new(topics).batch_size(batch);
    let steps = Solver::mini_batch();
    let with = |topics, batch, steps: &MiniBatch| adamw(topics, batch).solver(steps);
    let rowwise_steps = steps.optimizer(Optimizer::RowwiseAdamW);
    let rowwise = |topics, batch| with(topics, batch, &rowwise_steps);
    let bf16_steps = steps.gpu_precision(Precision::Bf16);
    let bf16 = |topics, batch| with(topics, batch, &bf16_steps);
    let em = |topics| TopicModel::new(topics).solver(Solver::em());
    let keeping = steps.step(GradientStep::Autodiff);
    let kept = |topics, batch| with(topics, batch, &keeping);
    let checkpointing = steps.step(GradientStep::Checkpointing);
    let again = |topics, batch| with(topics, batch, &checkpointing);
    let custom = steps.step(GradientStep::CustomBackward);
    let own = |topics, batch| with(topics, batch, &custom);
    let cases = vec![
        // Counts resident, uploaded in batches, and in micro-batches.
        (u8_counts(2_000, 10_000), adamw(20, 768), None),
        (u8_counts(2_000, 10_000), adamw(20, 768), Some("24 MiB")),
        (u8_counts(2_000, 10_000), adamw(20, 768), Some("12 MiB")),
        (f32_counts(1_000, 5_000), adamw(64, 192), None),
        (f32_counts(1_000, 5_000), adamw(64, 192), Some("20 MiB")),
        (f32_counts(1_000, 5_000), bf16(64, 192), None),
        // L is the largest array: on the GPU, and offloaded.
        (u8_counts(100_000, 100), adamw(20, 1_024), None),
        (u8_counts(50_000, 200), rowwise(128, 4_096), None),
        (u8_counts(50_000, 200), rowwise(128, 4_096), Some("24 MiB")),
        (u8_counts(200_000, 50), rowwise(40, 8_192), None),
        (u8_counts(2_000, 10_000), rowwise(64, 512), None),
        (sparse(10_000, 10_000, 100), adamw(20, 1_024), None),
        (sparse(10_000, 10_000, 100), bf16(20, 1_024), None),
        (
            sparse(10_000, 10_000, 100),
            adamw(20, 1_024),
            Some("20 MiB"),
        ),
        (u8_counts(2_000, 10_000), em(20), None),
        (u8_counts(2_000, 10_000), em(20), Some("24 MiB")),
        (f32_counts(4_000, 10_000), em(20), Some("100 MiB")),
        (sparse(10_000, 10_000, 100), em(20), None),
        (sparse(10_000, 10_000, 100), em(20), Some("16 MiB")),
        // Documents sorted by length.
        (rising(20_000, 10_000, 100), adamw(20, 1_024), None),
        (rising(20_000, 10_000, 100), em(20), None),
        (rising(20_000, 10_000, 100), em(20), Some("24 MiB")),
        // Activations: counts resident, uploaded, with a last batch of its own size, and in micro-batches.
        (sparse(512, 8_192, 20), kept(4, 128), None),
        (sparse(512, 8_000, 20), again(5, 128), None),
        (sparse(512, 8_192, 20), kept(4, 128), Some("24 MiB")),
        (u8_counts(500, 8_192), again(4, 128), Some("44 MiB")),
        (u8_counts(500, 8_192), kept(4, 128), Some("16 MiB")),
        (
            sparse(700, 8_000, 20),
            with(20, 200, &keeping.micro_batch(64)),
            None,
        ),
        // L and F are the largest.
        (sparse(60_000, 128, 20), kept(32, 512), None),
        (sparse(64, 65_536, 20), again(64, 16), None),
        (sparse(64, 65_536, 20), own(64, 16), None),
        (
            sparse(512, 8_192, 20),
            with(32, 128, &custom.micro_batch(32)),
            None,
        ),
    ];
    let model = |(counts, model, budget): (MakeCounts, TopicModel, Option<&str>)| {
        let budget = budget.map_or(Budget::new(), |size| Budget::new().vram(size).unwrap());
        let model = model.epochs(2).quiet().device(Device::Cuda(0));
        (counts, model.budget(budget))
    };
    cases.into_iter().map(model).collect()
}

#[test]
fn planned_vram_is_within_a_tenth_of_reserved_vram() {
    let machine = Machine::default().with("MEMORY", 24u64 << 30);
    let report = machine.run("memory::planned_vram_is_within_a_tenth_of_reserved_vram", || {
        let mut wrong = Vec::new();
        for (counts, model) in cases() {
            let counts = counts();
            // Counts that have not been checked are planned in the bytes of their dtype.
            counts.summary().unwrap();
            let plan = model.plan(&counts).unwrap();
            let before = report().unwrap();
            let fit = plan.fit().unwrap();
            let after = report().unwrap();
            let mib = |bytes: f64| bytes / f64::from(1 << 20);
            let reserved = measured_peak(&fit, "VRAM reserved");
            let in_use = measured_peak(&fit, "VRAM in use");
            let predicted = plan.peak_vram().unwrap() as f64;
            // The driver's peak over this fit and all earlier ones.
            let driver_peak = after.memory_peak as f64;
            let settings = model.settings();
            let (optimizer, precision, batch_size, step) = match &settings.solver {
                Solver::MiniBatch(own) => (own.optimizer, own.gpu_precision, own.batch_size, own.step),
                _ => Default::default(),
            };
            let line = format!(
                "{counts}, k = {}, {}, {}, {}, {step}, batch {} in micro-batches of {}: {:.2} MiB predicted, {:.2} reserved, {:.2} in use, {:.2} driver's peak",
                settings.topics, settings.solver, optimizer, precision, batch_size,
                plan.micro_batch(), mib(predicted), mib(reserved), mib(in_use), mib(driver_peak),
            );
            println!("{line}");
            let is_new_peak = after.memory_peak > before.memory_peak;
            if (predicted / reserved - 1.0).abs() > 0.1
                || (is_new_peak && (driver_peak / reserved - 1.0).abs() > 0.02)
                || driver_peak < 0.98 * reserved
                || in_use > reserved
                || after.memory > 0
            {
                wrong.push(format!("{line}\n{plan}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
    assert!(report.is_none_or(|report| report.failed_allocations == 0));
}

/// The runtime never frees pinned memory, hence a process for each fit.
#[test]
fn planned_pinned_memory_is_near_the_peak() {
    let test = "memory::planned_pinned_memory_is_near_the_peak";
    // The sizes of the runtime's memory pages depend on the GPU's memory.
    let memory_sizes = [8u64, 24, 141].map(|gibibytes| gibibytes << 30);
    // Counts resident and uploaded, L offloaded, sparse counts, EM.
    let runs = memory_sizes
        .iter()
        .flat_map(|memory| [0, 2, 7, 11, 16].map(|case| (memory, case)));
    for (memory, case) in runs {
        let machine = Machine::default().with("MEMORY", memory).with("CASE", case);
        let ran = machine.run(test, || {
            let case: usize = std::env::var("FAKE_CUDA_CASE").unwrap().parse().unwrap();
            let (counts, model) = cases().swap_remove(case);
            let counts = counts();
            counts.summary().unwrap();
            let plan = model.plan(&counts).unwrap();
            let table = plan.table();
            let names = table.texts("what").unwrap();
            let items = names.iter().zip(table.numbers("bytes").unwrap());
            let pinned = items.filter(|(name, _)| name.starts_with("pinned"));
            let planned = pinned.map(|(_, bytes)| bytes as u64).sum::<u64>();
            plan.fit().unwrap();
            let peak = report().unwrap().pinned_peak;
            let line = format!(
                "{counts}: {} MiB pinned, {} planned",
                peak >> 20,
                planned >> 20
            );
            println!("{line}");
            // A tenth, or one of the runtime's smallest pages.
            assert!(planned.abs_diff(peak) <= peak / 10 + (20 << 20), "{line}");
        });
        if ran.is_none() {
            return;
        }
    }
}

#[test]
fn memory_does_not_grow_over_epochs_and_fits() {
    let _ = Machine::default().run("memory::memory_does_not_grow_over_epochs_and_fits", || {
        let layouts = [dense(700, 500, |value| value), sparse(700, 500, 20)];
        for counts in &layouts {
            for optimizer in [Optimizer::AdamW, Optimizer::RowwiseAdamW] {
                let model = model().solver(Solver::mini_batch().optimizer(optimizer));
                let mut reports = Vec::new();
                // The first fit compiles kernels and allocates pinned staging buffers. Each of the others has a
                // thread of its own.
                for (number, epochs) in [2, 2, 50, 2, 2, 2, 2, 2, 2, 2].into_iter().enumerate() {
                    let before = report().unwrap();
                    let model = model.clone().epochs(epochs);
                    match number {
                        0 => model.fit(counts).unwrap(),
                        _ => model.spawn(counts).unwrap().join().unwrap(),
                    };
                    let after = report().unwrap();
                    assert_eq!(after.memory, 0);
                    reports.push((after.allocations - before.allocations, after.pinned));
                }
                assert!(
                    reports[1..].iter().all(|report| *report == reports[1]),
                    "{counts}: {reports:?}"
                );
            }
        }
    });
}
