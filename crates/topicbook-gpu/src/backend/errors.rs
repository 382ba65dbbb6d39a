//! Errors of a device and its runtime.

use std::fmt::Debug;

use crate::data::NEED_LESS_MEMORY;
use crate::error::Error;

/// Values could not be copied to the device.
pub fn upload_failed(error: impl Debug) -> Error {
    let what = format!("the upload to the device failed: {error:?}");
    Error::device(what).fix(NEED_LESS_MEMORY)
}

/// A step that failed has consumed its tables, and no later step can run.
pub fn earlier_step_failed() -> Error {
    Error::device("an earlier step failed")
}

/// A batch has more nonzero counts than the kernels' 32-bit indices can address.
pub fn too_many_nonzeros(nonzeros: usize) -> Error {
    let what = format!(
        "a batch has {nonzeros} nonzero counts, and kernels on a GPU count them in 32 bits"
    );
    Error::device(what).fix("use a smaller batch size")
}

/// CubeCL's runtime for a GPU failed, with this message.
pub fn gpu_failed(gpu: usize, why: &str) -> Error {
    let out_of_memory = ["can't allocate", "OUT_OF_MEMORY", "out of memory"];
    let (what, remedy) = match out_of_memory.iter().any(|text| why.contains(text)) {
        true => (
            format!("CUDA GPU {gpu} is out of memory: {why}"),
            "end other processes that use the GPU and fit again (a new plan fits the memory that is free then), or use Device::Cpu",
        ),
        false => (
            format!("CUDA GPU {gpu} failed: {why}"),
            "restart the kernel and fit again, or use Device::Cpu",
        ),
    };
    Error::device(what).fix(remedy)
}
