//! A kernel starts even if the library must be built first; its first cell waits and shows the progress of the build.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Instant;

use crate::kernel_folder;
use crate::outputs::Outputs;

/// The published build of the library that this kernel links to.
pub struct Library {
    file: PathBuf,
    log: PathBuf,
}

impl Library {
    pub fn of_this_kernel() -> Self {
        let folder = kernel_folder();
        Self {
            file: folder.join("build").join("libtopicbook_dylib.so"),
            log: folder.join("build.log"),
        }
    }

    pub fn is_ready(&self) -> bool {
        self.file.exists()
    }

    /// An error if the process that builds the library has ended without it: it holds a lock until it ends.
    pub fn still_builds(&self) -> Result<(), String> {
        let ended = File::open(&self.log).is_ok_and(|log| log.try_lock().is_ok());
        match ended && !self.is_ready() {
            false => Ok(()),
            true => Err(format!(
                "the library could not be built, or its sources have changed meanwhile; restart the kernel\n{}",
                fs::read_to_string(&self.log).unwrap_or_default()
            )),
        }
    }
}

/// Shows the progress of the build, at growing intervals.
pub struct Progress {
    began: Instant,
    pause: u64,
    next: u64,
}

impl Progress {
    pub fn begin(outputs: &Outputs) -> Self {
        outputs.print(
            "topicbook or Rust has changed, so the library is built first. This takes about 20 minutes the first time, and \
             about one minute later.",
        );
        Self {
            began: Instant::now(),
            pause: 2,
            next: 2,
        }
    }

    pub fn show(&mut self, outputs: &Outputs, library: &Library) {
        let seconds = self.began.elapsed().as_secs();
        if seconds < self.next {
            return;
        }
        self.pause = (2 * self.pause).min(120);
        self.next += self.pause;
        let text = fs::read_to_string(&library.log).unwrap_or_default();
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| {
                line.trim_start()
                    .strip_prefix("Compiling ")?
                    .split(' ')
                    .next()
            })
            .collect();
        let now = names
            .last()
            .map(|name| format!(", now {name}"))
            .unwrap_or_default();
        outputs.print(&format!(
            "{:>3} min {:02} s {:>5} crates{now}",
            seconds / 60,
            seconds % 60,
            names.len()
        ));
    }

    pub fn end(self, outputs: &Outputs) {
        outputs.print(&format!(
            "topicbook is built; this took {} s.",
            self.began.elapsed().as_secs()
        ));
    }
}
