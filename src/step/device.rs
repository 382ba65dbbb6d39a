//! The step for a device and a placement, and the threads it runs on.

#[cfg(feature = "cuda")]
use burn::backend::autodiff::checkpoint::strategy::BalancedCheckpointing;
#[cfg(feature = "cuda")]
use burn::backend::flex::FlexDevice;
#[cfg(feature = "cuda")]
use burn::backend::{Autodiff, Flex};
#[cfg(feature = "cuda")]
use burn::tensor::backend::AutodiffBackend;
#[cfg(feature = "cuda")]
use burn_cuda::{Cuda, CudaDevice};

use crate::backend::with_gpu;
use crate::config::{GradientStep, Resolved, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::system::{Team, spread_threads};

use super::cpu::FusedStep;
#[cfg(feature = "cuda")]
use super::loss::{Fused, Loss};
#[cfg(feature = "cuda")]
use super::offload::OffloadedStep;
#[cfg(feature = "cuda")]
use super::tensor::TensorStep;
#[cfg(feature = "cuda")]
use super::unfused_loss::Unfused;
use super::{State, Step};

/// Makes the step for a device and a placement from a state, and calls `work` with it.
pub(crate) fn with_step<T>(
    settings: &Settings,
    counts: &Counts,
    (device, placement): (Resolved, Placement),
    state: State,
    work: impl FnOnce(&mut dyn Step) -> Result<T> + Send,
) -> Result<T>
where
    T: Send,
{
    match device {
        Resolved::Cpu => match settings.mini_batch().step {
            GradientStep::Fused => work(&mut FusedStep::new(settings, placement, state)?),
            #[cfg(feature = "cuda")]
            step => {
                let start = (settings, counts, placement, state);
                threads()?.install(|| match step {
                    GradientStep::Checkpointing => {
                        on_tensors::<Checkpointed<Flex>, Unfused<_>, _>(start, FlexDevice, work)
                    }
                    GradientStep::CustomBackward => {
                        on_tensors::<Autodiff<Flex>, Fused<_>, _>(start, FlexDevice, work)
                    }
                    _ => on_tensors::<Autodiff<Flex>, Unfused<_>, _>(start, FlexDevice, work),
                })
            }
            #[cfg(not(feature = "cuda"))]
            step => Err(Error::setting(format!(
                "{step} in a build without the feature cuda"
            ))),
        },
        Resolved::Cuda(gpu) => with_step_on_gpu(gpu, settings, counts, placement, state, work),
    }
}

/// Burn's automatic differentiation with balanced checkpointing.
#[cfg(feature = "cuda")]
type Checkpointed<B> = Autodiff<B, BalancedCheckpointing>;

/// Makes a step on tensors, and calls `work` with it.
#[cfg(feature = "cuda")]
fn on_tensors<B: AutodiffBackend, L: Loss<B>, T>(
    (settings, counts, placement, state): (&Settings, &Counts, Placement, State),
    device: B::Device,
    work: impl FnOnce(&mut dyn Step) -> Result<T>,
) -> Result<T>
where
    TensorStep<B, L>: Step,
{
    let mut step = TensorStep::<B, L>::new(settings, placement, state, device);
    if placement.resident {
        step.make_resident(counts)?;
    }
    work(&mut step)
}

#[cfg(feature = "cuda")]
fn with_step_on_gpu<T>(
    gpu: usize,
    settings: &Settings,
    counts: &Counts,
    placement: Placement,
    state: State,
    work: impl FnOnce(&mut dyn Step) -> Result<T>,
) -> Result<T> {
    with_gpu(gpu, || {
        let gpu = CudaDevice::new(gpu);
        if placement.l_on_host {
            let mut step = OffloadedStep::<Cuda>::new(settings, placement, state, gpu)?;
            if placement.resident {
                step.make_resident(counts)?;
            }
            // Not in a thread pool: this thread makes all calls to the GPU, and updates the rows of L itself.
            return work(&mut step);
        }
        let start = (settings, counts, placement, state);
        match settings.mini_batch().step {
            GradientStep::Fused | GradientStep::CustomBackward => {
                on_tensors::<Autodiff<Cuda>, Fused<_>, _>(start, gpu, work)
            }
            GradientStep::Autodiff => on_tensors::<Autodiff<Cuda>, Unfused<_>, _>(start, gpu, work),
            GradientStep::Checkpointing => {
                on_tensors::<Checkpointed<Cuda>, Unfused<_>, _>(start, gpu, work)
            }
        }
    })
}

#[cfg(not(feature = "cuda"))]
fn with_step_on_gpu<T>(
    gpu: usize,
    _settings: &Settings,
    _counts: &Counts,
    _placement: Placement,
    _state: State,
    _work: impl FnOnce(&mut dyn Step) -> Result<T>,
) -> Result<T> {
    Err(crate::config::no_cuda(gpu))
}

/// A thread pool for one fit. The training loop runs inside it, which saves waking the pool from outside at every step;
/// and as each fit has its own pool, concurrent fits do not wait for each other.
pub(crate) fn threads() -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .build()
        .map_err(no_threads)?;
    spread_threads(&pool);
    Ok(pool)
}

/// The threads of the gradient steps of one fit, which work on sections that are shorter than a pool takes to begin them.
pub(crate) fn team() -> Result<Team> {
    Team::new().map_err(no_threads)
}

fn no_threads(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Space, "the threads of the fit cannot be started")
        .fix("free some memory, or raise the limit on threads of this process")
        .because(error)
}

/// Runs `work` on a device; failures of a GPU become errors.
pub(crate) fn catch_device_errors<T>(
    device: Resolved,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match device {
        Resolved::Cpu => work(),
        Resolved::Cuda(gpu) => with_gpu(gpu, work),
    }
}
