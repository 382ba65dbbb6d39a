//! The observer for [`TopicModel::on_epoch`](crate::TopicModel::on_epoch).

use std::ops::ControlFlow;

use crate::config::OnEpoch;
use crate::data::Epoch;

use super::observer::{Observer, StepContext};

/// Calls a user's function after every epoch, and ends the fit where it says so.
pub(crate) struct Callback {
    on_epoch: OnEpoch,
    flow: ControlFlow<()>,
}

impl Callback {
    pub(crate) fn new(on_epoch: OnEpoch) -> Self {
        Self {
            on_epoch,
            flow: ControlFlow::Continue(()),
        }
    }
}

impl Observer for Callback {
    fn epoch_finished(&mut self, epoch: &Epoch) {
        self.flow = self.on_epoch.call(epoch);
    }

    fn batch_finished(&mut self, _context: &mut StepContext) -> ControlFlow<()> {
        self.flow
    }
}
