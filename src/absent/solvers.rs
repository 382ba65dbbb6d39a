//! The solvers of the CPU.

pub(crate) use topicbook_solvers::solvers::*;

use crate::config::{Resolved, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::error::Result;

/// Creates the solver that the settings name.
pub(crate) fn create(
    settings: &Settings,
    counts: &Counts,
    _placed: (Resolved, Placement),
    start: Start,
) -> Result<Box<dyn Iterate>> {
    topicbook_solvers::solvers::create(settings, counts, start)
}
