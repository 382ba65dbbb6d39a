//! The pieces of work, each of which gives one JSON object. Sizes are arguments, so that a dry run can have small ones.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use topicbook::replay::{self, On};
use topicbook::{
    Budget, CountValue, Counts, Device, Dtype, Precision, Reading, Result, Solver, Synthetic,
    TopicModel,
};

use crate::few_terms::few_terms;

/// Mean length of the documents that are drawn, in tokens.
const LENGTH: usize = 1_000;

/// How counts are brought to a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum As {
    /// `f32` in memory.
    F32,
    /// As they were drawn, in memory: bytes.
    Narrow,
    /// Sparse, in memory.
    Csr,
    /// `f32` in a file that is streamed.
    Disk,
}

impl As {
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "f32" => Self::F32,
            "narrow" => Self::Narrow,
            "csr" => Self::Csr,
            "disk" => Self::Disk,
            _ => return None,
        })
    }

    /// The counts of the files that [`generate`] wrote.
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

/// A type that a bench holds counts in.
trait Held: CountValue {
    fn from_f32(value: f32) -> Self;
}

impl Held for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl Held for u8 {
    fn from_f32(value: f32) -> Self {
        value as u8
    }
}

impl Held for u16 {
    fn from_f32(value: f32) -> Self {
        value as u16
    }
}

/// A copy in the process's own memory: a file's pages could be taken away.
fn in_memory<T: Held>(counts: &Counts) -> Result<Counts> {
    const AT_ONCE: usize = 256;
    let (documents, terms) = counts.shape();
    let mut values: Vec<T> = Vec::with_capacity(documents * terms);
    let mut rows = vec![0.0f32; AT_ONCE * terms];
    for first in (0..documents).step_by(AT_ONCE) {
        let numbers: Vec<usize> = (first..documents.min(first + AT_ONCE)).collect();
        let rows = &mut rows[..numbers.len() * terms];
        counts.fill_rows(&numbers, rows)?;
        values.extend(rows.iter().map(|value| T::from_f32(*value)));
    }
    Counts::dense(documents, terms, values)
}

/// `X_narrow.npy`, `X_f32.npy` and `X.npz` in a folder.
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

/// How a fit learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    AdamW(Precision),
    Em,
}

impl Law {
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "f32" => Self::AdamW(Precision::F32),
            "bf16" => Self::AdamW(Precision::Bf16),
            "em" => Self::Em,
            _ => return None,
        })
    }

    fn of_model(self, model: TopicModel) -> TopicModel {
        match self {
            Self::AdamW(precision) => model.precision(precision),
            Self::Em => model.solver(Solver::Em),
        }
    }
}

/// What a fit is asked for.
pub struct Fit<'a> {
    pub form: As,
    pub law: Law,
    pub topics: usize,
    pub batch: usize,
    pub epochs: usize,
    /// Bytes of VRAM at most, as a text; `all` is what the card has free.
    pub vram: &'a str,
}

