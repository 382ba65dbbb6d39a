//! Checkpoints: a fit's state in a file every now and then, so that the end of the process costs little.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Beginning;
use super::history::Epoch;
use super::observer::{EpochReport, Moment, Observer, Start};
use super::position::Position;
use super::settings::Settings;
use super::step::State;
use crate::beside::{sweep, write_beside_sized};
use crate::counts::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::memory::Handle;
use crate::tensor_file::{self, Kind, not_ours, table_bytes};
use crate::terms::Terms;

const CHECKPOINT: Kind = Kind {
    key: "topicbook-checkpoint",
    writer: "a fit with TopicModel::checkpoint",
};

/// Writing takes one part in so many of a fit's time, or less.
const ONE_PART_IN: u32 = 50;
/// More often would only wear the disk.
const SHORTEST: Duration = Duration::from_secs(1);
/// What a disk is assumed to take in a second, until the first checkpoint has shown it: a slow disk.
const BYTES_PER_SECOND: f64 = 1e8;

/// Whether the next checkpoint may be written, so long after the last one (or the start), which took `writing`.
fn due(since: Duration, writing: Duration) -> bool {
    since >= SHORTEST.max(writing * (ONE_PART_IN - 1))
}

/// Which counts a checkpoint belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    pub(crate) documents: usize,
    pub(crate) terms: usize,
    nonzeros: u64,
    #[serde(with = "crate::exact")]
    total: f64,
    /// The sum of the documents' lengths, each times the document's number: not the same in another order.
    #[serde(with = "crate::exact")]
    weighted: f64,
}

impl Fingerprint {
    /// From the summary, which a fit makes anyway.
    pub(crate) fn of(counts: &Counts) -> Result<Self> {
        let summary = counts.summary()?;
        let lengths = summary.document_lengths().iter().enumerate();
        Ok(Self {
            documents: counts.documents(),
            terms: counts.terms(),
            nonzeros: summary.nonzeros(),
            total: summary.total(),
            weighted: lengths
                .map(|(document, length)| (document + 1) as f64 * length)
                .sum(),
        })
    }

    /// Refuses other counts than these.
    pub(crate) fn check(&self, counts: &Counts) -> Result<()> {
        let what = if (self.documents, self.terms) != counts.shape() {
            format!(
                "the checkpoint belongs to counts of {} documents x {} terms, and these are {} x {}",
                self.documents,
                self.terms,
                counts.documents(),
                counts.terms()
            )
        } else if *self != Self::of(counts)? {
            "the checkpoint belongs to other counts, of the same shape".into()
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Shape, what)
            .fix("pass the counts that the fit began with: the same documents in the same order"))
    }
}

/// What is kept beside the tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Notes {
    version: String,
    pub(crate) settings: Settings,
    pub(crate) terms: Option<Vec<String>>,
    pub(crate) device: String,
    pub(crate) counts: Fingerprint,
    pub(crate) position: Position,
    pub(crate) history: Vec<Epoch>,
    steps: u64,
}

const TABLES: [&str; 6] = [
    "l",
    "f",
    "l_moment_1",
    "l_moment_2",
    "f_moment_1",
    "f_moment_2",
];

/// Where the checkpoint before the newest is.
pub(crate) fn previous(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".previous");
    path.with_file_name(name)
}

/// Reads one checkpoint; only one in which everything belongs together is given back.
pub(crate) fn read(path: &Path) -> Result<(Notes, State)> {
    let (notes, [l, f, l_1, l_2, f_1, f_2]) =
        tensor_file::read::<Notes, 6>(path, &CHECKPOINT, TABLES)?;
    let state = State {
        l,
        f,
        l_moments: [l_1, l_2],
        f_moments: [f_1, f_2],
        steps: notes.steps,
    };
    notes.settings.check()?;
    let (documents, terms, topics) = (
        notes.counts.documents,
        notes.counts.terms,
        notes.settings.topics,
    );
    let batches = documents.div_ceil(notes.settings.batch_size);
    let alike = |table: &Matrix, moments: &[Matrix; 2], shape| {
        table.shape() == shape && moments.iter().all(|moment| moment.shape() == shape)
    };
    let belong = alike(&state.l, &state.l_moments, (documents, topics))
        && alike(&state.f, &state.f_moments, (topics, terms))
        && notes.history.len() == notes.position.epoch
        && notes.position.batches < batches.max(1)
        && notes
            .terms
            .as_ref()
            .is_none_or(|names| names.len() == terms);
    if belong {
        Ok((notes, state))
    } else {
        let what = "tables and settings that do not belong together";
        Err(not_ours(path, &CHECKPOINT, &what))
    }
}

/// Refuses a place where checkpoints cannot be written, or where something else would be lost.
pub(crate) fn check_place(path: &Path) -> Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) || path.file_name().is_none() {
        return Err(Error::new(
            ErrorKind::Io,
            format!("no checkpoint can be written to {}", path.display()),
        )
        .fix("name a file in a folder that exists"));
    }
    if path.exists() && !tensor_file::is(path, &CHECKPOINT) {
        return Err(Error::new(
            ErrorKind::Io,
            format!("{} is there already and is no checkpoint", path.display()),
        )
        .fix("name another file, or remove this one"));
    }
    Ok(())
}

