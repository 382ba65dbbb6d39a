//! The folder of a run, and the files in it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::StateValues;
use crate::error::{Error, Result};
use crate::system::{check_space, write_atomic};
use crate::text::shown_path;

use super::process::host;

/// Prefix of the name of a run's folder.
const PREFIX: &str = "topicbook-run-";

/// The remedy for a full disk of a run.
pub(super) const FULL_REMEDY: &str =
    "free some space, or name a folder on another disk that all ranks see: Cluster::folder";
/// How long a thread of this process may take to leave a run.
const LEAVING: Duration = Duration::from_secs(2);
/// The file that a folder has when its run was started.
const STARTED: &str = "started.json";

/// Number of runs that this process has created, which numbers their folders.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// The folder of a run, which only the user can access.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// A file that is locked while this process follows the run.
    _lock: Option<File>,
    /// Whether dropping this value removes the folder.
    removed: bool,
    /// Whether this process has to stop following the run, which continues.
    left: AtomicBool,
}

impl RunFolder {
    /// Creates a folder in `parent` for a run that this process follows.
    ///
    /// # Errors
    /// When the disk has too little space for the files of a run with `shape` documents and terms.
    pub fn create(
        parent: &Path,
        shape: (usize, usize),
        topics: usize,
        state: StateValues,
    ) -> Result<Self> {
        let needed = Self::bytes(shape, topics, state);
        check_space(&parent.join("topicbook-run"), needed, FULL_REMEDY)?;
        let parent = std::path::absolute(parent).map_err(|e| Error::io("find", parent, e))?;
        loop {
            let run = RUNS.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{run}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let mut folder = Self::follow(path)?;
                    folder.removed = true;
                    return Ok(folder);
                }
                // The folder was left by a process that had the same number.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &path, error)),
            }
        }
    }

    /// Upper bound of the bytes of a run's files: L and F with the optimizer's state, twice, and the documents' lengths.
    pub fn bytes((documents, terms): (usize, usize), topics: usize, state: StateValues) -> u64 {
        let (documents, terms, topics) = (documents as u64, terms as u64, topics as u64);
        let values = (1 + state.l as u64) * documents + (1 + state.f as u64) * terms;
        2 * 4 * topics * values + 8 * documents
    }

    /// The folder of a rank's run.
    pub fn open(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            _lock: None,
            removed: false,
            left: AtomicBool::new(false),
        }
    }

    /// The folder of a run that a process has left: `folder` itself, or the one folder in it that no process follows.
    pub fn find(folder: &Path) -> Result<Self> {
        let named = shown_path(folder);
        let folder = std::path::absolute(folder).map_err(|e| Error::io("find", folder, e))?;
        let is_run = |path: &Path| path.join(STARTED).is_file();
        if is_run(&folder) {
            return Self::follow(folder);
        }
        let entries = fs::read_dir(&folder).map_err(|e| Error::io("read", &folder, e))?;
        let paths = entries.flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> = paths.filter(|path| is_run(path)).collect();
        paths.sort();
        let runs = paths.iter().map(|path| Self::follow(path.clone()));
        let (mut left, mut followed) = (Vec::new(), Vec::new());
        for run in runs {
            match run {
                Ok(run) => left.push(run),
                Err(error) => followed.push(error),
            }
        }
        match (left.pop(), left.is_empty(), followed.pop()) {
            (Some(run), true, _) => Ok(run),
            (None, _, Some(error)) => Err(error),
            (None, _, None) => Err(Error::cluster(format!("no run of a cluster in {named}"))
                .fix(
                "name the folder that Cluster::folder had; a run whose fit was joined is removed",
            )),
            (Some(_), ..) => {
                let shown: Vec<_> = paths.iter().map(|path| shown_path(path)).collect();
                Err(Error::cluster(format!("{} runs in {named}", paths.len()))
                    .at(shown.join(", "))
                .fix("name the folder of one of them"))
            }
        }
    }

    /// The folder of a run that no other process follows; this process follows it from now on.
    fn follow(path: PathBuf) -> Result<Self> {
        let file = path.join("followed");
        let failed = |error| Error::io("lock", &file, error);
        let mut lock = OpenOptions::new();
        let lock = lock.read(true).write(true).create(true).truncate(false);
        let mut lock = lock.open(&file).map_err(failed)?;
        let by = format!("process {} on {}", std::process::id(), host());
        let asked = Instant::now();
        while let Err(TryLockError::WouldBlock) = lock.try_lock() {
            let other = fs::read_to_string(&file).unwrap_or_default();
            // A thread of this process may be about to leave the run.
            if other == by && asked.elapsed() < LEAVING {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            return Err(Error::cluster(format!(
                "{other} follows the run in {}",
                shown_path(&path)
            ))
            .fix("join the fit there, or end that process"));
        }
        // Some shared file systems have no locks. There, nothing prevents two processes from following a run.
        lock.set_len(0).map_err(failed)?;
        lock.write_all(by.as_bytes()).map_err(failed)?;
        Ok(Self {
            path,
            _lock: Some(lock),
            removed: false,
            left: AtomicBool::new(false),
        })
    }

    /// Makes this process stop following the run, which continues.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    pub fn is_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// [`Job`](super::Job), as JSON.
    pub fn job(&self) -> PathBuf {
        self.path.join("job.json")
    }

    /// [`Started`](super::Started), as JSON.
    pub fn started(&self) -> PathBuf {
        self.path.join(STARTED)
    }

    /// The launcher's [`Process`](super::process::Process), as JSON.
    pub fn launcher(&self) -> PathBuf {
        self.path.join("launcher.json")
    }

    /// The hosts that are left, if some were lost.
    pub fn hosts(&self) -> PathBuf {
        self.path.join("hosts")
    }

    /// The documents' lengths: f64.
    pub fn lengths(&self) -> PathBuf {
        self.path.join("lengths.f64")
    }

    /// L in tokens (documents x topics) and F in probabilities (terms x topics) after `passes` passes: f32. With gradient
    /// steps the logits of both, each followed by the tables of the optimizer's state.
    pub fn tables(&self, passes: usize) -> [PathBuf; 2] {
        ["l", "f"].map(|table| self.path.join(format!("{table}-{passes}.f32")))
    }

    /// [`State`](super::state::State) of the last tables that are complete, as JSON.
    pub fn state(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// [`Event`](super::Event)s, one a line.
    pub fn events(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// What the launcher and the ranks print.
    pub fn output(&self) -> PathBuf {
        self.path.join("output.txt")
    }

    /// It exists when the ranks have to stop after the current pass.
    pub fn stop(&self) -> PathBuf {
        self.path.join("stop")
    }

    /// A rank's sign of life.
    pub fn alive(&self, rank: usize) -> PathBuf {
        self.path.join(format!("alive-{rank}"))
    }

    /// [`Ended`](super::Ended), as JSON.
    pub fn ended(&self, rank: usize) -> PathBuf {
        self.path.join(format!("ended-{rank}.json"))
    }

    /// Removes the files of an attempt that the next one does not resume from: signs of life, ends of ranks, and an incomplete
    /// event.
    pub fn clear_attempt(&self, ranks: usize) -> Result<()> {
        let events = self.events();
        if let Ok(bytes) = fs::read(&events) {
            let complete = bytes.iter().rposition(|byte| *byte == b'\n');
            let complete = complete.map_or(0, |last| last as u64 + 1);
            let file = OpenOptions::new().write(true).open(&events);
            file.and_then(|file| file.set_len(complete))
                .map_err(|error| Error::io("write", &events, error))?;
        }
        let files = (0..ranks).flat_map(|rank| [self.alive(rank), self.ended(rank)]);
        for file in files.chain([self.output()]) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &file, error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl RunFolder {
    /// Removes the folder with everything in it.
    pub fn remove(&self) {
        // The user can remove what is left; the fit's result is in memory.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.removed {
            self.remove();
        }
    }
}

/// Writes a value as JSON, atomically for readers.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_atomic(path, |out| {
        serde_json::to_writer(out, value).map_err(|error| Error::io("write", path, error.into()))
    })
}

/// Reads a value that [`write_json`] has written.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
    serde_json::from_str(&text)
        .map_err(|error| Error::format(path, error).fix("fit again: the file was changed"))
}
