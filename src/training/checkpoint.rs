//! Checkpoints: the state of a fit, written to a file at intervals, so that an interrupted fit can be resumed.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::config::Settings;
use crate::counts::{Counts, Fingerprint};
use crate::data::Epoch;
use crate::data::{FileKind, Matrix, Terms, invalid_file, table_bytes, tensor_file};
use crate::error::{Error, ErrorKind, Result};
use crate::step::State;
use crate::system::memory::Handle;
use crate::system::{DISK_FULL_REMEDY, follow_links, remove_stale, write_atomic_sized};

use super::init::ResumeState;
use super::observer::{FitStart, Observer, StepContext};
use super::position::Position;

const CHECKPOINT: FileKind = FileKind {
    key: "topicbook-checkpoint",
    writer: "a fit with TopicModel::checkpoint",
};

/// Writing checkpoints takes at most 1 / `TIME_DIVISOR` of a fit's time.
const TIME_DIVISOR: u32 = 50;
/// Shortest time between two checkpoints, to spare the disk.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Assumed write speed in bytes per second, that of a slow disk, until the first checkpoint has been timed.
const ASSUMED_WRITE_SPEED: f64 = 1e8;

/// Whether the next checkpoint is due `since` after the last one (or the start), whose writing took `write_time`.
fn is_due(since: Duration, write_time: Duration) -> bool {
    since >= MIN_INTERVAL.max(write_time * (TIME_DIVISOR - 1))
}

impl Fingerprint {
    /// # Errors
    /// When `counts` are not the counts of the checkpoint.
    pub(crate) fn check(&self, counts: &Counts) -> Result<()> {
        let what = if (self.documents, self.terms) != counts.shape() {
            format!(
                "the checkpoint belongs to counts of {} documents × {} terms, but these are {} × {}",
                self.documents,
                self.terms,
                counts.documents(),
                counts.terms()
            )
        } else if *self != Self::of(counts)? {
            "the checkpoint belongs to other counts of the same shape".into()
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Shape, what)
            .fix("pass the counts of the interrupted fit: the same documents in the same order"))
    }
}

/// Everything in a checkpoint except the tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Metadata {
    version: String,
    pub(crate) settings: Settings,
    pub(crate) terms: Option<Vec<String>>,
    pub(crate) device: String,
    pub(crate) counts: Fingerprint,
    pub(crate) position: Position,
    pub(crate) history: Vec<Epoch>,
    steps: u64,
}

/// The logits of L and F.
const LOGITS: [&str; 2] = ["l", "f"];
/// The state that an optimizer keeps for L and for F, in one or two tables.
const L_STATE: [&str; 2] = ["l_state_1", "l_state_2"];
const F_STATE: [&str; 2] = ["f_state_1", "f_state_2"];

/// The path of the checkpoint before the newest: `path`, or what it links to, with `.previous` appended.
pub(crate) fn previous(path: &Path) -> PathBuf {
    let path = follow_links(path);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".previous");
    path.with_file_name(name)
}

/// Reads a checkpoint.
///
/// # Errors
/// When the file cannot be read, or its tables, settings and history do not match each other.
pub(crate) fn read(path: &Path) -> Result<(Metadata, State)> {
    let state_names = |metadata: &Metadata| {
        let tables = metadata.settings.solver.state_values();
        [&L_STATE[..tables], &F_STATE[..tables]].concat()
    };
    let (metadata, [l, f], mut l_state) =
        tensor_file::read::<Metadata, 2>(path, &CHECKPOINT, LOGITS, state_names)?;
    let state = State {
        l,
        f,
        f_state: l_state.split_off(l_state.len() / 2),
        l_state,
        steps: metadata.steps,
    };
    metadata.settings.check()?;
    let (documents, terms, topics) = (
        metadata.counts.documents,
        metadata.counts.terms,
        metadata.settings.topics,
    );
    let batches = documents.div_ceil(metadata.settings.batch_size());
    let shapes_match = |table: &Matrix, state: &[Matrix], shape| {
        table.shape() == shape && state.iter().all(|table| table.shape() == shape)
    };
    let consistent = shapes_match(&state.l, &state.l_state, (documents, topics))
        && shapes_match(&state.f, &state.f_state, (topics, terms))
        && metadata.history.len() == metadata.position.epoch
        && metadata.position.batches < batches.max(1)
        && metadata
            .terms
            .as_ref()
            .is_none_or(|names| names.len() == terms);
    if consistent {
        Ok((metadata, state))
    } else {
        let what = "tables and settings that do not belong together";
        Err(invalid_file(path, &CHECKPOINT, &what))
    }
}

