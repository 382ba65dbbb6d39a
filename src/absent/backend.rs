//! Stands in for the GPU backends in a build without the feature `cuda`, where no fit is ever given a GPU.

use crate::config::no_cuda;
use crate::error::Result;

/// Samples nothing.
pub(crate) struct VramSampler;

impl VramSampler {
    pub(crate) fn start(_gpu: usize) -> Self {
        Self
    }

    pub(crate) fn end(self) -> Option<(u64, u64)> {
        None
    }
}

/// Bytes in use and reserved by the GPU runtime's allocator: there is none.
pub(crate) fn allocator_usage(_gpu: usize) -> Option<(u64, u64)> {
    None
}

/// No GPU is used.
#[cfg(feature = "notebook")]
pub(crate) fn gpus_now() -> Vec<(u64, u64, Option<u64>)> {
    Vec::new()
}

/// Nothing is to be released.
#[cfg(feature = "notebook")]
pub(crate) fn release_gpus() {}

/// Number of device errors so far.
pub(crate) fn device_errors(_gpu: usize) -> usize {
    0
}

/// Refuses.
pub(crate) fn with_gpu<T>(gpu: usize, _work: impl FnOnce() -> Result<T>) -> Result<T> {
    Err(no_cuda(gpu))
}
