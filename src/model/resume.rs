//! A fit that goes on where another process left it.

use std::borrow::Borrow;
use std::path::{Path, PathBuf};

use super::checkpoint::{self, Earlier, Fingerprint, previous};
use super::progress::epochs_done;
use super::{Beginning, Settings, TopicModel, Training, settings_card};
use crate::budget::Budget;
use crate::counts::Counts;
use crate::device::Device;
use crate::display::count;
use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;
use crate::plan::Plan;
use crate::terms::Terms;

/// An interrupted fit, read from its file: [`fit`](Self::fit) goes on with it.
///
/// What made the fit what it is (topics, seed, learning rates, batches, term names) is fixed; how long and where it goes on can
/// be changed.
///
/// ```no_run
/// use topicbook::{Counts, TopicModel};
/// let counts = Counts::open("X.npy")?;
/// let fit = TopicModel::resume("fit.checkpoint")?.fit(&counts)?;
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Checkpoint {
    model: TopicModel,
    beginning: Beginning,
    counts: Fingerprint,
    /// The device it was trained on.
    device: String,
    /// The file that was read.
    file: PathBuf,
    /// Why it is not the newest.
    note: Option<String>,
}

impl TopicModel {
    /// Takes up a fit from the checkpoints that [`checkpoint`](Self::checkpoint) had it write; it goes on writing them
    /// there.
    ///
    /// On the CPU the result is the same as that of an uninterrupted fit, bit for bit. A file that is damaged or
    /// missing is replaced by the one before it (`path` with `.previous` after it), which is said in one line.
    ///
    /// # Errors
    /// When neither file can be read.
    pub fn resume(path: impl AsRef<Path>) -> Result<Checkpoint> {
        let path = path.as_ref();
        match read(path, path, Earlier::Ours) {
            Ok(checkpoint) => Ok(checkpoint),
            Err(error) => match read(path, &previous(path), Earlier::Damaged) {
                Ok(mut checkpoint) => {
                    let note = format!(
                        "The newest checkpoint is lost ({}); the one before it is used, after {} epochs.",
                        error.headline(),
                        checkpoint.done()
                    );
                    println!("{note}");
                    checkpoint.note = Some(note);
                    Ok(checkpoint)
                }
                Err(_) => Err(error),
            },
        }
    }
}

fn read(path: &Path, file: &Path, earlier: Earlier) -> Result<Checkpoint> {
    let (notes, state) = checkpoint::read(file)?;
    Ok(Checkpoint {
        model: TopicModel {
            settings: notes.settings,
            terms: notes.terms.map(Terms::new).transpose()?,
            quiet: false,
            checkpoint: Some(path.to_path_buf()),
            budget: Budget::new(),
        },
        beginning: Beginning {
            state,
            position: notes.position,
            history: notes.history,
            earlier,
        },
        counts: notes.counts,
        device: notes.device,
        file: file.to_path_buf(),
        note: None,
    })
}

impl Checkpoint {
    /// Passes over the documents in all, with those already done: more of them to train a finished fit further.
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.model = self.model.epochs(epochs);
        self
    }

    /// Where to go on; where the fit began if not set.
    pub fn device(mut self, device: Device) -> Self {
        self.model = self.model.device(device);
        self
    }

    /// How much memory may be taken; what is free less a margin if not set (see [`Budget`]).
    pub fn budget(mut self, budget: Budget) -> Self {
        self.model = self.model.budget(budget);
        self
    }

    /// No progress lines.
    pub fn quiet(mut self) -> Self {
        self.model = self.model.quiet();
        self
    }

    /// The settings as they stand.
    pub fn settings(&self) -> Settings {
        self.model.settings()
    }

    /// Goes on to the end of the fit, with the counts it began with. A fit that had come to its end is given back as it
    /// is.
    ///
    /// Memory and time are those of [`TopicModel::fit`].
    ///
    /// # Errors
    /// When these are not the counts the fit began with, or are changed, when fewer epochs are asked for than are done,
    /// and whatever [`TopicModel::fit`] refuses.
    pub fn fit(self, counts: impl Borrow<Counts>) -> Result<Fit> {
        let plan = self.plan(counts)?;
        let monitor = plan.ready()?;
        plan.run(self.beginning, monitor, None)
    }

    /// The same in the background, like [`TopicModel::spawn`].
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn spawn(self, counts: impl Borrow<Counts>) -> Result<Training> {
        let plan = self.plan(counts)?;
        let monitor = plan.ready()?;
        plan.run_behind(self.beginning, monitor)
    }

    fn plan(&self, counts: impl Borrow<Counts>) -> Result<Plan> {
        self.check(counts.borrow())?;
        self.model.plan_from(counts.borrow(), true)
    }

    fn check(&self, counts: &Counts) -> Result<()> {
        let (asked, done) = (
            self.model.settings.epochs as f64,
            self.beginning.position.epoch as f64,
        );
        if asked < done {
            return Err(Error::new(
                ErrorKind::Setting,
                format!("{asked} epochs of a fit that has done {done}"),
            )
            .fix("ask for more epochs in all than are done"));
        }
        self.counts.check(counts)
    }

    /// Epochs finished; a part of the next may be done as well.
    pub fn epochs_done(&self) -> usize {
        self.beginning.position.epoch
    }

    fn done(&self) -> String {
        let batches = self
            .counts
            .documents
            .div_ceil(self.model.settings.batch_size);
        epochs_done(self.beginning.position.done(batches))
    }

    /// Shows how far the fit has come, and its settings, below a cell.
    pub fn evcxr_display(&self) {
        let settings = &self.model.settings;
        let mut card = settings_card(
            &format!(
                "Checkpoint: {} of {} epochs done",
                self.done(),
                settings.epochs
            ),
            settings,
        )
        .row(
            "counts",
            format!(
                "{} documents x {} terms",
                count(self.counts.documents as u64),
                count(self.counts.terms as u64)
            ),
        )
        .row("topics", settings.topics.to_string())
        .row("trained on", self.device.clone())
        .row("file", self.file.display().to_string());
        if let Some(last) = self.beginning.history.last() {
            card = card.row(
                "log-likelihood",
                format!("{:.5} nats a token", last.log_likelihood_per_token),
            );
        }
        if let Some(note) = &self.note {
            card = card.note(note);
        }
        card.show();
    }
}
