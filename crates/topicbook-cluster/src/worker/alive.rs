//! A rank's sign of life: a small file that it writes twice a second.

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::process::host;
use crate::run_folder::RunFolder;
use crate::watch::WAITING;

const INTERVAL: Duration = Duration::from_millis(500);

/// What a rank is doing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    Starting,
    Checking,
    Working,
    Waiting,
    Writing,
}

impl Phase {
    const ALL: [Self; 5] = [
        Self::Starting,
        Self::Checking,
        Self::Working,
        Self::Waiting,
        Self::Writing,
    ];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starting => "starting",
            Self::Checking => "checking",
            Self::Working => "working",
            Self::Waiting => WAITING,
            Self::Writing => "writing",
        })
    }
}

#[derive(Default)]
struct Shared {
    phase: AtomicU8,
    blocks: AtomicU64,
    ended: AtomicBool,
}

/// Shows that a rank is alive, until it is dropped.
pub(super) struct Alive {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Alive {
    pub(super) fn start(folder: &RunFolder, rank: usize) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (path, seen) = (folder.alive(rank), shared.clone());
        let (host, process) = (host(), std::process::id());
        let work = move || {
            for tick in 0u64.. {
                let phase = seen.phase.load(Ordering::Relaxed);
                let phase = Phase::ALL[usize::from(phase)];
                let blocks = seen.blocks.load(Ordering::Relaxed);
                // A sign that cannot be written is missing, which the notebook notices.
                let _ = fs::write(&path, format!("{host} {process} {tick} {phase} {blocks}\n"));
                if seen.ended.load(Ordering::Relaxed) {
                    return;
                }
                thread::park_timeout(INTERVAL);
            }
        };
        let thread = thread::Builder::new()
            .name("topicbook alive".into())
            .spawn(work)
            .map_err(|error| {
                Error::space(format!("cannot start a thread: {error}"))
                    .fix("raise the limit on threads of the ranks")
                    .because(error)
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    pub(super) fn phase(&self, phase: Phase) {
        self.shared.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Called when a block of documents was read, or a message was sent or received.
    pub(super) fn block(&self) {
        self.shared.blocks.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic.
            let _ = thread.join();
        }
    }
}
