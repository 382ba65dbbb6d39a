//! Records the history of a fit.

use crate::data::Epoch;

use super::observer::Observer;

/// An observer that records every epoch.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) epochs: Vec<Epoch>,
}

impl Observer for Recorder {
    fn epoch_finished(&mut self, epoch: &Epoch) {
        self.epochs.push(*epoch);
    }
}
