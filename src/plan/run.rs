//! Runs the fit of a plan.

use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;
use crate::system::memory::{Monitor, free_memory, phase, release_freed};
use crate::text::bytes;
use crate::training::{
    CheckpointFiles, ExistingFile, FitMonitor, Observer, ResumeState, Training, train,
};

use super::Plan;

/// What a fit holds before its first batch.
pub(crate) struct Prepared {
    /// A running memory monitor.
    monitor: Monitor,
    /// The fit's checkpoint files, if it writes any.
    files: Option<CheckpointFiles>,
}

impl Plan {
    /// Fits the model as planned. A plan can be carried out more than once.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let plan = TopicModel::new(3).epochs(5).quiet().plan(&counts)?;
    /// assert_eq!(plan.fit()?.l().shape(), (60, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the counts contain an invalid value, or memory that was free when the plan was made is no longer free. When
    /// checkpoints cannot be written where the model says, or the device fails.
    pub fn fit(&self) -> Result<Fit> {
        let prepared = self.prepare(ExistingFile::None)?;
        self.run(self.start()?, prepared, None)
    }

    /// Fits the model in the background, like [`TopicModel::spawn`](crate::TopicModel::spawn).
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let training = TopicModel::new(3).epochs(5).plan(&counts)?.spawn()?;
    /// assert_eq!(training.join()?.epochs().len(), 5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit) that occur before training starts; [`Training::join`] returns the others.
    pub fn spawn(&self) -> Result<Training> {
        let prepared = self.prepare(ExistingFile::None)?;
        self.run_in_background(self.start()?, prepared)
    }

    /// Checks that the planned memory is still free, that checkpoints can be written, and that the counts are valid.
    /// `existing`: the checkpoint files that the fit finds.
    pub(crate) fn prepare(&self, existing: ExistingFile) -> Result<Prepared> {
        self.counts.check_existing()?;
        let (needed, free) = (
            self.ram.predicted.saturating_sub(self.baseline),
            free_memory(),
        );
        if needed > free {
            return Err(Error::new(
                ErrorKind::Space,
                format!(
                    "the plan needs {} of memory, but only {} are free now",
                    bytes(needed),
                    bytes(free)
                ),
            )
            .fix("end other processes, or plan again with a smaller budget"));
        }
        let files = match &self.recipe.checkpoint {
            Some(path) => {
                let settings = &self.recipe.settings;
                let files = CheckpointFiles::claim(path, existing, settings, &self.counts)?;
                Some(files)
            }
            None => None,
        };
        let monitor = Monitor::start();
        let checking = monitor.handle().phase("check");
        let streamed = self.recipe.settings.reading.shuffle().is_some();
        let recipe = &self.recipe;
        recipe.check_counts(&self.counts, streamed, self.check_buffer)?;
        drop(checking);
        release_freed();
        Ok(Prepared { monitor, files })
    }

    fn start(&self) -> Result<ResumeState> {
        ResumeState::new(&self.recipe.settings, &self.counts)
    }

    pub(crate) fn run(
        &self,
        mut start: ResumeState,
        prepared: Prepared,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Fit> {
        let _fitting = phase("fit");
        if let Some(line) = &self.fallback {
            start.note = Some(match start.note.take() {
                Some(note) => format!("{line}\n{note}"),
                None => line.clone(),
            });
        }
        let fit_monitor = FitMonitor {
            monitor: prepared.monitor,
            ram: self.ram,
            vram: self.vram.map(|vram| vram.limit),
            items: self.items.clone(),
            rank: self.cluster.as_ref().map_or(0, |ranks| ranks.rank_bytes()),
        };
        let fit = train(
            &self.recipe,
            &self.counts,
            (self.device, self.placement),
            start,
            prepared.files,
            fit_monitor,
            observer,
        );
        fit.map(|fit| fit.noted(self.fallback.clone()))
            .map_err(|error| match (error.kind(), self.vram) {
                // The error may be caused by exhausted VRAM: add the planned items.
                (ErrorKind::Device, Some(vram)) if !vram.simulated => error.at(self.vram_table()),
                _ => error,
            })
    }

    pub(crate) fn run_in_background(
        &self,
        start: ResumeState,
        prepared: Prepared,
    ) -> Result<Training> {
        let mut plan = self.clone();
        plan.recipe.quiet = true;
        Training::start(start.history.clone(), move |observer| {
            plan.run(start, prepared, Some(observer))
        })
    }
}
