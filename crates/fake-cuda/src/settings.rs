//! The simulated GPU, as environment variables describe it.

use std::env;

/// All GPUs have the same settings.
pub struct Settings {
    /// `FAKE_CUDA_MEMORY`: bytes of GPU memory.
    pub memory: usize,
    /// `FAKE_CUDA_USED`: bytes of it that other processes use.
    pub used_by_others: usize,
    /// `FAKE_CUDA_CAPABILITY`: the compute capability, as in `8.9`.
    pub capability: (i32, i32),
    /// `FAKE_CUDA_CUDA`: the newest CUDA version that the driver supports.
    pub cuda: (i32, i32),
    /// `FAKE_CUDA_NVRTC`: the version that the stand-in for NVRTC reports.
    pub nvrtc: (i32, i32),
    /// `FAKE_CUDA_GPUS`: the number of GPUs.
    pub gpus: i32,
    /// `FAKE_CUDA_BUS`: bytes per second in each direction; without it copies take no time.
    pub bus: Option<f64>,
}

impl Settings {
    pub fn from_environment() -> Self {
        Self {
            memory: number("FAKE_CUDA_MEMORY").unwrap_or(8 << 30),
            used_by_others: number("FAKE_CUDA_USED").unwrap_or(0),
            capability: version("FAKE_CUDA_CAPABILITY").unwrap_or((8, 0)),
            cuda: version("FAKE_CUDA_CUDA").unwrap_or((12, 8)),
            nvrtc: version("FAKE_CUDA_NVRTC").unwrap_or((12, 8)),
            gpus: number("FAKE_CUDA_GPUS").unwrap_or(1),
            bus: number("FAKE_CUDA_BUS"),
        }
    }
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

fn version(name: &str) -> Option<(i32, i32)> {
    let text = env::var(name).ok()?;
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
