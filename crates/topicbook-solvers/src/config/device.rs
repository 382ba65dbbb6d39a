//! Where the training runs, chosen when the fit starts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
#[cfg(feature = "cuda")]
use crate::system::{SelfCheck, cuda_driver};

/// The device that a model is trained on.
///
/// # Self-check
/// When a process first plans a fit on a GPU, small fits of 20 documents run there and on the CPU, with dense and with
/// sparse counts, and losses, L and F are compared. Their steps are a matter of milliseconds; NVRTC compiles the kernels
/// before, which takes longer and is not counted in that. Where results differ by more than rounding, or the check cannot
/// run, [`Auto`](Self::Auto) uses the CPU, and one line says why: in the plan, in the progress of the fit and in
/// `Fit::note`. A GPU that was asked for by its number is refused with an error.
///
/// The result is kept in a small file, so that later processes do not check again: in the folder `self-check` of
/// `TOPICBOOK_CACHE`, else of `$XDG_CACHE_HOME/topicbook`, else of `~/.cache/topicbook`. It holds for one driver and NVRTC,
/// one GPU (by its UUID) and one build (by the crate's version, and a checksum of the sources of its kernels). Where the
/// file cannot be written, each process checks. `doctor` shows the result and the file.
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
    /// The first CUDA GPU that can be used, if a driver and NVRTC are found and it passes its self-check, else the CPU.
    #[default]
    Auto,
    /// The CPU, with as many threads as rayon's global pool.
    Cpu,
    /// The CUDA GPU of this number, counted from 0; a fit is refused when it cannot be used or fails its self-check.
    Cuda(usize),
}

impl Device {
    /// What this device stands for on this machine, and why: which GPU [`Device::Auto`] finds, or what is missing for
    /// one. A self-check counts once it has run in this process, or its result was read.
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
            (Device::Auto, Ok(Resolved::Cuda(gpu))) if has_failed(gpu) => {
                format!("CPU (CUDA GPU {gpu} fails its self-check)")
            }
            (_, Ok(Resolved::Cuda(gpu))) if has_failed(gpu) => {
                format!("CUDA GPU {gpu}, which fails its self-check")
            }
            (_, Ok(Resolved::Cuda(gpu))) => format!("CUDA GPU {gpu}"),
            (Device::Auto, Ok(Resolved::Cpu)) => match missing() {
                None => "CPU".into(),
                Some(missing) => format!("CPU ({missing})"),
            },
            (_, Ok(Resolved::Cpu)) => "CPU".into(),
            (_, Err(error)) => error.to_string(),
        }
    }

    #[doc(hidden)]
    pub fn resolve(&self) -> Result<Resolved> {
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
pub const WITHOUT_CUDA: &str = "topicbook was built without the feature cuda";

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

/// Whether this process knows that a GPU fails its self-check.
#[cfg(feature = "cuda")]
fn has_failed(gpu: usize) -> bool {
    SelfCheck::known(gpu).is_some_and(|known| known.difference.is_some())
}

#[cfg(not(feature = "cuda"))]
fn has_failed(_gpu: usize) -> bool {
    false
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
        None => Err(Error::device(format!(
            "CUDA GPU {gpu} was asked for, but this machine has {}",
            cuda.gpus.len()
        ))
        .fix("GPUs are numbered from 0")),
    }
}

#[cfg(not(feature = "cuda"))]
fn named_gpu(gpu: usize) -> Result<()> {
    Err(no_cuda(gpu))
}

/// The error of whatever would need a GPU in a build without CUDA.
#[cfg(not(feature = "cuda"))]
pub fn no_cuda(gpu: usize) -> Error {
    unusable(gpu, WITHOUT_CUDA)
}

fn unusable(gpu: usize, missing: &str) -> Error {
    Error::device(format!("CUDA GPU {gpu} was asked for, but {missing}"))
        .fix("install what is missing, or use Device::Auto or Device::Cpu")
}

/// A device of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolved {
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
