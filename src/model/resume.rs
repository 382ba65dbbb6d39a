//! A fit that another process began.

use std::path::{Path, PathBuf};

use crate::config::{Budget, Device, Recipe, Settings};
use crate::counts::Fingerprint;
use crate::data::Terms;
use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;
use crate::plan::Plan;
use crate::training::{
    ExistingFile, ResumeState, Training, checkpoint_contents, epochs_done, read_either,
};

use super::CountSource;

/// An interrupted fit, read from its checkpoint: [`fit`](Self::fit) continues it.
///
/// What determines the result (topics, seed, learning rates, batches, term names) is fixed; how many epochs there are in
/// all, the device and the budget can be changed. [`fit`](Self::fit) and [`spawn`](Self::spawn) consume the checkpoint: its
/// tables become those of the fit, instead of being copied.
///
/// ```
/// use topicbook::{Checkpoint, Synthetic, TopicModel};
/// # let _folder = topicbook::example_folder()?;
/// let counts = Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
/// let model = TopicModel::new(3).epochs(10).checkpoint("fit.ckpt").quiet();
/// let training = model.spawn(&counts)?;
/// training.stop(); // or the process ends
/// training.join()?;
/// let fit = Checkpoint::open("fit.ckpt")?.quiet().fit(&counts)?;
/// assert_eq!(fit.epochs().len(), 10);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a checkpoint does nothing before `fit` or `spawn` is called"]
pub struct Checkpoint {
    pub(crate) recipe: Recipe,
    pub(crate) start: ResumeState,
    pub(crate) counts: Fingerprint,
    /// The device it was trained on.
    pub(crate) device: String,
    /// The file that was read.
    pub(crate) file: PathBuf,
}

