//! Where the training runs, chosen when the fit starts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "cuda")]
use crate::system::cuda_driver;

/// The device that a model is trained on.
///
/// ```
/// use topicbook::{Device, Synthetic, TopicModel};
/// let counts = Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
/// let model = TopicModel::new(3).epochs(2).quiet();
/// let fit = model.clone().device(Device::Cpu).fit(&counts)?;
/// assert_eq!(fit.settings().device, Device::Cpu);
/// assert!(model.device(Device::Cuda(99)).plan(&counts).is_err()); // this machine has no such GPU
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Device {
    /// The first CUDA GPU that can be used, if a driver and NVRTC are found, else the CPU.
    #[default]
    Auto,
    /// The CPU, with as many threads as rayon's global pool.
    Cpu,
    /// The CUDA GPU of this number, counted from 0; a fit is refused when it cannot be used.
    Cuda(usize),
}

impl Device {
    /// What this device stands for on this machine, and why: which GPU [`Device::Auto`] finds, or what is missing for
    /// one.
    ///
    /// ```
    /// use topicbook::Device;
    /// assert_eq!(Device::Cpu.describe(), "CPU");
    /// assert!(Device::Auto.describe().starts_with("C")); // "CUDA GPU 0", or "CPU" and why
    /// assert!(Device::Cuda(99).describe().contains("was asked for"));
    /// ```
    #[doc(alias = "is_available")]
    pub fn describe(&self) -> String {
        match (self, self.resolve()) {
            (_, Ok(Resolved::Cuda(gpu))) => format!("CUDA GPU {gpu}"),
            (Device::Auto, Ok(Resolved::Cpu)) => match missing() {
                None => "CPU".into(),
                Some(missing) => format!("CPU ({missing})"),
            },
            (_, Ok(Resolved::Cpu)) => "CPU".into(),
            (_, Err(error)) => error.to_string(),
        }
    }

    pub(crate) fn resolve(&self) -> Result<Resolved> {
        match *self {
            Device::Cpu => Ok(Resolved::Cpu),
            Device::Auto => Ok(first_gpu().map_or(Resolved::Cpu, Resolved::Cuda)),
            Device::Cuda(gpu) => named_gpu(gpu).map(|()| Resolved::Cuda(gpu)),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => f.write_str("the first GPU, or the CPU"),
            Device::Cpu => f.write_str("CPU"),
            Device::Cuda(gpu) => write!(f, "CUDA GPU {gpu}"),
        }
    }
}

/// What is missing in a build without the feature `cuda`.
#[cfg(not(feature = "cuda"))]
pub(crate) const WITHOUT_CUDA: &str = "topicbook was built without the feature cuda";

/// The first GPU that can be used.
#[cfg(feature = "cuda")]
fn first_gpu() -> Option<usize> {
    cuda_driver::find()
        .ok()
        .and_then(|cuda| cuda.first_usable())
}

#[cfg(not(feature = "cuda"))]
fn first_gpu() -> Option<usize> {
    None
}

/// Why no GPU is looked at.
#[cfg(feature = "cuda")]
fn missing() -> Option<String> {
    cuda_driver::find().err()
}

#[cfg(not(feature = "cuda"))]
fn missing() -> Option<String> {
    Some(WITHOUT_CUDA.into())
}

/// Checks that a GPU can be used.
#[cfg(feature = "cuda")]
fn named_gpu(gpu: usize) -> Result<()> {
    let cuda = cuda_driver::find().map_err(|missing| unusable(gpu, &missing))?;
    match cuda
        .gpus
        .get(gpu)
        .map(|found| found.unusable_because.clone())
    {
        Some(None) => Ok(()),
        Some(Some(missing)) => Err(unusable(gpu, &missing)),
        None => Err(Error::new(
            ErrorKind::Device,
            format!(
                "CUDA GPU {gpu} was asked for, but this machine has {}",
                cuda.gpus.len()
            ),
        )
        .fix("GPUs are numbered from 0")),
    }
}

#[cfg(not(feature = "cuda"))]
fn named_gpu(gpu: usize) -> Result<()> {
    Err(no_cuda(gpu))
}

/// The error of whatever would need a GPU in a build without CUDA.
#[cfg(not(feature = "cuda"))]
pub(crate) fn no_cuda(gpu: usize) -> Error {
    unusable(gpu, WITHOUT_CUDA)
}

fn unusable(gpu: usize, missing: &str) -> Error {
    Error::new(
        ErrorKind::Device,
        format!("CUDA GPU {gpu} was asked for, but {missing}"),
    )
    .fix("install what is missing, or use Device::Auto or Device::Cpu")
}

/// A device of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolved {
    Cpu,
    /// Never made without the feature `cuda`.
    Cuda(usize),
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resolved::Cpu => write!(f, "CPU ({} threads)", rayon::current_num_threads()),
            Resolved::Cuda(gpu) => write!(f, "CUDA GPU {gpu}"),
        }
    }
}
