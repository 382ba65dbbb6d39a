//! GPU facts and memory for plans.

use std::path::Path;

use crate::backend::{cube, has_context};
use crate::config::{Device, Resolved, Solver};
use crate::cost::{Item, Shape};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::solvers;
use crate::step::footprint;
use crate::system::{SelfCheck, cuda_driver, gpu_memory};
use crate::text::shown_path;
use topicbook_gpu::self_check::self_check;

/// VRAM that the driver allocates for a process's CUDA context.
const CONTEXT: u64 = 512 << 20;

/// The place of errors of a self-check.
const SELF_CHECK: &str = "the self-check before the first fit on this GPU";

/// The device of a fit after the self-check of its GPU: the CPU in place of a GPU that has failed, if `requested` leaves the
/// choice, with a line that says why.
///
/// # Errors
/// When the GPU was requested by its number and fails, or could not run the check.
pub(super) fn after_self_check(
    device: Resolved,
    requested: Device,
) -> Result<(Resolved, Option<String>)> {
    let Resolved::Cuda(gpu) = device else {
        return Ok((device, None));
    };
    let error = match self_check(gpu) {
        Ok(SelfCheck {
            difference: None, ..
        }) => return Ok((device, None)),
        Ok(SelfCheck {
            difference: Some(difference),
            file,
        }) => failed(gpu, &difference, file.as_deref()),
        Err(error) => could_not_run(gpu, error),
    };
    match requested {
        Device::Auto => {
            let line = format!("{}. The CPU is used for this fit.", error.headline());
            Ok((Resolved::Cpu, Some(line)))
        }
        _ => Err(error),
    }
}

/// The error for a GPU whose results differ from the CPU's.
fn failed(gpu: usize, difference: &str, file: Option<&Path>) -> Error {
    let again = match file {
        Some(file) => format!(
            "another driver is checked by itself, and to check this one again delete {} and start a new process",
            shown_path(file)
        ),
        None => "the next process checks again".into(),
    };
    Error::device(format!("CUDA GPU {gpu} fails its self-check: {difference}"))
        .at(SELF_CHECK)
        .fix(format!("use Device::Cpu, or update the driver: {again}"))
}

/// The error for a GPU that could not run its self-check, most often for lack of memory.
fn could_not_run(gpu: usize, error: Error) -> Error {
    let what = format!(
        "CUDA GPU {gpu} could not run its self-check: {}",
        error.headline()
    );
    Error::new(error.kind(), what)
        .at(SELF_CHECK)
        .fix(error.remedy().unwrap_or("use Device::Cpu").to_string())
        .because(error)
}

/// Bytes of VRAM that a fit can allocate; `None` on the CPU, or if NVML does not report free memory.
pub(super) fn free_vram(device: Resolved) -> Option<u64> {
    let Resolved::Cuda(gpu) = device else {
        return None;
    };
    let context = if has_context(gpu) { 0 } else { CONTEXT };
    gpu_memory(gpu).map(|memory| memory.free.saturating_sub(context))
}

/// Bytes of a dense count on a GPU.
pub(super) fn bytes_of_count(counts: &Counts) -> u64 {
    cube::bytes_of_count(counts)
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
