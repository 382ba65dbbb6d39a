//! Errors of a device and its runtime.

use std::fmt::{Debug, Display};

use crate::error::{Error, ErrorKind};

/// The remedy for a transfer that failed, most often for lack of memory.
const NEED_LESS_MEMORY: &str = "use a smaller batch size, or Device::Cpu";

/// Values could not be copied to the device.
pub(crate) fn upload_failed(error: impl Debug) -> Error {
    let what = format!("the upload to the device failed: {error:?}");
    Error::new(ErrorKind::Device, what).fix(NEED_LESS_MEMORY)
}

/// Values could not be copied from the device. Launches are asynchronous, so an earlier kernel may be the cause.
pub(crate) fn download_failed(error: impl Debug) -> Error {
    let what = format!("the device did not return its result: {error:?}");
    Error::new(ErrorKind::Device, what).fix(NEED_LESS_MEMORY)
}

/// The device returned data of another type or layout than expected.
pub(crate) fn unexpected_data(what: impl Display) -> Error {
    let what = format!("the device returned unexpected data: {what}");
    Error::new(ErrorKind::Device, what)
}

/// A step that failed has consumed its tables, and no later step can run.
pub(crate) fn earlier_step_failed() -> Error {
    Error::new(ErrorKind::Device, "an earlier step failed")
}

/// A batch has more nonzero counts than the kernels' 32-bit indices can address.
pub(crate) fn too_many_nonzeros(nonzeros: usize) -> Error {
    let what = format!(
        "a batch has {nonzeros} nonzero counts, and kernels on a GPU count them in 32 bits"
    );
    Error::new(ErrorKind::Device, what).fix("use a smaller batch size")
}

/// CubeCL's runtime for a GPU failed, with this message.
pub(crate) fn gpu_failed(gpu: usize, why: &str) -> Error {
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
    Error::new(ErrorKind::Device, what).fix(remedy)
}
