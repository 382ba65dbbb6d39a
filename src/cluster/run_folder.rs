//! The folder of a run, and the files in it.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::system::write_atomic;

/// Runs of this process, which number their folders.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// The folder of a run, which is the user's alone.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    /// Whether this process has made the folder, and removes it.
    owned: bool,
}

impl RunFolder {
    /// Makes a folder in `parent`. It is removed with everything in it when this value is dropped.
    pub(crate) fn create(parent: &Path) -> Result<Self> {
        let parent = std::path::absolute(parent).map_err(|e| Error::io("find", parent, e))?;
        loop {
            let run = RUNS.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("topicbook-run-{}-{run}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path, owned: true }),
                // Left by a process that had the same number.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &path, error)),
            }
        }
    }

    /// The folder of a rank's run.
    #[cfg(any(test, feature = "cluster-worker"))]
    pub(crate) fn open(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            owned: false,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// [`Job`](super::Job), as JSON.
    pub(crate) fn job(&self) -> PathBuf {
        self.path.join("job.json")
    }

    /// The documents' lengths: f64.
    pub(crate) fn lengths(&self) -> PathBuf {
        self.path.join("lengths.f64")
    }

    /// L in tokens (documents x topics) and F in probabilities (terms x topics) after so many passes: f32.
    pub(crate) fn tables(&self, passes: usize) -> [PathBuf; 2] {
        ["l", "f"].map(|table| self.path.join(format!("{table}-{passes}.f32")))
    }

    /// [`State`](super::state::State) of the last tables that are complete, as JSON.
    pub(crate) fn state(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// [`Event`](super::Event)s of an attempt, one a line.
    pub(crate) fn events(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// What the launcher and the ranks print.
    pub(crate) fn output(&self) -> PathBuf {
        self.path.join("output.txt")
    }

    /// It exists when the ranks are to stop after the present pass.
    pub(crate) fn stop(&self) -> PathBuf {
        self.path.join("stop")
    }

    /// A rank's sign of life.
    pub(crate) fn alive(&self, rank: usize) -> PathBuf {
        self.path.join(format!("alive-{rank}"))
    }

    /// [`Ended`](super::Ended), as JSON.
    pub(crate) fn ended(&self, rank: usize) -> PathBuf {
        self.path.join(format!("ended-{rank}.json"))
    }

    /// Removes what an attempt has left that the next one does not go on from.
    pub(crate) fn clear_attempt(&self, ranks: usize) -> Result<()> {
        let files = (0..ranks).flat_map(|rank| [self.alive(rank), self.ended(rank)]);
        for file in files.chain([self.events(), self.output()]) {
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

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.owned {
            // What cannot be removed is the user's to remove; the fit's result is in memory.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Writes a value as JSON; readers see the whole of it or nothing.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_atomic(path, |out| {
        serde_json::to_writer(out, value).map_err(|error| Error::io("write", path, error.into()))
    })
}

/// Reads a value that [`write_json`] has written.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
    serde_json::from_str(&text)
        .map_err(|error| Error::format(path, error).fix("fit again: the file was changed"))
}
