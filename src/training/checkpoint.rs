//! Writes checkpoints: the state of a fit in a file at intervals, so that an interrupted fit can be resumed.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::data::{Epoch, FileKind, table_bytes, tensor_file};
use crate::error::{Error, Result};
use crate::system::memory::Handle;
use crate::system::{DISK_FULL_REMEDY, print_lines, remove_stale, write_atomic_sized};

use super::checkpoint_files::CheckpointFiles;
use super::observer::{FitStart, Observer, StepContext};
use super::position::Position;
use super::state::RunningState;

/// Writing checkpoints takes at most 1 / `TIME_DIVISOR` of a fit's time.
const TIME_DIVISOR: u32 = 50;
/// Shortest time between two checkpoints, to spare the disk.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Assumed write speed in bytes per second until the first checkpoint has been timed: a slow disk's.
const ASSUMED_WRITE_SPEED: f64 = 1e8;

/// Whether the next checkpoint is due `since` after the last one (or the start), whose writing took `write_time`.
fn is_due(since: Duration, write_time: Duration) -> bool {
    since >= MIN_INTERVAL.max(write_time * (TIME_DIVISOR - 1))
}

/// The checkpoint files that exist when the next checkpoint is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExistingFile {
    /// None, or the files of another fit, which are replaced.
    None,
    /// The newest checkpoint of this fit is damaged or missing: the previous one is kept.
    Previous,
    /// Checkpoints of this fit: the newest is renamed to the previous one.
    Own,
}

/// What checkpoints hold besides the tables of a running state.
pub(crate) trait Contents: Sync {
    fn kind(&self) -> &'static FileKind;

    /// What says to which training the tables belong.
    fn metadata(
        &self,
        position: Position,
        history: &[Epoch],
        state: &RunningState,
    ) -> serde_json::Result<serde_json::Value>;
}

/// An observer that writes the checkpoints of one fit.
pub(crate) struct CheckpointWriter<'a> {
    contents: &'a dyn Contents,
    files: &'a CheckpointFiles,
    memory: Handle,
    existing: ExistingFile,
    /// The (epoch, batches) of the newest file, if this fit wrote it.
    newest: Option<(usize, usize)>,
    last_write: Instant,
    /// The time that the last write took.
    write_time: Duration,
    /// The first failure, in a sentence.
    failure: Option<String>,
    /// Whether the writer prints a failure itself, because nothing else shows notes.
    prints: bool,
}

impl<'a> CheckpointWriter<'a> {
    /// A writer of checkpoints of `bytes` bytes. `start`: the files that exist, and the position in the newest of them. `prints`:
    /// whether nothing else shows that a checkpoint could not be written.
    pub(crate) fn new(
        (contents, bytes): (&'a dyn Contents, u64),
        files: &'a CheckpointFiles,
        memory: Handle,
        (existing, position): (ExistingFile, Position),
        prints: bool,
    ) -> Self {
        Self {
            contents,
            files,
            memory,
            existing,
            newest: (existing == ExistingFile::Own).then_some((position.epoch, position.batches)),
            last_write: Instant::now(),
            write_time: Duration::from_secs_f64(bytes as f64 / ASSUMED_WRITE_SPEED),
            failure: None,
            prints,
        }
    }

    /// Why the first checkpoint that failed could not be written; `None` if all were written.
    pub(crate) fn into_failure(self) -> Option<String> {
        self.failure
    }

    fn write_checkpoint(&mut self, context: &mut StepContext) {
        let _phase = self.memory.phase("checkpoint");
        let cursor = context.cursor();
        let began = Instant::now();
        let outcome = self.write(context);
        self.write_time = began.elapsed();
        self.last_write = Instant::now();
        match outcome {
            Ok(()) => {
                self.newest = Some(cursor);
                self.existing = ExistingFile::Own;
            }
            Err(error) if self.failure.is_none() => {
                let line = self.describe(context.done, &error);
                if self.prints {
                    print_lines(&line);
                }
                self.failure = Some(line.clone());
                context.note(line);
            }
            // Only the first failure is reported.
            Err(_) => {}
        }
    }

    fn describe(&self, done: f64, error: &Error) -> String {
        format!(
            "writing a checkpoint after {done:.1} epochs failed: {}; the fit continues{}",
            error.headline(),
            match self.newest {
                Some(_) => " and the previous checkpoint is kept",
                None => "",
            }
        )
    }

    fn write(&self, context: &mut StepContext) -> Result<()> {
        let history = context.history.to_vec();
        let (position, state) = context.snapshot()?;
        let metadata = self
            .contents
            .metadata(position, &history, &state)
            .map_err(|error| Error::format(&self.files.newest, error))?;
        let tables = &state.tables();
        let (newest, previous) = (&*self.files.newest, &*self.files.previous);
        let failed = |error| Error::io("write", newest, error);
        write_atomic_sized(newest, table_bytes(tables), DISK_FULL_REMEDY, |out| {
            tensor_file::write(out, newest, self.contents.kind(), &metadata, tables)?;
            // fdatasync before the older file is renamed or removed, so that a power failure leaves one complete
            // checkpoint.
            out.flush()
                .and_then(|()| out.get_ref().sync_data())
                .map_err(failed)?;
            let replaced = match self.existing {
                ExistingFile::Own => fs::rename(newest, previous),
                ExistingFile::Previous => Ok(()),
                // Otherwise resuming this fit could fall back to a checkpoint of another fit.
                ExistingFile::None => fs::remove_file(previous),
            };
            match replaced {
                // Another process may have removed the older file.
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            }
        })
    }
}

impl Observer for CheckpointWriter<'_> {
    fn started(&mut self, _start: &FitStart) {
        remove_stale(&self.files.newest);
        self.last_write = Instant::now();
    }

    fn batch_finished(&mut self, context: &mut StepContext) -> ControlFlow<()> {
        if is_due(self.last_write.elapsed(), self.write_time) {
            self.write_checkpoint(context);
        }
        ControlFlow::Continue(())
    }

    fn finished(&mut self, context: &mut StepContext) {
        if self.newest != Some(context.cursor()) {
            self.write_checkpoint(context);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_takes_at_most_a_fiftieth() {
        let second = Duration::from_secs(1);
        assert!(!is_due(second * 48, second) && is_due(second * 49, second));
        assert!(!is_due(second / 2, Duration::ZERO) && is_due(second, Duration::ZERO));
        // Writes of varying duration. The latest write is not yet followed by its interval.
        let (mut now, mut total, mut write_time, mut last_write) = (0u64, 0u64, 100u64, 0u64);
        for step in 0..2_000_000u64 {
            now += 1;
            let ms = Duration::from_millis;
            if is_due(ms(now - last_write), ms(write_time)) {
                write_time = 20 + step % 300;
                now += write_time;
                total += write_time;
                last_write = now;
            }
        }
        let latest = write_time;
        assert!((total - latest) as f64 <= 0.02 * now as f64);
        assert!(
            total as f64 > 0.01 * now as f64,
            "checkpoints are not written too rarely"
        );
    }
}
