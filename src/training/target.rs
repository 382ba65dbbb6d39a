//! What a fit's learners know of it besides its loop: settings, counts, and how an epoch over them is reported.

use std::time::Duration;

use crate::config::Settings;
use crate::counts::Counts;
use crate::data::Epoch;
use crate::error::Result;
use crate::step::WarmRestarts;
use crate::system::memory::process_memory;

/// What is fitted to what.
pub(crate) struct Target<'a> {
    pub(super) settings: &'a Settings,
    pub(super) counts: &'a Counts,
    tokens: f64,
    schedule: WarmRestarts,
    /// Batches of an epoch. Losses are means over batches, as in tinytopics, with every solver.
    pub(crate) batches: usize,
}

impl<'a> Target<'a> {
    pub(crate) fn new(settings: &'a Settings, counts: &'a Counts) -> Result<Self> {
        Ok(Self {
            settings,
            counts,
            tokens: counts.summary()?.total(),
            schedule: WarmRestarts::new(&settings.mini_batch()),
            batches: counts.documents().div_ceil(settings.batch_size()),
        })
    }

    /// The learning rate of a batch of an epoch, both counted from 0.
    pub(super) fn learning_rate(&self, epoch: usize, batch: usize) -> f64 {
        self.schedule.of_step((epoch, batch), self.batches)
    }

    /// The report of an epoch, counted from 0, as a pass over all documents with this score.
    pub(super) fn pass(&self, epoch: usize, score: f64, duration: Duration) -> Epoch {
        Epoch {
            epoch: epoch + 1,
            loss: (self.counts.documents() as f64 - score) / self.batches as f64,
            log_likelihood_per_token: score / self.tokens,
            learning_rate: match self.settings.solver.is_full_pass() {
                true => 0.0,
                false => self.learning_rate(epoch, self.batches - 1),
            },
            grad_norm: None,
            validation_loss: None,
            duration,
            memory_bytes: process_memory().anonymous,
        }
    }
}
