//! One run of a fit: registers the observers, runs the training loop of the solver and assembles the result.

use std::sync::Arc;

use crate::backend::with_gpu;
use crate::config::{Recipe, Resolved};
use crate::cost::{Item, Limit, Memory, Placement, peak};
use crate::counts::{Counts, Fingerprint};
use crate::data::{Epoch, Matrix};
use crate::error::{ErrorKind, Result};
use crate::fit::{CountNames, Fit, MemoryProfile};
use crate::system::memory::{Monitor, phase};
use crate::text::bytes;

use super::background::{StatusObserver, Training};
use super::checkpoint::CheckpointWriter;
use super::checkpoint_contents::{RunContents, bytes as bytes_of_checkpoint};
use super::checkpoint_files::CheckpointFiles;
use super::epochs::Loop;
use super::init::ResumeState;
use super::observer::Observer;
use super::observers::Observers;
use super::smoothing::smoothed;
use super::target::Target;
use super::{cluster, full_pass, minibatch};

/// A run that a plan has prepared: what is fitted to what, where, within which memory, and what it holds meanwhile.
pub(crate) struct Run {
    pub(crate) recipe: Recipe,
    pub(crate) counts: Counts,
    /// What the counts came with.
    pub(crate) names: CountNames,
    pub(crate) device: Resolved,
    pub(crate) placement: Placement,
    pub(crate) ram: Limit,
    pub(crate) vram: Option<Limit>,
    /// The items of the plan.
    pub(crate) items: Vec<Item>,
    /// Peak of the largest rank of a cluster, in bytes.
    pub(crate) rank_bytes: u64,
    /// Why the fit runs on the CPU although a GPU was found.
    pub(crate) fallback: Option<String>,
    /// It runs since the counts were checked.
    pub(crate) monitor: Monitor,
    /// The checkpoint files, if the run writes any.
    pub(crate) files: Option<CheckpointFiles>,
}

impl Run {
    /// Trains from `start` to the end of the fit, or until an observer stops it. `observer` is registered after the
    /// built-in ones; a fit without one runs while the cell waits, and listens to the notebook's stop button.
    pub(crate) fn fit(
        &self,
        start: ResumeState,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Fit> {
        let _fitting = phase("fit");
        match self.train(start, observer) {
            Ok(fit) => Ok(fit.noted(self.fallback.clone())),
            // The error may be caused by exhausted VRAM: add the planned items.
            Err(error) if error.kind() == ErrorKind::Device && self.device != Resolved::Cpu => {
                Err(error.at(self.vram_table()))
            }
            Err(error) => Err(error),
        }
    }

    /// Does the same on a thread of its own, which shows its notes itself.
    pub(crate) fn spawn(mut self, start: ResumeState) -> Result<Training> {
        self.recipe.quiet = true;
        let run = Arc::new(self);
        let (running, history) = (Arc::downgrade(&run), start.history.clone());
        let fit = move |observer: &mut StatusObserver| run.fit(start, Some(observer));
        Ok(Training::start(history, fit)?.of(running))
    }

    fn train(&self, start: ResumeState, observer: Option<&mut dyn Observer>) -> Result<Fit> {
        let (recipe, handle) = (&self.recipe, self.monitor.handle());
        let contents = RunContents(self, Fingerprint::of(&self.counts)?);
        let (documents, terms) = self.counts.shape();
        let bytes = bytes_of_checkpoint(&recipe.settings, documents, terms);
        let prints = recipe.quiet && observer.is_none();
        let existing = (start.existing, start.position);
        let writer = self.files.as_ref().map(|files| {
            CheckpointWriter::new((&contents, bytes), files, handle.clone(), existing, prints)
        });
        let mut observers = Observers::new(
            handle,
            (self.ram, self.device),
            (recipe.quiet, recipe.on_epoch.clone()),
            writer,
            observer.is_none(),
        );
        let mut all = observers.all(observer);
        let target = Target::new(&recipe.settings, &self.counts)?;
        let shape = (
            recipe.settings.epochs,
            self.counts.documents(),
            target.batches,
        );
        let mut training = Loop::new(shape, &mut all);
        training.position = start.position;
        training.history = start.history;
        for note in self.fallback.iter().chain(&start.note) {
            training.note(note);
        }
        let (mut passes, mut failures) = (Vec::new(), None);
        let (l, f) = match &recipe.cluster {
            Some(cluster) => {
                let fitted = cluster::fit(self, (cluster, &target), start.state, &mut training)?;
                (passes, failures) = (fitted.passes, fitted.failures);
                (fitted.l, fitted.f)
            }
            None if recipe.settings.solver.is_full_pass() => {
                full_pass::fit(self, &target, start.state, &mut training)?
            }
            None => minibatch::fit(self, &target, start.state, &mut training)?,
        };
        let fit = self.result(l, f, training.history)?;
        let failure = observers.end();
        Ok(fit.by_ranks(passes).noted(failures).noted(failure))
    }

    /// The fit that L and F make after the epochs of `history`.
    pub(super) fn result(&self, l: Matrix, f: Matrix, history: Vec<Epoch>) -> Result<Fit> {
        let recipe = &self.recipe;
        let f = smoothed(f, &l, &self.counts, recipe.settings.smoothing)?;
        Ok(Fit::new(
            recipe.settings.clone(),
            l,
            f,
            recipe.terms.clone(),
            history,
            match &recipe.cluster {
                Some(cluster) => cluster.to_string(),
                None => self.device.to_string(),
            },
            Some(MemoryProfile::new(
                self.monitor.log(),
                self.ram,
                self.vram,
                &self.items,
            )),
        )
        .named(&self.names)
        .with_empty(self.counts.summary()?.empty_documents())
        .fitted_to(Some(Fingerprint::of(&self.counts)?)))
    }

    /// The planned items in VRAM, one per line.
    fn vram_table(&self) -> String {
        let items = self.items.iter().filter(|item| item.memory == Memory::Vram);
        let line = |item: &Item| format!("\n  {}  {}", bytes(item.bytes), item.what);
        let lines: String = items.map(line).collect();
        let (all, _) = peak(&self.items, Memory::Vram);
        format!("the plan has {} on the GPU:{lines}", bytes(all))
    }
}

/// Runs `work` on a device; failures of a GPU become errors.
pub(crate) fn catch_device_errors<T>(
    device: Resolved,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match device {
        Resolved::Cpu => work(),
        Resolved::Cuda(gpu) => with_gpu(gpu, work),
    }
}
