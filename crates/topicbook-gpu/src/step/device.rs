//! The step for a device and a placement.

use burn::backend::autodiff::checkpoint::strategy::BalancedCheckpointing;
use burn::backend::flex::FlexDevice;
use burn::backend::{Autodiff, Flex};
use burn::tensor::backend::AutodiffBackend;
use burn_cuda::{Cuda, CudaDevice};

use crate::backend::with_gpu;
use crate::config::{GradientStep, Resolved, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::error::Result;

use super::cpu::FusedStep;
use super::loss::{Fused, Loss};
use super::offload::OffloadedStep;
use super::tensor::TensorStep;
use super::unfused_loss::Unfused;
use super::{State, Step, threads};

/// Makes the step for a device and a placement from a state, and calls `work` with it.
pub fn with_step<T>(
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
        },
        Resolved::Cuda(gpu) => with_step_on_gpu(gpu, settings, counts, placement, state, work),
    }
}

/// Burn's automatic differentiation with balanced checkpointing.
type Checkpointed<B> = Autodiff<B, BalancedCheckpointing>;

/// Makes a step on tensors, and calls `work` with it.
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
