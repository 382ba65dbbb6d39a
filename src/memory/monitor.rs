//! A thread that looks at the process's memory every now and then, and what it saw.

use std::fs;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::allocator::keep_nothing_unused;
use super::cgroup::Group;
use super::{ProcessMemory, field, free_memory, process_memory};

/// Between two samples at first.
const EVERY: Duration = Duration::from_millis(10);
/// So many samples are kept: then every second one goes, and the next ones come half as often.
const KEPT: usize = 1024;
/// Two phases that follow each other share a sample. Seconds.
const JUST_NOW: f64 = 0.001;
/// Looking at the whole system costs more than looking at the process.
const SYSTEM_EVERY: Duration = Duration::from_secs(1);

/// One look.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Since the monitor began.
    pub(crate) seconds: f64,
    #[serde(flatten)]
    pub(crate) process: ProcessMemory,
    /// Bytes that reached this process from the disk, since it began.
    pub(crate) read: u64,
    /// Page faults that waited for the disk, since the process began.
    pub(crate) waits: u64,
    /// On the card: in use, and held by the allocator; 0 without one.
    pub(crate) vram: u64,
    pub(crate) vram_reserved: u64,
    /// In use in the control group, page cache included; 0 without a limit.
    #[serde(default)]
    pub(crate) group: u64,
}

/// Something that happened between two moments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// What a monitor has seen so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Log {
    pub(crate) samples: Vec<Sample>,
    pub(crate) spans: Vec<Span>,
    /// The highest of all samples, also of those that were not kept.
    pub(crate) peak: Peak,
    /// The limit of the control group that the process ran in, in bytes; 0 without one.
    #[serde(default)]
    pub(crate) limit: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peak {
    pub(crate) anonymous: u64,
    pub(crate) file_backed: u64,
    pub(crate) vram: u64,
    pub(crate) vram_reserved: u64,
    #[serde(default)]
    pub(crate) group: u64,
}

impl Log {
    fn take(&mut self, sample: Sample) {
        let peak = &mut self.peak;
        peak.anonymous = peak.anonymous.max(sample.process.anonymous);
        peak.file_backed = peak.file_backed.max(sample.process.file_backed);
        peak.vram = peak.vram.max(sample.vram);
        peak.vram_reserved = peak.vram_reserved.max(sample.vram_reserved);
        peak.group = peak.group.max(sample.group);
        self.samples.push(sample);
    }

