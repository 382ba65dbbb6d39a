//! The fused loss as an operation of Burn, with its own backward: a plain Burn loop (module, optimizer) can use it in the
//! place of matrix product, logarithm and sum.
//!
//! The rates of a batch, which automatic differentiation would keep (batch x terms), are never made. Loss and gradients
//! come from [`Slopes`]: passes on the CPU, kernels on a card.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{Int, Tensor};

use super::precision::Precision;
use super::slopes::{Slopes, tensor};
use crate::error::Result;
use crate::loader::Batch;

/// A backend that has the operation: automatic differentiation over one that gives slopes.
pub(crate) trait FusedLoss: AutodiffBackend<InnerBackend = Self::Inner> {
    /// The backend below.
    type Inner: Slopes<Device = Self::Device>;

    /// The loss of a batch: the sum of rate - x log max(rate, 1e-10), with the rates softmax(`l`) softmax(`f`).
    ///
    /// `l` is the free table behind L (all documents x topics), `documents` the batch's rows of it, `f` the free table
    /// behind F (topics x terms). With `held`, the counts come from there. `precision` is a card's.
    /// Gives one number.
    fn fused_loss(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        documents: IntTensor<Self::Inner>,
        batch: &Batch<'_>,
        held: Option<&<Self::Inner as Slopes>::Held>,
        precision: Precision,
    ) -> Result<FloatTensor<Self>>;
}

/// The backward: the gradients are there since the forward; they wait to be multiplied by the gradient of the loss, and
/// L's rows to be put into their places.
#[derive(Debug)]
struct Known;

/// Of L's rows and of F, the rows' numbers, and how many rows L has.
#[derive(Debug, Clone)]
struct Gradients<B: Backend> {
    l: FloatTensor<B>,
    f: FloatTensor<B>,
    documents: IntTensor<B>,
    all: usize,
}

impl<B: Slopes> Backward<B, 2> for Known {
    type State = Gradients<B>;

    fn backward(
        self,
        ops: Ops<Self::State, 2>,
        gradients: &mut grads::Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let outer = tensor::<B, 1>(gradients.consume::<B>(&ops.node)).reshape([1, 1]);
        let scaled = |gradient| {
            let gradient = tensor::<B, 2>(gradient) * outer.clone();
            gradient.into_primitive().tensor()
        };
        let Gradients {
            l,
            f,
            documents,
            all,
        } = ops.state;
        let [of_l, of_f] = ops.parents;
        if let Some(parent) = of_l {
            gradients.register::<B>(parent.id, B::scatter(scaled(l), documents, all));
        }
        if let Some(parent) = of_f {
            gradients.register::<B>(parent.id, scaled(f));
        }
    }
}

impl<B: Slopes, C: CheckpointStrategy> FusedLoss for Autodiff<B, C> {
    type Inner = B;

    fn fused_loss(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        documents: IntTensor<Self::Inner>,
        batch: &Batch<'_>,
        held: Option<&B::Held>,
        precision: Precision,
    ) -> Result<FloatTensor<Self>> {
        let all = tensor::<B, 2>(l.primitive.clone());
        let rows = Tensor::<B, 1, Int>::from_primitive(documents.clone());
        let rows = all.clone().select(0, rows).into_primitive().tensor();
        let slopes = B::slopes(rows, f.primitive.clone(), batch, held, precision)?;
        let nodes = [l.node.clone(), f.node.clone()];
        let prepared = Backward::<B, 2>::prepare::<C>(Known, nodes)
            .compute_bound()
            .stateful();
        Ok(match prepared {
            OpsKind::UnTracked(operation) => operation.finish(slopes.loss),
            OpsKind::Tracked(operation) => {
                let gradients = Gradients {
                    l: slopes.l,
                    f: slopes.f,
                    documents,
                    all: all.dims()[0],
                };
                operation.finish(gradients, slopes.loss)
            }
        })
    }
}
