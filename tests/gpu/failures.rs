//! Missing drivers and compilers, and GPUs that run out of memory.

use fake_cuda::{report, set_used_by_others};
use topicbook::{Budget, Device, ErrorKind, doctor};

use crate::fits::{dense, model};
use crate::machine::{Compiler, Machine};

fn counts() -> topicbook::Counts {
    dense(3_000, 2_000, |value| value)
}

#[test]
fn a_missing_component_is_named_and_the_cpu_is_used() {
    let machine = Machine::default;
    let cases = [
        (machine().without_driver(), "no NVIDIA driver was found"),
        (machine().with("GPUS", 0), "sees no GPU"),
        (
            machine().compiler(Compiler::Missing),
            "NVRTC, CUDA's run-time compiler, was not found",
        ),
        (
            machine().with("CUDA", "12.4"),
            "NVRTC 12.8 is newer than the CUDA 12.4",
        ),
        (
            machine().with("NVRTC", "12.4").with("CAPABILITY", "12.0"),
            "does not compile for no GPU",
        ),
        (machine().without_headers(), "has no include/cuda_runtime.h"),
    ];
    for (machine, message) in cases {
        let test = "failures::a_missing_component_is_named_and_the_cpu_is_used";
        let ran = machine.with("EXPECTED", message).run(test, || {
            let expected = std::env::var("FAKE_CUDA_EXPECTED").unwrap();
            let counts = dense(40, 30, |value| value);
            let small = model().batch_size(16);
            testkit::refused! { small.fit(&counts) => Device, &expected; }
            let text = Device::Auto.describe();
            assert!(
                text.starts_with("CPU") && text.contains(&expected),
                "{text}"
            );
            let text = doctor().to_string();
            println!("{text}");
            testkit::assert_has(&text, [&expected, "the CPU is used"]);
            small.device(Device::Auto).fit(&counts).unwrap();
        });
        if ran.is_none() {
            return;
        }
    }
}

#[test]
fn a_working_gpu_is_described() {
    let machine = Machine::default().with("CAPABILITY", "8.9");
    let _ = machine.run("failures::a_working_gpu_is_described", || {
        let doctor = doctor();
        let text = doctor.to_string();
        println!("{text}");
        testkit::assert_has(
            &text,
            [
                "driver for CUDA 12.8, NVRTC 12.8",
                "no GPU, 8 GiB, compute capability 8.9",
            ],
        );
        // The fake driver's kernels do nothing, which doctor's trial fit detects.
        assert!(!doctor.is_well());
        assert_eq!(Device::Auto.describe(), "CUDA GPU 0");
        testkit::refused! { model().device(Device::Cuda(1)).fit(counts()), "this machine has 1"; }
    });
}

#[test]
fn a_gpu_without_enough_free_memory_is_refused_by_the_plan() {
    let machine = Machine::default()
        .with("MEMORY", 1u64 << 30)
        .with("USED", (1u64 << 30) - 300_000);
    let report = machine.run(
        "failures::a_gpu_without_enough_free_memory_is_refused_by_the_plan",
        || {
            // A budget above the free memory changes nothing.
            let with_budget = model().budget(Budget::new().vram("900 MiB").unwrap());
            for model in [model(), with_budget] {
                let error = model.fit(counts()).unwrap_err();
                println!("{error}");
                assert_eq!(error.kind(), ErrorKind::Space);
                assert!(error.to_string().contains("of VRAM"), "{error}");
                assert!(!error.to_string().contains("900 MiB"), "{error}");
            }
        },
    );
    assert!(report.is_none_or(|report| (report.allocations, report.failed_allocations) == (0, 0)));
}

#[test]
fn running_out_of_vram_ends_the_fit_but_not_the_process() {
    let machine = Machine::default().with("MEMORY", 1u64 << 30);
    let report = machine.run(
        "failures::running_out_of_vram_ends_the_fit_but_not_the_process",
        || {
            let counts = counts();
            model().fit(&counts).unwrap();
            // The GPU fills up before the first allocation, or as late as in a later step.
            for after in [1, 2, 6, 12, 25] {
                set_used_by_others(1 << 30, after);
                let error = model().fit(&counts).unwrap_err();
                println!("{error}\n");
                assert_eq!(error.kind(), ErrorKind::Device, "{error}");
                let text = error.to_string();
                testkit::assert_has(&text, ["the plan has", "F's optimizer state"]);
                set_used_by_others(0, 0);
                model().fit(&counts).unwrap();
                assert_eq!(report().unwrap().memory, 0);
            }
        },
    );
    assert!(report.is_none_or(|report| report.failed_allocations > 0));
}

#[test]
fn concurrent_fits_complete_or_fail_when_vram_runs_out() {
    const EPOCHS: usize = 40;
    let test = "failures::concurrent_fits_complete_or_fail_when_vram_runs_out";
    let machine = Machine::default().with("MEMORY", 2u64 << 30);
    let report = machine.run(test, || {
        let counts = counts();
        for after in [1, 10, 40] {
            let fits = [1, 2].map(|seed| model().epochs(EPOCHS).seed(seed).spawn(&counts).unwrap());
            set_used_by_others(2 << 30, after);
            for fit in fits {
                match fit.join() {
                    Ok(fit) => assert_eq!(fit.history().height(), EPOCHS),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Device, "{error}"),
                }
            }
            set_used_by_others(0, 0);
        }
        model().fit(&counts).unwrap();
    });
    assert!(report.is_none_or(|report| report.failed_allocations > 0));
}
