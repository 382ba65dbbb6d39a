//! Results of the self-checks of GPUs: in this process, and in a file for each driver, GPU and build.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

use super::atomic_file::write_atomic;
use super::regular_file::read_whole;

/// The folder of the results, in the cache folder.
const FOLDER: &str = "self-check";

/// The result of a GPU's self-check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfCheck {
    /// What differs from the CPU, in a clause; `None` if the GPU has passed.
    pub difference: Option<String>,
    /// The file that keeps the result for later processes; `None` if it could not be written.
    pub file: Option<PathBuf>,
}

/// The subject of a result. With another driver, GPU or build the GPU is checked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Versions of the driver, of the CUDA that it supports, and of NVRTC.
    pub driver: String,
    /// Name and UUID.
    pub gpu: String,
    /// The crate's version, and a checksum of the sources of its kernels.
    pub build: String,
}

/// The contents of a file.
#[derive(Serialize, Deserialize)]
struct Kept {
    subject: Subject,
    passed: bool,
    difference: Option<String>,
}

/// The results that this process has computed or read, by GPU.
static RESULTS: Mutex<BTreeMap<usize, SelfCheck>> = Mutex::new(BTreeMap::new());

fn results() -> MutexGuard<'static, BTreeMap<usize, SelfCheck>> {
    RESULTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SelfCheck {
    /// The result for a GPU that this process has remembered.
    pub fn known(gpu: usize) -> Option<Self> {
        results().get(&gpu).cloned()
    }

    /// Remembers this as the result for a GPU, as long as the process runs.
    pub fn remember(self, gpu: usize) {
        results().insert(gpu, self);
    }

    /// The result that an earlier process has kept in the cache folder. `None` for a file that cannot be read, or that holds
    /// the result of another subject.
    pub fn read(subject: &Subject, cache: &Path) -> Option<Self> {
        /// The text, and the value parsed from it.
        const COPIES: u64 = 2;
        let file = subject.file(cache);
        let bytes = read_whole(&file, COPIES).ok()?;
        let kept: Kept = serde_json::from_slice(&bytes).ok()?;
        let is_ours = kept.subject == *subject && kept.passed == kept.difference.is_none();
        is_ours.then_some(Self {
            difference: kept.difference,
            file: Some(file),
        })
    }

    /// Keeps a result in the cache folder, for [`read`](Self::read).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(difference: Option<String>, subject: &Subject, cache: &Path) -> Result<PathBuf> {
        let (folder, file) = (cache.join(FOLDER), subject.file(cache));
        fs::create_dir_all(&folder).map_err(|source| Error::io("create", &folder, source))?;
        let kept = Kept {
            subject: subject.clone(),
            passed: difference.is_none(),
            difference,
        };
        write_atomic(&file, |out| {
            serde_json::to_writer_pretty(&mut *out, &kept)
                .map_err(std::io::Error::from)
                .and_then(|()| writeln!(out))
                .map_err(|source| Error::io("write", &file, source))
        })?;
        Ok(file)
    }
}

impl Subject {
    /// The file of this subject's result.
    fn file(&self, cache: &Path) -> PathBuf {
        let text = [&*self.driver, &*self.gpu, &*self.build].join("\n");
        let name = format!("{:08x}.json", crc32fast::hash(text.as_bytes()));
        cache.join(FOLDER).join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            driver: "570.86.10, CUDA 12.8, NVRTC 12.8".into(),
            gpu: "a GPU, 00".into(),
            build: "0.1.0, kernels 00000000".into(),
        }
    }

    #[test]
    fn a_result_is_kept_for_its_driver_gpu_and_build() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("not yet there");
        let mut others = [subject(), subject(), subject()];
        others[0].driver.push('1');
        others[1].gpu.push('1');
        others[2].build.push('1');
        for difference in [None, Some("the loss is 0".to_string())] {
            let file = SelfCheck::write(difference.clone(), &subject(), &cache).unwrap();
            let file = Some(file);
            let kept = SelfCheck { difference, file };
            assert_eq!(SelfCheck::read(&subject(), &cache), Some(kept));
            for other in &others {
                assert_eq!(SelfCheck::read(other, &cache), None, "{other:?}");
            }
        }
    }

    #[test]
    fn a_file_of_something_else_is_no_result() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path();
        let file = SelfCheck::write(None, &subject(), cache).unwrap();
        let mut other = subject();
        other.driver.push('1');
        // The result of another subject whose checksum is the same.
        let foreign = SelfCheck::write(None, &other, cache).unwrap();
        fs::rename(foreign, &file).unwrap();
        assert_eq!(SelfCheck::read(&subject(), cache), None);
        for text in ["", "{}", "[1, 2", "{\"difference\": null}"] {
            fs::write(&file, text).unwrap();
            assert_eq!(SelfCheck::read(&subject(), cache), None, "{text}");
        }
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_an_error_of_the_write_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("file");
        fs::write(&cache, "").unwrap();
        let error = SelfCheck::write(None, &subject(), &cache).unwrap_err();
        assert!(error.to_string().contains("self-check"), "{error}");
        assert_eq!(SelfCheck::read(&subject(), &cache), None);
    }
}
