//! The decisions of a plan that steps and solvers follow.

#[cfg(any(test, feature = "bench-hooks"))]
use crate::config::Settings;

/// The decisions of a plan that steps and solvers follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Documents per micro-batch. The gradients of a batch are accumulated over its micro-batches.
    pub(crate) micro_batch: usize,
    /// Whether all counts are resident on the GPU.
    pub(crate) resident: bool,
    /// Whether L's logits are offloaded to host memory and only the rows of a batch are uploaded.
    pub(crate) l_on_host: bool,
}

impl Placement {
    /// Whole batches, uploaded one by one.
    #[cfg(any(test, feature = "bench-hooks"))]
    pub(crate) fn whole(settings: &Settings) -> Self {
        Self {
            micro_batch: settings.batch_size(),
            resident: false,
            l_on_host: false,
        }
    }
}