    /// Keeps of every two neighbours the higher one, and both ends.
    pub(super) fn thin(&mut self) {
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

/// What the monitor's thread, the fit's thread and those who ask share.
#[derive(Debug)]
struct Shared {
    began: Instant,
    log: Mutex<Log>,
    vram: AtomicU64,
    vram_reserved: AtomicU64,
    /// What the machine, or the control group, had free at the last look around.
    free: AtomicU64,
    /// The control group whose limit is the tightest.
    group: Option<Group>,
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn look(&self) {
        let (read, waits) = (bytes_read(), major_faults());
        let sample = Sample {
            seconds: self.now(),
            process: process_memory(),
            read,
            waits,
            vram: self.vram.load(Ordering::Relaxed),
            vram_reserved: self.vram_reserved.load(Ordering::Relaxed),
            group: self.group.as_ref().map_or(0, Group::used),
        };
        self.log().take(sample);
    }

    /// A look, unless one was taken a moment ago.
    fn look_again(&self) {
        let last = self.log().samples.last().map(|sample| sample.seconds);
        if last.is_none_or(|last| self.now() - last > JUST_NOW) {
            self.look();
        }
    }
}

/// Marks phases in a monitor from other places; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Handle(Arc<Shared>);

impl Handle {
    /// Begins a phase, which ends when the guard goes. Takes a sample at both ends.
    pub(crate) fn phase(&self, name: impl Into<String>) -> Phase {
        self.0.look_again();
        Phase {
            name: name.into(),
            began: vec![(self.0.clone(), self.0.now())],
        }
    }

    /// A look at once, where the most is held only for a moment.
    pub(crate) fn look(&self) {
        self.0.look();
    }

    /// What the card's allocator says, from the thread that uses it.
    pub(crate) fn set_vram(&self, in_use: u64, reserved: u64) {
        self.0.vram.store(in_use, Ordering::Relaxed);
        self.0.vram_reserved.store(reserved, Ordering::Relaxed);
        self.0.look();
    }

    /// What the machine had free when the monitor last looked.
    pub(crate) fn free(&self) -> u64 {
        self.0.free.load(Ordering::Relaxed)
    }
}

/// A phase that goes on.
#[derive(Debug)]
pub(crate) struct Phase {
    name: String,
    began: Vec<(Arc<Shared>, f64)>,
}

impl Drop for Phase {
    fn drop(&mut self) {
        for (shared, from) in &self.began {
            shared.look_again();
            let span = Span {
                name: self.name.clone(),
                from: *from,
                to: shared.now(),
            };
            shared.log().spans.push(span);
        }
    }
}

/// Monitors that want to know what the library does: those of users' scopes.
static LISTENING: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// A phase of the library's work, for every scope that is open.
pub(crate) fn phase(name: &str) -> Phase {
    // What marks itself as a phase may make large tables.
    keep_nothing_unused();
    let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
    listening.retain(|shared| shared.strong_count() > 0);
    let open: Vec<Arc<Shared>> = listening.iter().filter_map(Weak::upgrade).collect();
    drop(listening);
    Phase {
        name: name.into(),
        began: open
            .into_iter()
            .map(|shared| {
                shared.look();
                let now = shared.now();
                (shared, now)
            })
            .collect(),
    }
}

/// Watches until it is dropped.
#[derive(Debug)]
pub(crate) struct Monitor {
    shared: Arc<Shared>,
    /// Dropped to end the thread at once.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Begins to watch. Where no thread can be started, only the phases' ends are seen.
    pub(crate) fn start() -> Self {
        keep_nothing_unused();
        let group = Group::of_process();
        // Written once, so that what is held does not grow with what is seen.
        let mut samples = vec![Sample::default(); KEPT];
        samples.clear();
        let log = Log {
            samples,
            limit: group.as_ref().map_or(0, |group| group.limit),
            ..Log::default()
        };
        let shared = Arc::new(Shared {
            began: Instant::now(),
            log: Mutex::new(log),
            vram: AtomicU64::new(0),
            vram_reserved: AtomicU64::new(0),
            free: AtomicU64::new(u64::MAX),
            group,
        });
        shared.look();
        let (end, ended) = mpsc::channel();
        let watched = shared.clone();
        let watch = move || {
            let mut every = EVERY;
            let mut system: Option<Instant> = None;
            loop {
                if system.is_none_or(|last| last.elapsed() >= SYSTEM_EVERY) {
                    watched.free.store(free_memory(), Ordering::Relaxed);
                    system = Some(Instant::now());
                }
                if ended.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                watched.look();
                let mut log = watched.log();
                if log.samples.len() >= KEPT {
                    log.thin();
                    every *= 2;
                }
            }
        };
        let thread = thread::Builder::new()
            .name("topicbook memory".into())
            .spawn(watch)
            .ok();
        Self {
            shared,
            end: Some(end),
            thread,
        }
    }

    /// Lets [`phase`] mark this monitor too.
    pub(crate) fn listen(&self) {
        let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        listening.push(Arc::downgrade(&self.shared));
    }

    pub(crate) fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    /// What has been seen up to now.
    pub(crate) fn log(&self) -> Log {
        self.shared.look();
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

fn bytes_read() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    field(&io, "read_bytes:").unwrap_or(0)
}

fn major_faults() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for the call, and a zeroed rusage is a valid one.
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
    fn what_is_taken_is_seen() {
        const TAKEN: usize = 64 << 20;
        let monitor = Monitor::start();
        let before = monitor.log().peak.anonymous;
        let taking = monitor.handle().phase("taking");
        let held = std::hint::black_box(vec![1u8; TAKEN]);
        drop(taking);
        drop(held);
        let log = monitor.log();
        let grown = log.peak.anonymous - before;
        // Other tests run beside this one.
        assert!(grown >= (TAKEN as u64) / 10 * 9, "{grown}");
        assert_eq!(log.spans[0].name, "taking");
        assert!(log.spans[0].from <= log.spans[0].to);
    }

    #[test]
    fn thinning_keeps_peaks_and_ends() {
        let mut log = Log::default();
        for index in 0..1001u64 {
            log.take(Sample {
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
