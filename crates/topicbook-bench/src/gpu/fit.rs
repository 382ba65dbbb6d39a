//! One fit: seconds of its epochs and of its transfers, predicted and measured VRAM.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use topicbook::bench_hooks::{self, On};
use topicbook::{Budget, Device, Precision, Reading, Result, Solver, TopicModel};

use crate::gpu::counts::{Form, forget_pages};

/// Solver and precision of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    AdamW(Precision),
    Em,
}

impl Method {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "f32" => Self::AdamW(Precision::F32),
            "bf16" => Self::AdamW(Precision::Bf16),
            "em" => Self::Em,
            _ => return None,
        })
    }

    /// The model of a fit in batches of `batch` documents; EM has no batches.
    fn model(self, topics: usize, batch: usize) -> TopicModel {
        let model = TopicModel::new(topics);
        match self {
            Self::AdamW(precision) => model.solver(
                Solver::mini_batch()
                    .batch_size(batch)
                    .gpu_precision(precision),
            ),
            Self::Em => model.solver(Solver::em()),
        }
    }
}

/// The parameters of a fit.
pub struct Fit<'a> {
    pub form: Form,
    pub method: Method,
    /// The first documents of the counts.
    pub documents: usize,
    pub topics: usize,
    pub batch: usize,
    pub epochs: usize,
    /// The VRAM budget as a text such as `24 GiB`; `all` is all that is free.
    pub vram: &'a str,
}

/// One fit: seconds of its epochs, predicted and measured VRAM, and the seconds of uploading the same counts in the
/// same batches without computing.
pub fn fit(on: On, folder: &Path, parameters: &Fit<'_>) -> Result<Value> {
    let counts = parameters.form.counts(folder, parameters.documents)?;
    let density = counts.summary()?.density();
    let nvml_before = bench_hooks::gpu_memory_now(on)[2];
    let model = parameters
        .method
        .model(parameters.topics, parameters.batch)
        .epochs(parameters.epochs)
        .seed(1)
        .device(device(on))
        .budget(match parameters.vram {
            "all" => Budget::new(),
            size => Budget::new().vram(size).unwrap(),
        })
        .reading(match parameters.form {
            Form::Disk => Reading::Stream {
                block: 20.min(parameters.batch),
                blocks: (2_480 / 20).max(parameters.batch.div_ceil(20)),
            },
            _ => Reading::InPlace,
        })
        .quiet();
    let model = match parameters.form {
        Form::Disk => {
            let folder = folder.to_path_buf();
            forget_pages(&folder);
            model.on_epoch(move |_| {
                forget_pages(&folder);
                ControlFlow::Continue(())
            })
        }
        _ => model,
    };
    let plan = model.plan(&counts)?;
    let (fit, nvml_peak) = with_nvml_peak(on, || plan.fit());
    let fit = fit?;
    let epochs = fit.epochs();
    let seconds: Vec<f64> = epochs
        .iter()
        .map(|epoch| epoch.duration.as_secs_f64())
        .collect();
    // Not for a stream, whose counts come from the disk: that time is not the time of the bus.
    let bus_seconds = match parameters.form {
        Form::Disk => None,
        _ => Some(bench_hooks::upload_all(on, &counts, parameters.batch)?),
    };
    Ok(json!({
        "documents": counts.documents(),
        "terms": counts.terms(),
        "dtype": counts.dtype().name(),
        "density": density,
        "batch": parameters.batch,
        "micro_batch": plan.micro_batch(),
        "bytes": counts.bytes_stored(),
        "epoch_seconds": seconds,
        "bus_seconds": bus_seconds,
        "log_likelihood_per_token": fit.log_likelihood_per_token().unwrap(),
        "resident": is_resident(&plan),
        "vram_predicted": plan.peak_vram(),
        "vram_in_use_peak": peak_of(&fit, "VRAM in use"),
        "vram_reserved_peak": peak_of(&fit, "VRAM reserved"),
        "nvml_before": nvml_before,
        "nvml_peak": nvml_peak,
    }))
}

/// Whether all counts stay on the GPU: an item of VRAM, where files and streams are items of the disk.
fn is_resident(plan: &topicbook::Plan) -> bool {
    let text = plan.to_string();
    let mut items = text.lines().map(str::trim_start);
    items.any(|item| item.starts_with("X, ") && item.contains(" VRAM "))
}

/// Does the work, and samples the peak of the GPU's used memory as NVML reports it.
fn with_nvml_peak<T>(on: On, work: impl FnOnce() -> T) -> (T, Option<u64>) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = None;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(bench_hooks::gpu_memory_now(on)[2]);
                thread::sleep(Duration::from_millis(20));
            }
            peak
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        (result, sampler.join().ok().flatten())
    })
}

/// A measured peak of a fit in bytes, where there is one.
fn peak_of(fit: &topicbook::Fit, row: &str) -> Option<f64> {
    let table = fit.memory();
    let names = table.texts("memory").ok()?;
    let index = names.iter().position(|name| name == row)?;
    let peak = table.numbers("measured peak, MiB").ok()?[index];
    (!peak.is_nan()).then_some(peak * f64::from(1 << 20))
}

pub fn device(on: On) -> Device {
    match on {
        On::Gpu(gpu) => Device::Cuda(gpu),
        On::Cpu => Device::Cpu,
    }
}
