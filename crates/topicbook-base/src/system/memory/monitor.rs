//! A thread that samples the memory of the process, and the log of its samples and phases.

use std::fs;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::allocator::configure_malloc;
use super::cgroup::Cgroup;
use super::{ProcessMemory, field, free_memory, process_memory};

/// Time between two samples at first.
const INTERVAL: Duration = Duration::from_millis(10);
/// Most samples of a log: at this number, half of them are dropped and the interval is doubled.
const MAX_SAMPLES: usize = 1024;
/// Least seconds between a phase's sample and the previous one, so that adjacent phases share a sample.
const MIN_GAP: f64 = 0.001;
/// Time between two readings of the free memory of the system, which cost more than a sample of the process.
const SYSTEM_INTERVAL: Duration = Duration::from_secs(1);

/// Memory at one time; sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the start of the monitor.
    pub seconds: f64,
    #[serde(flatten)]
    pub process: ProcessMemory,
    /// Bytes that the process has read from disk since it started.
    #[serde(rename = "read")]
    pub read_bytes: u64,
    /// Page faults of the process that waited for the disk, since it started.
    #[serde(rename = "waits")]
    pub major_faults: u64,
    /// In use on the GPU; 0 without one.
    pub vram: u64,
    /// Reserved by the GPU's allocator, which includes what is in use; 0 without a GPU.
    pub vram_reserved: u64,
    /// In use by the cgroup, page cache included; 0 without a limit.
    #[serde(default)]
    pub group: u64,
}

/// A phase and its start and end, in seconds since the start of the monitor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub name: String,
    pub from: f64,
    pub to: f64,
}

/// The kind of a phase: its name without numbers, in the singular if it has numbers. `epochs 1–9` is an `epoch`.
pub fn kind_of_phase(name: &str) -> &str {
    let end = name.find(|character: char| character.is_ascii_digit());
    let kind = name[..end.unwrap_or(name.len())].trim_end();
    kind.strip_suffix('s')
        .filter(|_| end.is_some())
        .unwrap_or(kind)
}

/// Samples and phases of a monitor up to now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Log {
    pub samples: Vec<Sample>,
    pub spans: Vec<Span>,
    /// Maxima over all samples, also those that were dropped.
    pub peak: Peak,
    /// The memory limit of the cgroup of the process, in bytes; 0 without one.
    #[serde(default)]
    pub limit: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    pub anonymous: u64,
    pub file_backed: u64,
    pub vram: u64,
    pub vram_reserved: u64,
    #[serde(default)]
    pub group: u64,
}

impl Log {
    fn push(&mut self, sample: Sample) {
        let peak = &mut self.peak;
        peak.anonymous = peak.anonymous.max(sample.process.anonymous);
        peak.file_backed = peak.file_backed.max(sample.process.file_backed);
        peak.vram = peak.vram.max(sample.vram);
        peak.vram_reserved = peak.vram_reserved.max(sample.vram_reserved);
        peak.group = peak.group.max(sample.group);
        self.samples.push(sample);
    }

    /// Halves the samples: keeps the first, the last, and from each pair between them the sample with more anonymous memory.
    pub fn thin(&mut self) {
        let Some((&last, rest)) = self.samples.split_last() else {
            return;
        };
        let mut kept: Vec<Sample> = Vec::with_capacity(self.samples.len() / 2 + 2);
        kept.extend(self.samples.first());
        for pair in rest.get(1..).unwrap_or_default().chunks(2) {
            kept.extend(
                pair.iter()
                    .max_by_key(|sample| sample.process.anonymous)
                    .copied(),
            );
        }
        kept.push(last);
        self.samples.clear();
        self.samples.extend(kept);
    }
}

/// State shared by the sampling thread, the monitor and its handles.
#[derive(Debug)]
struct MonitorState {
    began: Instant,
    log: Mutex<Log>,
    vram: AtomicU64,
    vram_reserved: AtomicU64,
    /// Free memory of the machine or the cgroup at its last reading; `u64::MAX` before the first.
    free_memory: AtomicU64,
    /// The cgroup with the tightest limit.
    cgroup: Option<Cgroup>,
}

