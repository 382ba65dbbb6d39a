//! The pieces of work, each of which returns one JSON object. Sizes are arguments, so that a dry run can use small
//! ones.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use topicbook::bench_hooks::{self, On};
use topicbook::{
    Budget, CountValue, Counts, Device, Dtype, Precision, Reading, Result, Solver, Synthetic,
    TopicModel,
};

use crate::few_terms::few_terms;

/// Mean length of the synthetic documents in tokens.
const LENGTH: usize = 1_000;

/// How a fit gets its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `f32` in memory.
    F32,
    /// In the narrowest dtype, in memory: bytes, as a rule.
    Narrow,
    /// CSR in memory.
    Csr,
    /// `f32` in a file, streamed.
    Disk,
}

impl Form {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "f32" => Self::F32,
            "narrow" => Self::Narrow,
            "csr" => Self::Csr,
            "disk" => Self::Disk,
            _ => return None,
        })
    }

    /// The counts that [`generate`] wrote into the folder.
    fn counts(self, folder: &Path) -> Result<Counts> {
        let narrow = || Counts::open(folder.join("X_narrow.npy"));
        match self {
            Self::F32 => in_memory::<f32>(&narrow()?),
            Self::Narrow => {
                let counts = narrow()?;
                match counts.dtype() {
                    Dtype::U8 => in_memory::<u8>(&counts),
                    _ => in_memory::<u16>(&counts),
                }
            }
            Self::Csr => Counts::open(folder.join("X.npz")),
            Self::Disk => Counts::open(folder.join("X_f32.npy")),
        }
    }
}

/// A dtype to which counts are converted in memory.
trait FromF32: CountValue {
    fn from_f32(value: f32) -> Self;
}

impl FromF32 for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl FromF32 for u8 {
    fn from_f32(value: f32) -> Self {
        value as u8
    }
}

impl FromF32 for u16 {
    fn from_f32(value: f32) -> Self {
        value as u16
    }
}

/// A copy in anonymous memory: the pages of a mapped file could be evicted.
fn in_memory<T: FromF32>(counts: &Counts) -> Result<Counts> {
    const BLOCK: usize = 256;
    let (documents, terms) = counts.shape();
    let mut values: Vec<T> = Vec::with_capacity(documents * terms);
    let mut rows = vec![0.0f32; BLOCK * terms];
    for first in (0..documents).step_by(BLOCK) {
        let numbers: Vec<usize> = (first..documents.min(first + BLOCK)).collect();
        let rows = &mut rows[..numbers.len() * terms];
        counts.fill_rows(&numbers, rows)?;
        values.extend(rows.iter().map(|value| T::from_f32(*value)));
    }
    Counts::dense(documents, terms, values)
}

/// Writes `X_narrow.npy`, `X_f32.npy` and `X.npz` into a folder.
pub fn generate(folder: &Path, [documents, terms, topics]: [usize; 3]) -> Result<Value> {
    let corpus = Synthetic::new(documents, terms, topics)
        .avg_doc_length(LENGTH)
        .seed(1)
        .write_npy(folder.join("X_narrow.npy"))?;
    let counts = corpus.counts();
    let dense = counts.write_npy_as(folder.join("X_f32.npy"), Dtype::F32)?;
    let sparse = counts.write_npz(folder.join("X.npz"))?;
    let summary = counts.summary()?;
    Ok(json!({
        "documents": documents,
        "terms": terms,
        "narrow": counts.dtype().name(),
        "nonzeros": summary.nonzeros(),
        "bytes": [counts.bytes_stored(), dense.bytes_stored(), sparse.bytes_stored()],
    }))
}

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
            Self::AdamW(precision) => model.precision(precision).batch_size(batch),
            Self::Em => model.solver(Solver::em()),
        }
    }
}

/// The parameters of a fit.
pub struct Fit<'a> {
    pub form: Form,
    pub method: Method,
    pub topics: usize,
    pub batch: usize,
    pub epochs: usize,
    /// The VRAM budget as a text such as `24 GiB`; `all` is all that is free.
    pub vram: &'a str,
}

