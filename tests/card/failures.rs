//! What is missing, and what goes wrong on the way.

use cardless::{others_take, report};
use topicbook::{Budget, Device, ErrorKind, doctor};

use crate::fits::{dense, model};
use crate::machine::{Compiler, Machine};

fn counts() -> topicbook::Counts {
    dense(3_000, 2_000, |value| value)
}

#[test]
fn what_is_missing_is_named_and_the_cpu_is_used() {
    let machine = Machine::default;
    let cases = [
        (machine().without_driver(), "no NVIDIA driver was found"),
        (machine().with("CARDS", 0), "sees no card"),
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
            "does not compile for no card",
        ),
        (machine().without_headers(), "has no include/cuda_runtime.h"),
    ];
    for (machine, message) in cases {
        let test = "failures::what_is_missing_is_named_and_the_cpu_is_used";
        let ran = machine.with("EXPECTED", message).run(test, || {
            let expected = std::env::var("CARDLESS_EXPECTED").unwrap();
            let counts = dense(40, 30, |value| value);
            let small = model().batch_size(16);
            let error = small.fit(&counts).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Device);
            assert!(error.to_string().contains(&expected), "{error}");
            assert!(error.remedy().is_some());
            let text = Device::Auto.describe();
            assert!(
                text.starts_with("CPU") && text.contains(&expected),
                "{text}"
            );
            let text = doctor().to_string();
            println!("{text}");
            assert!(
                text.contains(&expected) && text.contains("the CPU is used"),
                "{text}"
            );
            small.device(Device::Auto).fit(&counts).unwrap();
        });
        if ran.is_none() {
            return;
        }
    }
}

#[test]
fn a_card_that_works_is_described() {
    let machine = Machine::default().with("CAPABILITY", "8.9");
    let _ = machine.run("failures::a_card_that_works_is_described", || {
        let doctor = doctor();
        let text = doctor.to_string();
        println!("{text}");
        for part in [
            "driver for CUDA 12.8, NVRTC 12.8",
            "no card, 8 GiB, compute capability 8.9",
        ] {
            assert!(text.contains(part), "{text}");
        }
        // Its kernels do nothing, which is noticed.
        assert!(!doctor.is_well());
        assert_eq!(Device::Auto.describe(), "CUDA card 0");
        let error = model().device(Device::Cuda(1)).fit(counts()).unwrap_err();
        assert!(error.to_string().contains("this machine has 1"), "{error}");
    });
}

#[test]
fn a_card_that_is_too_full_is_named_first() {
    let machine = Machine::default()
        .with("MEMORY", 1u64 << 30)
        .with("TAKEN", (1u64 << 30) - 300_000);
    let report = machine.run("failures::a_card_that_is_too_full_is_named_first", || {
        // Whatever the budget allows, the card has no more.
        let allowed = model().budget(Budget::new().vram("900 MiB"));
        for model in [model(), allowed] {
            let error = model.fit(counts()).unwrap_err();
            println!("{error}");
            assert_eq!(error.kind(), ErrorKind::Space);
            assert!(error.to_string().contains("of VRAM"), "{error}");
            assert!(!error.to_string().contains("900 MiB"), "{error}");
        }
    });
    assert!(report.is_none_or(|report| (report.allocations, report.refused) == (0, 0)));
}

#[test]
fn a_card_that_fills_up_ends_a_fit_and_not_the_process() {
    let machine = Machine::default().with("MEMORY", 1u64 << 30);
    let report = machine.run(
        "failures::a_card_that_fills_up_ends_a_fit_and_not_the_process",
        || {
            let counts = counts();
            model().fit(&counts).unwrap();
            // From the first allocation to those of later steps.
            for after in [1, 2, 6, 12, 25] {
                others_take(1 << 30, after);
                let error = model().fit(&counts).unwrap_err();
                println!("{error}\n");
                assert_eq!(error.kind(), ErrorKind::Device, "{error}");
                let text = error.to_string();
                assert!(
                    text.contains("the plan has") && text.contains("F's moments"),
                    "{text}"
                );
                others_take(0, 0);
                model().fit(&counts).unwrap();
                assert_eq!(report().unwrap().memory, 0);
            }
        },
    );
    assert!(report.is_none_or(|report| report.refused > 0));
}

#[test]
fn a_fit_beside_one_that_fails_is_whole_or_fails_too() {
    const EPOCHS: usize = 40;
    let test = "failures::a_fit_beside_one_that_fails_is_whole_or_fails_too";
    let machine = Machine::default().with("MEMORY", 2u64 << 30);
    let report = machine.run(test, || {
        let counts = counts();
        for after in [1, 10, 40] {
            let fits = [1, 2].map(|seed| model().epochs(EPOCHS).seed(seed).spawn(&counts).unwrap());
            others_take(2 << 30, after);
            for fit in fits {
                match fit.join() {
                    Ok(fit) => assert_eq!(fit.history().height(), EPOCHS),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Device, "{error}"),
                }
            }
            others_take(0, 0);
        }
        model().fit(&counts).unwrap();
    });
    assert!(report.is_none_or(|report| report.refused > 0));
}