impl MonitorState {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Takes a sample now.
    fn sample(&self) {
        let (read_bytes, major_faults) = (read_bytes(), major_faults());
        let sample = Sample {
            seconds: self.now(),
            process: process_memory(),
            read_bytes,
            major_faults,
            vram: self.vram.load(Ordering::Relaxed),
            vram_reserved: self.vram_reserved.load(Ordering::Relaxed),
            group: self.cgroup.as_ref().map_or(0, Cgroup::used),
        };
        self.log().push(sample);
    }

    /// Takes a sample unless the last one is less than [`MIN_GAP`] old.
    fn sample_if_due(&self) {
        let last = self.log().samples.last().map(|sample| sample.seconds);
        if last.is_none_or(|last| self.now() - last > MIN_GAP) {
            self.sample();
        }
    }
}

/// Access to a monitor from other threads: marks phases and takes samples. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle(Arc<MonitorState>);

impl Handle {
    /// Starts a phase, which ends when the guard is dropped. Takes a sample at both ends.
    pub fn phase(&self, name: impl Into<String>) -> PhaseGuard {
        self.0.sample_if_due();
        PhaseGuard {
            name: name.into(),
            began: vec![(self.0.clone(), self.0.now())],
        }
    }

    /// Takes a sample now, to catch a peak that is shorter than the sampling interval.
    pub fn sample(&self) {
        self.0.sample();
    }

    /// Sets the VRAM, in bytes, for this and all later samples, and takes a sample; does the same for all open scopes.
    pub fn set_vram(&self, in_use: u64, reserved: u64) {
        for shared in std::iter::once(self.0.clone()).chain(registered()) {
            shared.vram.store(in_use, Ordering::Relaxed);
            shared.vram_reserved.store(reserved, Ordering::Relaxed);
            shared.sample();
        }
    }

    /// The VRAM that the GPU's allocator had reserved at the last call of [`set_vram`](Self::set_vram), in bytes.
    pub fn vram_reserved(&self) -> u64 {
        self.0.vram_reserved.load(Ordering::Relaxed)
    }

    /// Free memory of the machine or the cgroup at the monitor's last reading; `u64::MAX` before the first.
    pub fn free_memory(&self) -> u64 {
        self.0.free_memory.load(Ordering::Relaxed)
    }
}

/// A phase in one or several monitors, which ends on drop.
#[derive(Debug)]
pub struct PhaseGuard {
    name: String,
    /// The monitors, and the start of the phase in the time of each.
    began: Vec<(Arc<MonitorState>, f64)>,
}

impl Drop for PhaseGuard {
    fn drop(&mut self) {
        for (shared, from) in &self.began {
            shared.sample_if_due();
            let span = Span {
                name: self.name.clone(),
                from: *from,
                to: shared.now(),
            };
            shared.log().spans.push(span);
        }
    }
}

/// Monitors of open memory scopes, in which [`phase`] marks the work of the library.
static REGISTRY: Mutex<Vec<Weak<MonitorState>>> = Mutex::new(Vec::new());

/// The monitors that are registered and still run.
fn registered() -> Vec<Arc<MonitorState>> {
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    registry.retain(|shared| shared.strong_count() > 0);
    registry.iter().filter_map(Weak::upgrade).collect()
}

/// Starts a phase in every registered monitor.
pub fn phase(name: &str) -> PhaseGuard {
    // A phase may allocate large tables.
    configure_malloc();
    PhaseGuard {
        name: name.into(),
        began: registered()
            .into_iter()
            .map(|shared| {
                shared.sample();
                let now = shared.now();
                (shared, now)
            })
            .collect(),
    }
}

