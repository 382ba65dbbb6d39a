//! The solvers of full passes: all of them on the CPU, and expectation-maximisation on a GPU.

use burn_cuda::{Cuda, CudaDevice};

pub use topicbook_solvers::solvers::*;

use crate::config::{Resolved, Settings, Solver};
use crate::cost::{Item, Placement, Shape};
use crate::counts::Counts;
use crate::em::{self, GpuEm};
use crate::error::Result;

/// Creates the solver that the settings name, for these counts. `placement`: whether counts and L are resident on a GPU,
/// and how many documents are uploaded at once.
pub fn create(
    settings: &Settings,
    counts: &Counts,
    (device, placement): (Resolved, Placement),
    start: Start,
) -> Result<Box<dyn Iterate>> {
    match (&settings.solver, device) {
        (Solver::Em(_), Resolved::Cuda(gpu)) => {
            let streams = settings.reading.shuffle().is_some();
            let device = CudaDevice::new(gpu);
            let solver = GpuEm::<Cuda>::new(device, counts, (streams, placement), start)?;
            Ok(Box::new(solver))
        }
        _ => topicbook_solvers::solvers::create(settings, counts, start),
    }
}

/// VRAM of a solver.
pub fn memory_on_gpu(solver: &Solver, shape: &Shape, resident: bool) -> Vec<Item> {
    match solver {
        Solver::Em(_) => em::memory(shape, resident),
        _ => Vec::new(),
    }
}

pub fn host_memory_with_gpu(solver: &Solver, shape: &Shape, resident: bool) -> Vec<Item> {
    match solver {
        Solver::Em(_) => em::in_host_memory(shape, resident),
        _ => memory(solver, shape, false),
    }
}
