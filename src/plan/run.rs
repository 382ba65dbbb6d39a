//! Runs the fit of a plan.

use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::system::memory::{Monitor, free_memory, release_freed};
use crate::text::bytes;
use crate::training::checkpoint_contents::{CHECKPOINT, bytes as checkpoint_bytes};
use crate::training::{CheckpointFiles, ExistingFile, ResumeState, Run, Training};

use super::Plan;
use super::cluster::OnCluster;

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
        let run = self.begin(ExistingFile::None)?;
        run.fit(self.start()?, None)
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
        let run = self.begin(ExistingFile::None)?;
        run.spawn(self.start()?)
    }

    /// Checks that the planned memory is still free, that checkpoints can be written, and that the counts are valid.
    /// `existing`: the checkpoint files that the fit finds.
    pub(crate) fn begin(&self, existing: ExistingFile) -> Result<Run> {
        self.counts.check_existing()?;
        let (needed, free) = (
            self.ram.predicted.saturating_sub(self.baseline),
            free_memory(),
        );
        if needed > free {
            return Err(Error::space(format!(
                "the plan needs {} of memory, but only {} are free now",
                bytes(needed),
                bytes(free)
            ))
            .fix("end other processes, or plan again with a smaller budget"));
        }
        let recipe = &self.recipe;
        let (documents, terms) = self.counts.shape();
        let bytes = checkpoint_bytes(&recipe.settings, documents, terms);
        let claim = |path| CheckpointFiles::claim(path, existing, &CHECKPOINT, bytes);
        let files = recipe.checkpoint.as_deref().map(claim).transpose()?;
        let monitor = Monitor::start();
        let checking = monitor.handle().phase("check");
        let streamed = recipe.settings.reading.shuffle().is_some();
        recipe.check_counts(&self.counts, streamed, self.check_buffer)?;
        drop(checking);
        release_freed();
        Ok(Run {
            recipe: recipe.clone(),
            counts: self.counts.clone(),
            names: self.names.clone(),
            device: self.device,
            placement: self.placement,
            ram: self.ram,
            vram: self.vram,
            items: self.items.clone(),
            rank_bytes: self.cluster.as_ref().map_or(0, OnCluster::rank_bytes),
            fallback: self.fallback.clone(),
            monitor,
            files,
        })
    }

    fn start(&self) -> Result<ResumeState> {
        ResumeState::new(&self.recipe.settings, &self.counts)
    }
}