/// Samples memory on a thread of its own until it is dropped.
#[derive(Debug)]
pub struct Monitor {
    shared: Arc<MonitorState>,
    /// Dropping the sender ends the thread at once.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts sampling. If no thread can be started, samples are taken only where phases start and end.
    pub fn start() -> Self {
        configure_malloc();
        let cgroup = Cgroup::of_process();
        // All pages are written once, so that the log's own memory does not grow with the samples.
        let mut samples = vec![Sample::default(); MAX_SAMPLES];
        samples.clear();
        let log = Log {
            samples,
            limit: cgroup.as_ref().map_or(0, |cgroup| cgroup.limit),
            ..Log::default()
        };
        let shared = Arc::new(MonitorState {
            began: Instant::now(),
            log: Mutex::new(log),
            vram: AtomicU64::new(0),
            vram_reserved: AtomicU64::new(0),
            free_memory: AtomicU64::new(u64::MAX),
            cgroup,
        });
        shared.sample();
        let (end, ended) = mpsc::channel();
        let sampled = shared.clone();
        let run = move || {
            let mut interval = INTERVAL;
            let mut system_read: Option<Instant> = None;
            loop {
                if system_read.is_none_or(|last| last.elapsed() >= SYSTEM_INTERVAL) {
                    sampled.free_memory.store(free_memory(), Ordering::Relaxed);
                    system_read = Some(Instant::now());
                }
                if ended.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                sampled.sample();
                let mut log = sampled.log();
                if log.samples.len() >= MAX_SAMPLES {
                    log.thin();
                    interval *= 2;
                }
            }
        };
        let thread = thread::Builder::new()
            .name("topicbook memory".into())
            .spawn(run)
            .ok();
        Self {
            shared,
            end: Some(end),
            thread,
        }
    }

    /// Registers the monitor, so that [`phase`] marks its phases in it.
    pub fn register(&self) {
        let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
        registry.push(Arc::downgrade(&self.shared));
    }

    pub fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    /// Takes a sample and returns the log so far.
    pub fn log(&self) -> Log {
        self.shared.sample();
        self.shared.log().clone()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read_bytes() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    field(&io, "read_bytes:").unwrap_or(0)
}

fn major_faults() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for the call, and a zeroed rusage is a valid value.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    u64::try_from(usage.ru_majflt).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_contains_an_allocation_within_a_phase() {
        const ALLOCATED: usize = 64 << 20;
        // How much the peak grows by an allocation in a phase.
        let growth = || {
            let monitor = Monitor::start();
            let before = monitor.log().peak.anonymous;
            let phase = monitor.handle().phase("allocating");
            let values = std::hint::black_box(vec![1u8; ALLOCATED]);
            drop(phase);
            drop(values);
            let log = monitor.log();
            assert_eq!(log.spans[0].name, "allocating");
            assert!(log.spans[0].from <= log.spans[0].to);
            log.peak.anonymous - before
        };
        // Tests of the same process free memory at the same time, which hides the growth of one attempt.
        let expected = ALLOCATED as u64 / 10 * 9;
        let mut attempts = Vec::new();
        while attempts.iter().all(|grown| *grown < expected) {
            assert!(attempts.len() < 10, "{attempts:?}");
            attempts.push(growth());
        }
    }

    #[test]
    fn numbers_do_not_change_the_kind_of_a_phase() {
        let kinds = [
            ("epochs 1–9", "epoch"),
            ("epoch 3", "epoch"),
            ("checkpoint", "checkpoint"),
            ("passes", "passes"),
        ];
        for (name, kind) in kinds {
            assert_eq!(kind_of_phase(name), kind);
        }
    }

    #[test]
    fn thinning_keeps_peaks_and_ends() {
        let mut log = Log::default();
        for index in 0..1001u64 {
            log.push(Sample {
                seconds: index as f64,
                process: ProcessMemory {
                    anonymous: if index == 500 { 9_000 } else { index },
                    file_backed: 0,
                },
                ..Sample::default()
            });
        }
        log.thin();
        assert!((500..=503).contains(&log.samples.len()));
        let ends = [
            log.samples[0].seconds,
            log.samples[log.samples.len() - 1].seconds,
        ];
        assert_eq!(ends, [0.0, 1000.0]);
        let highest = log
            .samples
            .iter()
            .map(|sample| sample.process.anonymous)
            .max();
        assert_eq!((highest, log.peak.anonymous), (Some(9_000), 9_000));
        assert!(log.samples.is_sorted_by(|a, b| a.seconds < b.seconds));
    }
}