/// One fit: seconds of its epochs, what was predicted and measured of VRAM, and the time in which the same counts only go
/// over the bus in the same batches.
pub fn fit(on: On, folder: &Path, asked: &Fit<'_>) -> Result<Value> {
    let counts = asked.form.counts(folder)?;
    counts.summary()?;
    let idle = replay::card_memory_now(on)[2];
    let model = asked
        .law
        .of_model(TopicModel::new(asked.topics))
        .epochs(asked.epochs)
        .batch_size(asked.batch)
        .seed(1)
        .device(device(on))
        .budget(match asked.vram {
            "all" => Budget::new(),
            size => Budget::new().vram(size),
        })
        .reading(match asked.form {
            As::Disk => Reading::Stream {
                block: 20.min(asked.batch),
                blocks: (2_480 / 20).max(asked.batch.div_ceil(20)),
            },
            _ => Reading::InPlace,
        })
        .quiet();
    let plan = model.plan(&counts)?;
    let (fit, most) = watched(on, || plan.fit());
    let fit = fit?;
    let history = fit.history();
    let seconds = history.column("seconds").and_then(|column| column.f64());
    let seconds: Vec<f64> =
        seconds.map_or_else(|_| Vec::new(), |all| all.iter().flatten().collect());
    // After the fit: the counts of a stream come from the disk, which is not the bus.
    let bus = match asked.form {
        As::Disk => None,
        _ => Some(replay::send_all(on, &counts, asked.batch)?),
    };
    Ok(json!({
        "documents": counts.documents(),
        "terms": counts.terms(),
        "dtype": counts.dtype().name(),
        "batch": asked.batch,
        "micro_batch": plan.micro_batch(),
        "bytes": counts.bytes_stored(),
        "epoch_seconds": seconds,
        "bus_seconds": bus,
        "log_likelihood_per_token": fit.log_likelihood_per_token(),
        "held": plan.to_string().contains("X, as stored"),
        "vram_predicted": plan.peak_vram(),
        "vram_in_use_peak": peak_of(&fit, "VRAM in use"),
        "vram_reserved_peak": peak_of(&fit, "VRAM reserved"),
        "nvml_before": idle,
        "nvml_peak": most,
    }))
}

/// Does something; and the most of the card that NVML sees used meanwhile.
fn watched<T>(on: On, work: impl FnOnce() -> T) -> (T, Option<u64>) {
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let look = scope.spawn(|| {
            let mut most = None;
            while !end.load(Ordering::Relaxed) {
                most = most.max(replay::card_memory_now(on)[2]);
                thread::sleep(Duration::from_millis(20));
            }
            most
        });
        let done = work();
        end.store(true, Ordering::Relaxed);
        (done, look.join().ok().flatten())
    })
}

/// A measured peak in bytes, if the fit knows it.
fn peak_of(fit: &topicbook::Fit, row: &str) -> Option<f64> {
    let table = fit.memory();
    let names = table.column("memory").ok()?.str().ok()?.clone();
    let at = names.iter().position(|name| name == Some(row))?;
    let peaks = table.column("measured peak, MiB").ok()?.f64().ok()?.clone();
    peaks.get(at).map(|peak| peak * f64::from(1 << 20))
}

/// The speed of the bus: the stages of a step, one large copy of memory that is not pinned, and a table there and back.
pub fn bus(on: On, bytes: usize, (rows, columns): (usize, usize)) -> Result<Value> {
    const ROUNDS: usize = 20;
    let [there, back] = replay::transfers(on, (rows, columns), ROUNDS)?;
    Ok(json!({
        "plain_bytes_per_second": replay::plain_copy(on, bytes, 3)?,
        "rows": rows,
        "columns": columns,
        "to_card_per_second": there,
        "from_card_per_second": back,
    }))
}

/// Iterations a second with L on the card and beside it.
pub fn hosted(on: On, [documents, topics, batch, steps]: [usize; 4]) -> Result<Value> {
    let counts = few_terms(documents)?;
    let settings = TopicModel::new(topics).batch_size(batch).settings();
    let run = |l_on_host| replay::iterations_beside(on, &settings, &counts, l_on_host, steps);
    Ok(json!({
        "documents": documents,
        "topics": topics,
        "batch": batch,
        "on_card_per_second": run(false)?,
        "on_host_per_second": run(true)?,
    }))
}

/// Fits one after the other in one process: what the pool and the card hold after each. The first has one epoch.
pub fn flat(on: On, [documents, terms, topics]: [usize; 3], fits: usize) -> Result<Value> {
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
        after.push(replay::card_memory_now(on));
    }
    let column = |at: usize| after.iter().map(|now| now[at]).collect::<Vec<_>>();
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
        On::Card(card) => Device::Cuda(card),
        On::Cpu => Device::Cpu,
    }
}
