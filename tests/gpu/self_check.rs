//! The self-check of a GPU, which the fake driver fails, because its kernels do nothing.

use std::fs;
use std::path::{Path, PathBuf};

use fake_cuda::set_used_by_others;
use serde_json::Value;
use topicbook::{Device, ErrorKind, TopicModel, doctor, show_progress};

use crate::fits::{dense, model};
use crate::machine::Machine;

/// How every message about the failed check begins.
const FAILS: &str =
    "CUDA GPU 0 fails its self-check: in a small fit to dense counts, resident, the ";

#[test]
fn a_gpu_that_computes_nothing_is_not_used() {
    let test = "self_check::a_gpu_that_computes_nothing_is_not_used";
    let machine = Machine::default().untrusted();
    let ran = machine.run_with_output(test, || {
        let counts = dense(60, 40, |value| value);
        // A GPU chosen by its number gives an error, and nothing is printed.
        let error = model().fit(&counts).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
        assert!(error.to_string().starts_with(FAILS), "{error}");
        assert!(error.place().unwrap().contains("self-check"), "{error}");
        let remedy = error.remedy().unwrap();
        testkit::assert_has(remedy, ["Device::Cpu", ".json and start a"]);
        // A GPU of `Device::Auto` gives a line in the plan, in the fit and in its progress, and a fit on the CPU.
        show_progress(true);
        let auto = TopicModel::new(5).epochs(2);
        let plan = auto.plan(&counts).unwrap();
        assert_eq!(plan.to_string().matches(FAILS).count(), 1, "{plan}");
        assert_eq!(plan.peak_vram(), None, "{plan}");
        let fit = plan.fit().unwrap();
        let line = fit.note().unwrap();
        assert!(line.starts_with(FAILS), "{line}");
        assert!(line.ends_with(". The CPU is used for this fit."), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        let on_cpu = auto.device(Device::Cpu).quiet().fit(&counts).unwrap();
        assert!(fit.l() == on_cpu.l() && fit.f() == on_cpu.f());
        assert_eq!(on_cpu.note(), None);
        let described = Device::Auto.describe();
        assert_eq!(described, "CPU (CUDA GPU 0 fails its self-check)");
        let doctor = doctor();
        let text = doctor.to_string();
        assert!(text.contains("failed: in a small fit"), "{text}");
        assert!(!doctor.is_well(), "{text}");
    });
    let Some((report, out)) = ran else { return };
    assert_eq!(out.matches(FAILS).count(), 1, "{out}");
    // The GPU has run the small fit, and its memory was freed.
    assert!(report.launches > 0 && report.memory == 0);
}

/// A fit that must run on the GPU if the variable says that the GPU passes.
fn fit_where_chosen() {
    let passes = std::env::var("FAKE_CUDA_PASSES").unwrap() == "true";
    let counts = dense(300, 200, |value| value);
    let plan = model().device(Device::Auto).plan(&counts).unwrap();
    assert_eq!(plan.peak_vram().is_some(), passes, "{plan}");
    assert_eq!(plan.fit().unwrap().note().is_none(), passes);
}

/// The files of results in a cache folder.
fn kept_in(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.join("self-check")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_result_is_kept_for_later_processes() {
    let test = "self_check::a_result_is_kept_for_later_processes";
    let cache = tempfile::tempdir().unwrap();
    let machine = Machine::default().untrusted().cache(cache.path());
    let failing = machine.clone().with("PASSES", false);
    let newer = failing.clone().with("CUDA", "13.0");
    for (machine, checks, files) in [(&failing, true, 1), (&failing, false, 1), (&newer, true, 2)] {
        let Some(report) = machine.run(test, fit_where_chosen) else {
            return;
        };
        assert_eq!(report.launches > 0, checks, "{}", report.text());
        assert_eq!(kept_in(cache.path()).len(), files);
    }
    // A GPU that has passed is used, and is not checked again.
    for path in kept_in(cache.path()) {
        let mut kept: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(kept["passed"], false);
        kept["passed"] = true.into();
        kept["difference"] = Value::Null;
        fs::write(&path, kept.to_string()).unwrap();
    }
    let passing = machine.with("PASSES", true);
    let report = passing.run(test, fit_where_chosen);
    assert!(report.is_some_and(|report| report.launches > 0));
}

#[test]
fn a_check_that_could_not_run_is_repeated() {
    let test = "self_check::a_check_that_could_not_run_is_repeated";
    let machine = Machine::default().untrusted().with("MEMORY", 1u64 << 30);
    let report = machine.run(test, || {
        let counts = dense(60, 40, |value| value);
        // The GPU fills up during the small fit.
        set_used_by_others(1 << 30, 6);
        testkit::refused! { model().fit(&counts) => Device, "could not run its self-check: "; }
        let fit = model().device(Device::Auto).fit(&counts).unwrap();
        let line = fit.note().unwrap();
        assert!(line.contains("could not run its self-check: "), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        set_used_by_others(0, 0);
        let error = model().fit(&counts).unwrap_err();
        assert!(error.to_string().starts_with(FAILS), "{error}");
    });
    assert!(report.is_none_or(|report| report.failed_allocations > 0));
}

#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let test = "self_check::a_cache_that_cannot_be_written_is_no_error";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let machine = Machine::default().untrusted().cache(&file);
    let report = machine.with("PASSES", false).run(test, fit_where_chosen);
    assert!(report.is_none_or(|report| report.launches > 0));
}