/// One fit: seconds of its epochs, predicted and measured VRAM, and the seconds of uploading the same counts in the
/// same batches without computing.
pub fn fit(on: On, folder: &Path, parameters: &Fit<'_>) -> Result<Value> {
    let counts = parameters.form.counts(folder)?;
    counts.summary()?;
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
    let plan = model.plan(&counts)?;
    let (fit, nvml_peak) = with_nvml_peak(on, || plan.fit());
    let fit = fit?;
    let history = fit.history();
    let seconds = history.column("seconds").and_then(|column| column.f64());
    let seconds: Vec<f64> =
        seconds.map_or_else(|_| Vec::new(), |column| column.iter().flatten().collect());
    // Not for a stream, whose counts come from the disk: that time is not the time of the bus.
    let bus_seconds = match parameters.form {
        Form::Disk => None,
        _ => Some(bench_hooks::upload_all(on, &counts, parameters.batch)?),
    };
    Ok(json!({
        "documents": counts.documents(),
        "terms": counts.terms(),
        "dtype": counts.dtype().name(),
        "batch": parameters.batch,
        "micro_batch": plan.micro_batch(),
        "bytes": counts.bytes_stored(),
        "epoch_seconds": seconds,
        "bus_seconds": bus_seconds,
        "log_likelihood_per_token": fit.log_likelihood_per_token().unwrap(),
        "resident": plan.to_string().contains("X, as stored"),
        "vram_predicted": plan.peak_vram(),
        "vram_in_use_peak": peak_of(&fit, "VRAM in use"),
        "vram_reserved_peak": peak_of(&fit, "VRAM reserved"),
        "nvml_before": nvml_before,
        "nvml_peak": nvml_peak,
    }))
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
    let names = table.column("memory").ok()?.str().ok()?.clone();
    let index = names.iter().position(|name| name == Some(row))?;
    let peaks = table.column("measured peak, MiB").ok()?.f64().ok()?.clone();
    peaks.get(index).map(|peak| peak * f64::from(1 << 20))
}

/// The speed of the bus: one large copy out of pageable memory, and uploads and downloads of a table through the pinned
/// staging buffers of a step.
pub fn bus(on: On, bytes: usize, (rows, columns): (usize, usize)) -> Result<Value> {
    const ROUNDS: usize = 20;
    let [uploads, downloads] = bench_hooks::transfers(on, (rows, columns), ROUNDS)?;
    Ok(json!({
        "pageable_bytes_per_second": bench_hooks::plain_copy(on, bytes, 3)?,
        "rows": rows,
        "columns": columns,
        "to_gpu_per_second": uploads,
        "from_gpu_per_second": downloads,
    }))
}

/// Iterations per second with L on the GPU and with L offloaded to host memory.
pub fn offload(on: On, [documents, topics, batch, steps]: [usize; 4]) -> Result<Value> {
    let counts = few_terms(documents, 200)?;
    let settings = TopicModel::new(topics).batch_size(batch).settings();
    let run =
        |l_on_host| bench_hooks::iterations_offloaded(on, &settings, &counts, l_on_host, steps);
    Ok(json!({
        "documents": documents,
        "topics": topics,
        "batch": batch,
        "on_gpu_per_second": run(false)?,
        "on_host_per_second": run(true)?,
    }))
}

/// Consecutive fits in one process: memory of the pool and of the GPU after each. The first fit has one epoch.
pub fn growth(on: On, [documents, terms, topics]: [usize; 3], fits: usize) -> Result<Value> {
    const EPOCHS: usize = 50;
    let corpus = Synthetic::new(documents, terms, topics).avg_doc_length(LENGTH);
    let corpus = corpus.seed(1).generate()?;
    let mut after = Vec::new();
    for number in 0..=fits {
        TopicModel::new(topics)
            .epochs(if number == 0 { 1 } else { EPOCHS })
            .batch_size(256.min(documents))
            .seed(number as u64)
            .device(device(on))
            .quiet()
            .fit(corpus.counts())?;
        after.push(bench_hooks::gpu_memory_now(on));
    }
    let column = |index: usize| after.iter().map(|usage| usage[index]).collect::<Vec<_>>();
    Ok(json!({
        "fits": fits,
        "epochs": EPOCHS,
        "in_use": column(0),
        "reserved": column(1),
        "nvml": column(2),
    }))
}

fn device(on: On) -> Device {
    match on {
        On::Gpu(gpu) => Device::Cuda(gpu),
        On::Cpu => Device::Cpu,
    }
}