/// What the files under a checkpoint's name are, when the next one is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// Nothing, or another fit's: replaced.
    Foreign,
    /// Only the one before the newest is good: it stays.
    Damaged,
    /// This fit's: the newest becomes the one before.
    Ours,
}

/// Writes checkpoints of one fit.
pub(crate) struct Keeper<'a> {
    path: &'a Path,
    settings: &'a Settings,
    terms: Option<&'a Terms>,
    device: String,
    counts: Fingerprint,
    history: Vec<Epoch>,
    earlier: Earlier,
    /// The place in the fit of the newest file, if it is this fit's.
    written: Option<(usize, usize)>,
    last: Instant,
    writing: Duration,
    failed: bool,
    monitor: Handle,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(
        path: &'a Path,
        settings: &'a Settings,
        terms: Option<&'a Terms>,
        device: String,
        counts: Fingerprint,
        beginning: &Beginning,
        monitor: Handle,
    ) -> Self {
        let tables = 12.0 * settings.topics as f64 * (counts.documents + counts.terms) as f64;
        Self {
            path,
            settings,
            terms,
            device,
            counts,
            history: beginning.history.clone(),
            earlier: beginning.earlier,
            written: (beginning.earlier == Earlier::Ours)
                .then_some((beginning.position.epoch, beginning.position.batches)),
            last: Instant::now(),
            writing: Duration::from_secs_f64(tables / BYTES_PER_SECOND),
            failed: false,
            monitor,
        }
    }

    fn keep(&mut self, at: &mut Moment) {
        let _keeping = self.monitor.phase("checkpoint");
        let place = at.place();
        let began = Instant::now();
        let outcome = at
            .snapshot()
            .and_then(|(position, state)| self.write(position, state));
        self.writing = began.elapsed();
        self.last = Instant::now();
        match outcome {
            Ok(()) => {
                self.written = Some(place);
                self.earlier = Earlier::Ours;
            }
            Err(error) if !self.failed => {
                self.failed = true;
                at.note(self.failure(at.done, &error));
            }
            // Said once.
            Err(_) => {}
        }
    }

    fn failure(&self, done: f64, error: &Error) -> String {
        format!(
            "no checkpoint after {done:.1} epochs: {}; the fit goes on{}",
            error.headline(),
            match self.written {
                Some(_) => ", the checkpoint before is kept",
                None => "",
            }
        )
    }

    fn write(&self, position: Position, state: State) -> Result<()> {
        let notes = Notes {
            version: env!("CARGO_PKG_VERSION").into(),
            settings: self.settings.clone(),
            terms: self.terms.map(|terms| terms.as_slice().to_vec()),
            device: self.device.clone(),
            counts: self.counts.clone(),
            position,
            history: self.history.clone(),
            steps: state.steps,
        };
        let [l_1, l_2] = &state.l_moments;
        let [f_1, f_2] = &state.f_moments;
        let tables = [&state.l, &state.f, l_1, l_2, f_1, f_2];
        let tables: Vec<_> = TABLES.into_iter().zip(tables).collect();
        let failed = |error| Error::io("write", self.path, error);
        write_beside_sized(self.path, table_bytes(&tables), |out| {
            tensor_file::write(out, self.path, &CHECKPOINT, &notes, &tables)?;
            // On the disk before the earlier one gives way: a power cut leaves one of them whole.
            out.flush()
                .and_then(|()| out.get_ref().sync_data())
                .map_err(failed)?;
            let moved = match self.earlier {
                Earlier::Ours => fs::rename(self.path, previous(self.path)),
                Earlier::Damaged => Ok(()),
                // Resuming this fit must not fall back to another one.
                Earlier::Foreign => fs::remove_file(previous(self.path)),
            };
            match moved {
                // Somebody may have removed the earlier file.
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            }
        })
    }
}

impl Observer for Keeper<'_> {
    fn started(&mut self, _start: &Start) {
        sweep(self.path);
        self.last = Instant::now();
    }

    fn epoch_finished(&mut self, report: &EpochReport) {
        self.history.push(report.into());
    }

    fn batch_finished(&mut self, at: &mut Moment) -> ControlFlow<()> {
        if due(self.last.elapsed(), self.writing) {
            self.keep(at);
        }
        ControlFlow::Continue(())
    }

    fn finished(&mut self, at: &mut Moment) {
        if self.written != Some(at.place()) {
            self.keep(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_takes_at_most_a_fiftieth() {
        let second = Duration::from_secs(1);
        assert!(!due(second * 48, second) && due(second * 49, second));
        assert!(!due(second / 2, Duration::ZERO) && due(second, Duration::ZERO));
        // Writes of changing length: each is paid for by the time after it.
        let (mut now, mut written, mut writing, mut last) = (0u64, 0u64, 100u64, 0u64);
        for step in 0..2_000_000u64 {
            now += 1;
            let ms = Duration::from_millis;
            if due(ms(now - last), ms(writing)) {
                writing = 20 + step % 300;
                now += writing;
                written += writing;
                last = now;
            }
        }
        let unpaid = writing;
        assert!((written - unpaid) as f64 <= 0.02 * now as f64);
        assert!(
            written as f64 > 0.01 * now as f64,
            "and it does not wait for nothing"
        );
    }
}
