//! What was found about files of texts while they were read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::text::{counted, shown_path};

/// Files for each thing that was found, such as an encoding. Shared by the copies of texts; each pass finds the same.
#[derive(Clone, Default)]
pub(super) struct Remarks(Arc<Mutex<BTreeMap<String, BTreeSet<PathBuf>>>>);

impl Remarks {
    pub(super) fn add(&self, path: &Path, found: &[String]) {
        for what in found {
            self.found()
                .entry(what.clone())
                .or_default()
                .insert(path.into());
        }
    }

    fn found(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<PathBuf>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, files) in self.found().iter() {
            match files.iter().next() {
                Some(first) if files.len() > 1 => {
                    let files = counted(files.len(), "file");
                    write!(f, "; {what} ({files}, the first {})", shown_path(first))?;
                }
                _ => write!(f, "; {what}")?,
            }
        }
        Ok(())
    }
}
