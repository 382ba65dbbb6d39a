//! The solvers of the CPU.

pub(crate) use topicbook_solvers::solvers::*;

use crate::config::{Resolved, Settings, Solver, no_cuda};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::error::Result;

/// Creates the solver that the settings name.
pub(crate) fn create(
    settings: &Settings,
    counts: &Counts,
    (device, _placement): (Resolved, Placement),
    start: Start,
) -> Result<Box<dyn Iterate>> {
    match (&settings.solver, device) {
        (Solver::Em(_), Resolved::Cuda(gpu)) => Err(no_cuda(gpu)),
        _ => topicbook_solvers::solvers::create(settings, counts, start),
    }
}