/// Checks that checkpoints can be written to `path` without overwriting another kind of file.
///
/// # Errors
/// When the folder does not exist, or `path` is a file that is not a checkpoint.
pub(crate) fn check_checkpoint_path(path: &Path) -> Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) || path.file_name().is_none() {
        return Err(Error::new(
            ErrorKind::Io,
            format!("cannot write a checkpoint to {}", path.display()),
        )
        .fix("name a file in a folder that exists"));
    }
    if path.exists() && !tensor_file::is(path, &CHECKPOINT) {
        return Err(Error::new(
            ErrorKind::Io,
            format!("{} exists and is not a checkpoint", path.display()),
        )
        .fix("name another file, or remove this one"));
    }
    Ok(())
}

/// The checkpoint files that exist when the next checkpoint is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExistingFile {
    /// None, or those of another fit, which are replaced.
    None,
    /// The newest checkpoint of this fit is damaged or missing: the previous one is kept.
    Previous,
    /// Checkpoints of this fit: the newest is renamed to the previous one.
    Own,
}

/// An observer that writes the checkpoints of one fit.
pub(crate) struct CheckpointWriter<'a> {
    path: &'a Path,
    settings: &'a Settings,
    terms: Option<&'a Terms>,
    device: String,
    counts: Fingerprint,
    history: Vec<Epoch>,
    existing: ExistingFile,
    /// The (epoch, batches) of the newest file, if this fit wrote it.
    newest: Option<(usize, usize)>,
    last_write: Instant,
    /// The time that the last write took.
    write_time: Duration,
    /// Whether a failure has been reported.
    warned: bool,
    monitor: Handle,
}

impl<'a> CheckpointWriter<'a> {
    pub(crate) fn new(
        path: &'a Path,
        settings: &'a Settings,
        terms: Option<&'a Terms>,
        device: String,
        counts: Fingerprint,
        start: &ResumeState,
        monitor: Handle,
    ) -> Self {
        let values = (1 + settings.solver.state_values()) * settings.topics;
        let bytes = 4.0 * values as f64 * (counts.documents + counts.terms) as f64;
        Self {
            path,
            settings,
            terms,
            device,
            counts,
            history: start.history.clone(),
            existing: start.existing,
            newest: (start.existing == ExistingFile::Own)
                .then_some((start.position.epoch, start.position.batches)),
            last_write: Instant::now(),
            write_time: Duration::from_secs_f64(bytes / ASSUMED_WRITE_SPEED),
            warned: false,
            monitor,
        }
    }

    fn write_checkpoint(&mut self, context: &mut StepContext) {
        let _phase = self.monitor.phase("checkpoint");
        let cursor = context.cursor();
        let began = Instant::now();
        let outcome = context
            .snapshot()
            .and_then(|(position, state)| self.write(position, state));
        self.write_time = began.elapsed();
        self.last_write = Instant::now();
        match outcome {
            Ok(()) => {
                self.newest = Some(cursor);
                self.existing = ExistingFile::Own;
            }
            Err(error) if !self.warned => {
                self.warned = true;
                context.note(self.failure(context.done, &error));
            }
            // Only the first failure is reported.
            Err(_) => {}
        }
    }

    fn failure(&self, done: f64, error: &Error) -> String {
        format!(
            "writing a checkpoint after {done:.1} epochs failed: {}; the fit goes on{}",
            error.headline(),
            match self.newest {
                Some(_) => " and the previous checkpoint is kept",
                None => "",
            }
        )
    }

    fn write(&self, position: Position, state: State) -> Result<()> {
        let metadata = Metadata {
            version: env!("CARGO_PKG_VERSION").into(),
            settings: self.settings.clone(),
            terms: self.terms.map(|terms| terms.as_slice().to_vec()),
            device: self.device.clone(),
            counts: self.counts.clone(),
            position,
            history: self.history.clone(),
            steps: state.steps,
        };
        let logits = LOGITS.into_iter().zip([&state.l, &state.f]);
        let tables: Vec<_> = logits
            .chain(L_STATE.into_iter().zip(&state.l_state))
            .chain(F_STATE.into_iter().zip(&state.f_state))
            .collect();
        let failed = |error| Error::io("write", self.path, error);
        write_atomic_sized(self.path, table_bytes(&tables), DISK_FULL_REMEDY, |out| {
            tensor_file::write(out, self.path, &CHECKPOINT, &metadata, &tables)?;
            // fdatasync before the older file is renamed or removed, so that a power failure leaves one complete
            // checkpoint.
            out.flush()
                .and_then(|()| out.get_ref().sync_data())
                .map_err(failed)?;
            let replaced = match self.existing {
                ExistingFile::Own => fs::rename(follow_links(self.path), previous(self.path)),
                ExistingFile::Previous => Ok(()),
                // Otherwise resuming this fit could fall back to a checkpoint of another fit.
                ExistingFile::None => fs::remove_file(previous(self.path)),
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
        remove_stale(self.path);
        self.last_write = Instant::now();
    }

    fn epoch_finished(&mut self, epoch: &Epoch) {
        self.history.push(*epoch);
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
