//! The decisions of a plan that steps and solvers follow.

use crate::config::Settings;

/// The decisions of a plan that steps and solvers follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Documents per micro-batch. The gradients of a batch are accumulated over its micro-batches.
    pub micro_batch: usize,
    /// Whether all counts are resident on the GPU.
    pub resident: bool,
    /// Whether L's logits are offloaded to host memory and only the rows of a batch are uploaded.
    pub l_on_host: bool,
}

impl Placement {
    /// Whole batches, uploaded one by one.
    pub fn whole(settings: &Settings) -> Self {
        Self {
            micro_batch: settings.batch_size(),
            resident: false,
            l_on_host: false,
        }
    }
}
