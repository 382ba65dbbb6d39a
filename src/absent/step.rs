//! The gradient step of the CPU.

pub(crate) use topicbook_solvers::step::*;

use crate::config::{GradientStep, Resolved, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::error::{Error, Result};

/// Makes the step from a state, and calls `work` with it.
pub(crate) fn with_step<T>(
    settings: &Settings,
    _counts: &Counts,
    (device, placement): (Resolved, Placement),
    state: State,
    work: impl FnOnce(&mut dyn Step) -> Result<T> + Send,
) -> Result<T>
where
    T: Send,
{
    match (device, settings.mini_batch().step) {
        (Resolved::Cpu, GradientStep::Fused) => {
            work(&mut cpu::FusedStep::new(settings, placement, state)?)
        }
        (Resolved::Cpu, step) => Err(Error::setting(format!(
            "{step} in a build without the feature cuda"
        ))),
        (Resolved::Cuda(gpu), _) => Err(crate::config::no_cuda(gpu)),
    }
}