impl Checkpoint {
    /// Reads the checkpoint that [`TopicModel::checkpoint`](crate::TopicModel::checkpoint) had a fit write; the continued
    /// fit goes on writing there. A file that is damaged or missing is replaced by the one before it (`path` with
    /// `.previous` after it), which [`note`](Self::note) and the first progress line say.
    ///
    /// On the CPU every solver continues bit for bit: L, F and the losses are those of an uninterrupted fit, on any number
    /// of threads. A fit that has converged has ended, and is given back as it is.
    ///
    /// ```
    /// use topicbook::{Checkpoint, Synthetic, TopicModel};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).seed(1).quiet();
    /// model.clone().epochs(5).checkpoint("fit.ckpt").fit(&counts)?;
    /// let resumed = Checkpoint::open("fit.ckpt")?.epochs(10).quiet().fit(&counts)?;
    /// assert!(resumed.l() == model.epochs(10).fit(&counts)?.l());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When neither the file nor the one before it can be read, or is a checkpoint of this version's format whose tables,
    /// settings and history belong together, with finite numbers.
    ///
    /// # Cost
    /// Reads the tables into memory, in bytes x k x (documents + terms): 12 for gradient steps with AdamW (L, F and their
    /// optimizer state), 4 for expectation-maximisation and for what is streamed, 8 for coordinate descent, and up to
    /// 16, with 3 topics more for 8 of them, and 20 more for terms alone, for [`Solver::auto`](crate::Solver::auto). Where the fit keeps L in mapped files
    /// ([`TableStorage::File`](crate::TableStorage::File)), the tables of L stay in the checkpoint's file, which is mapped until the fit
    /// has copied them.
    #[doc(alias = "resume")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let read = |file: &Path, existing| Self::read(path, file, existing);
        let (mut checkpoint, lost) = read_either(path, read)?;
        checkpoint.start.note = lost.map(|error| {
            format!(
                "The newest checkpoint is lost ({}); the one before it is used, after {} epochs.",
                error.headline(),
                checkpoint.done()
            )
        });
        Ok(checkpoint)
    }

    fn read(path: &Path, file: &Path, existing: ExistingFile) -> Result<Self> {
        let (metadata, state) = checkpoint_contents::read(file)?;
        let mut recipe = Recipe::from_settings(metadata.settings);
        recipe.terms = metadata.terms.map(Terms::new).transpose()?;
        recipe.checkpoint = Some(path.to_path_buf());
        Ok(Self {
            recipe,
            start: ResumeState {
                state,
                position: metadata.position,
                history: metadata.history,
                existing,
                note: None,
            },
            counts: metadata.counts,
            device: metadata.device,
            file: file.to_path_buf(),
        })
    }

    /// Why this is not the newest checkpoint, where it is not.
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// assert_eq!(Checkpoint::open("fit.ckpt")?.note(), None);
    /// # std::fs::copy("fit.ckpt", "fit.ckpt.previous").unwrap();
    /// std::fs::write("fit.ckpt", "damaged").unwrap();
    /// assert!(Checkpoint::open("fit.ckpt")?.note().is_some_and(|note| note.contains("the one before")));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn note(&self) -> Option<&str> {
        self.start.note.as_deref()
    }

    /// Passes over the documents in all, those already done included; those of the interrupted fit by default, at least
    /// those done. More of them train a finished fit further.
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// let longer = Checkpoint::open("fit.ckpt")?.epochs(5).quiet().fit(&counts)?;
    /// assert_eq!(longer.epochs().len(), 5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.recipe.settings.epochs = epochs;
        self
    }

    /// The device to continue on; the fit's own by default.
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// use topicbook::Device;
    /// let checkpoint = Checkpoint::open("fit.ckpt")?.device(Device::Cpu);
    /// assert_eq!(checkpoint.settings().device, Device::Cpu);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn device(mut self, device: Device) -> Self {
        self.recipe.settings.device = device;
        self
    }

    /// How much memory may be used, in bytes; what is free less a margin by default (see [`Budget`]).
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// use topicbook::{Budget, ErrorKind};
    /// let small = Checkpoint::open("fit.ckpt")?.budget(Budget::new().ram("100 kB")?);
    /// assert_eq!(small.fit(&counts).unwrap_err().kind(), ErrorKind::Space);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn budget(mut self, budget: Budget) -> Self {
        self.recipe.budget = budget;
        self
    }

    /// Prints no progress lines; by default they are printed where [`show_progress`](crate::show_progress) is on.
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// let fit = Checkpoint::open("fit.ckpt")?.epochs(4).quiet().fit(&counts)?;
    /// assert_eq!(fit.epochs().len(), 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn quiet(mut self) -> Self {
        self.recipe.quiet = true;
        self
    }

    /// The settings as they stand.
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// assert_eq!(Checkpoint::open("fit.ckpt")?.settings().seed, 7);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn settings(&self) -> Settings {
        self.recipe.settings.clone()
    }

    /// Continues to the end of the fit, with the counts it began with. A fit that was finished is given back as it is.
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// let fit = Checkpoint::open("fit.ckpt")?.epochs(4).quiet().fit(&counts)?;
    /// assert_eq!(fit.l().shape(), (60, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When these are not the counts the fit began with (a checkpoint knows their contents; file format, layout and dtype
    /// do not matter), when fewer epochs are asked for than are done, and whatever
    /// [`TopicModel::fit`](crate::TopicModel::fit) refuses.
    ///
    /// # Cost
    /// Memory and time of an epoch are those of [`TopicModel::fit`](crate::TopicModel::fit).
    pub fn fit(self, counts: impl CountSource) -> Result<Fit> {
        let plan = self.plan(counts)?;
        plan.begin(self.start.existing)?.fit(self.start, None)
    }

    /// Does the same in the background, like [`TopicModel::spawn`](crate::TopicModel::spawn).
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// let training = Checkpoint::open("fit.ckpt")?.epochs(4).spawn(&counts)?;
    /// assert_eq!(training.join()?.epochs().len(), 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn spawn(self, counts: impl CountSource) -> Result<Training> {
        let plan = self.plan(counts)?;
        plan.begin(self.start.existing)?.spawn(self.start)
    }

    /// Finished epochs; a part of the next may be done as well.
    ///
    /// ```
    /// # use topicbook::Checkpoint;
    /// # let (_folder, counts) = topicbook::example_checkpoint()?;
    /// assert_eq!(Checkpoint::open("fit.ckpt")?.epochs_done(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn epochs_done(&self) -> usize {
        self.start.position.epoch
    }

    fn plan(&self, counts: impl CountSource) -> Result<Plan> {
        let (counts, names) = counts.named_counts()?;
        let (asked, done) = (self.recipe.settings.epochs, self.epochs_done());
        if asked < done {
            return Err(Error::new(
                ErrorKind::Setting,
                format!("{asked} epochs of a fit that has done {done}"),
            )
            .fix("ask for more epochs in all than are done"));
        }
        self.counts.check(&counts)?;
        Plan::named(&self.recipe, (&counts, &names), true)
    }

    /// Epochs done, with the part of the one at hand.
    pub(crate) fn done(&self) -> String {
        let batch_size = self.recipe.settings.batch_size();
        let batches = self.counts.documents.div_ceil(batch_size);
        epochs_done(self.start.position.done(batches))
    }
}
