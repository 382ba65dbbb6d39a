//! The fused loss as an operation of Burn, with its own backward: a plain Burn loop (module, optimizer) can use it in the
//! place of matrix product, logarithm and sum.
//!
//! The rates of a batch, which automatic differentiation would keep (batch x terms), are never made. Loss and gradients
//! come from [`Slopes`]: passes on the CPU, kernels on a card.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::ops::FloatTensor;

use super::slopes::{Slopes, tensor};
use crate::error::Result;
use crate::loader::Batch;

/// A backend that has the operation: automatic differentiation over one that gives slopes.
pub(crate) trait FusedLoss: AutodiffBackend<InnerBackend = Self::Inner> {
    /// The backend below.
    type Inner: Slopes<Device = Self::Device>;

    /// The loss of a batch: the sum of rate - x log max(rate, 1e-10), with the rates softmax(`l`) softmax(`f`).
    ///
    /// `l` holds the batch's rows of the free table behind L (documents x topics), `f` the free table behind F (topics x
    /// terms). With `held`, the counts come from there. Gives one number.
    fn fused_loss(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
        held: Option<&<Self::Inner as Slopes>::Held>,
    ) -> Result<FloatTensor<Self>>;
}

/// The backward: the gradients are there since the forward; they wait to be multiplied by the gradient of the loss.
#[derive(Debug)]
struct Known;

impl<B: Backend> Backward<B, 2> for Known {
    type State = [FloatTensor<B>; 2];

    fn backward(
        self,
        ops: Ops<Self::State, 2>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let outer = tensor::<B, 1>(gradients.consume::<B>(&ops.node)).reshape([1, 1]);
        for (parent, gradient) in ops.parents.into_iter().zip(ops.state) {
            if let Some(parent) = parent {
                let gradient = tensor::<B, 2>(gradient) * outer.clone();
                gradients.register::<B>(parent.id, gradient.into_primitive().tensor());
            }
        }
    }
}

impl<B: Slopes, C: CheckpointStrategy> FusedLoss for Autodiff<B, C> {
    type Inner = B;

    fn fused_loss(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
        held: Option<&B::Held>,
    ) -> Result<FloatTensor<Self>> {
        let slopes = B::slopes(l.primitive.clone(), f.primitive.clone(), batch, held)?;
        let nodes = [l.node.clone(), f.node.clone()];
        let prepared = Backward::<B, 2>::prepare::<C>(Known, nodes)
            .compute_bound()
            .stateful();
        Ok(match prepared {
            OpsKind::UnTracked(operation) => operation.finish(slopes.loss),
            OpsKind::Tracked(operation) => operation.finish([slopes.l, slopes.f], slopes.loss),
        })
    }
}
