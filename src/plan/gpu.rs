//! GPU facts and memory for plans.

use crate::backend::has_context;
use crate::config::{Resolved, Solver};
use crate::cost::{Item, Shape};
use crate::solvers;
use crate::step::footprint;
use crate::system::{cuda_driver, gpu_memory};

/// VRAM that the driver allocates for a process's CUDA context.
const CONTEXT: u64 = 512 << 20;

/// Bytes of VRAM that a fit can allocate; `None` on the CPU, or if NVML does not report free memory.
pub(super) fn free_vram(device: Resolved) -> Option<u64> {
    let Resolved::Cuda(gpu) = device else {
        return None;
    };
    let context = if has_context(gpu) { 0 } else { CONTEXT };
    gpu_memory(gpu).map(|memory| memory.free.saturating_sub(context))
}

/// Bytes of the largest page of CubeCL's allocator: a quarter of the GPU's memory.
pub(super) fn largest_page(device: Resolved) -> u64 {
    match (device, cuda_driver::find()) {
        (Resolved::Cuda(gpu), Ok(cuda)) => cuda.gpus[gpu].memory / 4,
        _ => 0,
    }
}

/// The items of a fit in VRAM.
pub(super) fn vram(solver: &Solver, shape: &Shape, resident: bool) -> Vec<Item> {
    match solver.is_full_pass() {
        true => solvers::memory_on_gpu(solver, shape, resident),
        false => footprint::on_gpu(shape, resident, true),
    }
}

/// The items of gradient steps on a GPU in host memory.
pub(super) fn ram_of_steps(shape: &Shape, resident: bool, resumed: bool) -> Vec<Item> {
    footprint::in_host_memory(shape, resident, resumed)
}

/// The items of gradient steps on Burn's tensors on the CPU.
pub(super) fn ram_of_tensors(shape: &Shape, resumed: bool) -> Vec<Item> {
    footprint::of_tensors(shape, resumed)
}

/// The items of a solver on a GPU in host memory.
pub(super) fn ram_of_solver(solver: &Solver, shape: &Shape, resident: bool) -> Vec<Item> {
    solvers::host_memory_with_gpu(solver, shape, resident)
}
