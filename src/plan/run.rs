//! A plan carried out.

use super::Plan;
use crate::display::bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;
use crate::memory::{Monitor, free_memory, phase, release_freed};
use crate::model::{Beginning, Observer, Training, Watching};

impl Plan {
    /// Fits the model as planned.
    ///
    /// # Errors
    /// When the counts hold something that is not a count, the memory that was free when the plan was made is not any
    /// more, or the device fails.
    pub fn fit(&self) -> Result<Fit> {
        let monitor = self.ready()?;
        self.run(self.beginning()?, monitor, None)
    }

    /// The same on a thread of its own, as [`TopicModel::spawn`](crate::TopicModel::spawn).
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and likewise before training starts.
    pub fn spawn(&self) -> Result<Training> {
        let monitor = self.ready()?;
        self.run_behind(self.beginning()?, monitor)
    }

    /// Checks what a plan only assumes: that its memory is still free, and that the counts are counts.
    pub(crate) fn ready(&self) -> Result<Monitor> {
        let (needed, free) = (self.ram.predicted.saturating_sub(self.taken), free_memory());
        if needed > free {
            return Err(Error::new(
                ErrorKind::Space,
                format!(
                    "the plan takes {} of memory, and {} are free now",
                    bytes(needed),
                    bytes(free)
                ),
            )
            .fix("end what has taken memory since, or plan again with a smaller budget"));
        }
        let monitor = Monitor::start();
        let checking = monitor.handle().phase("check");
        let streamed = self.model.settings().reading.shuffle().is_some();
        self.model.check_counts(&self.counts, streamed)?;
        drop(checking);
        release_freed();
        Ok(monitor)
    }

    fn beginning(&self) -> Result<Beginning> {
        self.model.check_checkpoint()?;
        self.model.beginning(&self.counts)
    }

    pub(crate) fn run(
        &self,
        beginning: Beginning,
        monitor: Monitor,
        watch: Option<&mut dyn Observer>,
    ) -> Result<Fit> {
        let _fitting = phase("fit");
        let watching = Watching {
            monitor,
            ram: self.ram,
            vram: self.vram.map(|vram| vram.goal),
        };
        let fit = self.model.train(
            &self.counts,
            self.device,
            self.placement,
            beginning,
            watching,
            watch,
        );
        fit.map_err(|error| match (error.kind(), self.vram) {
            // Its memory may be what it is about.
            (ErrorKind::Device, Some(vram)) if !vram.simulated => error.at(self.card_table()),
            _ => error,
        })
    }

    pub(crate) fn run_behind(&self, beginning: Beginning, monitor: Monitor) -> Result<Training> {
        let mut plan = self.clone();
        plan.model = plan.model.quiet();
        Training::start(beginning.history.clone(), move |watch| {
            plan.run(beginning, monitor, Some(watch))
        })
    }
}
