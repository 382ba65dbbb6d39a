//! The fused loss as a Burn operation with its own backward: in a plain Burn loop (module, optimizer) it replaces
//! matrix product, logarithm and sum.
//!
//! The rates of a batch (batch x terms), which automatic differentiation would keep, are never stored. Loss and
//! gradients come from [`Gradients`]: passes over memory on the CPU, kernels on a GPU.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{Int, Tensor};

use crate::backend::{Gradients, tensor};
use crate::batches::Batch;
use crate::config::Precision;
use crate::error::Result;

/// A backend with the fused loss: automatic differentiation over a backend that has [`Gradients`].
pub trait FusedLoss: AutodiffBackend<InnerBackend = Self::Inner> {
    /// The backend without automatic differentiation.
    type Inner: Gradients<Device = Self::Device>;

    /// The loss of a batch, one number: the sum of rate - x log max(rate, 1e-10) with the rates softmax(`l`)
    /// softmax(`f`).
    ///
    /// `l` has the logits of L (all documents x topics), `documents` the indices of the batch's rows, `f` the logits of
    /// F (topics x terms). Counts are taken from `resident` if it is given. Only a GPU uses `precision`.
    fn fused_loss(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        documents: IntTensor<Self::Inner>,
        batch: &Batch<'_>,
        resident: Option<&<Self::Inner as Gradients>::Resident>,
        precision: Precision,
    ) -> Result<FloatTensor<Self>>;
}

/// A backward whose gradients are computed in the forward: it multiplies them by the gradient of the loss, and scatters
/// the gradients of the batch's rows into a table of L's shape.
#[derive(Debug)]
struct PrecomputedBackward;

#[derive(Debug, Clone)]
struct Saved<B: Backend> {
    /// Gradient with respect to the batch's rows of L's logits.
    l: FloatTensor<B>,
    /// Gradient with respect to F's logits.
    f: FloatTensor<B>,
    /// The batch's rows of L.
    documents: IntTensor<B>,
    /// Rows of L.
    total_rows: usize,
}

impl<B: Gradients> Backward<B, 2> for PrecomputedBackward {
    type State = Saved<B>;

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
        let Saved {
            l,
            f,
            documents,
            total_rows,
        } = ops.state;
        let [l_parent, f_parent] = ops.parents;
        if let Some(parent) = l_parent {
            gradients.register::<B>(parent.id, B::scatter(scaled(l), documents, total_rows));
        }
        if let Some(parent) = f_parent {
            gradients.register::<B>(parent.id, scaled(f));
        }
    }
}

impl<B: Gradients, C: CheckpointStrategy> FusedLoss for Autodiff<B, C> {
    type Inner = B;

    fn fused_loss(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        documents: IntTensor<Self::Inner>,
        batch: &Batch<'_>,
        resident: Option<&B::Resident>,
        precision: Precision,
    ) -> Result<FloatTensor<Self>> {
        let logits = tensor::<B, 2>(l.primitive.clone());
        let rows = Tensor::<B, 1, Int>::from_primitive(documents.clone());
        let rows = logits.clone().select(0, rows).into_primitive().tensor();
        let gradients = B::gradients(rows, f.primitive.clone(), batch, resident, precision)?;
        let nodes = [l.node.clone(), f.node.clone()];
        let prepared = Backward::<B, 2>::prepare::<C>(PrecomputedBackward, nodes)
            .compute_bound()
            .stateful();
        Ok(match prepared {
            OpsKind::UnTracked(operation) => operation.finish(gradients.loss),
            OpsKind::Tracked(operation) => {
                let saved = Saved {
                    l: gradients.l,
                    f: gradients.f,
                    documents,
                    total_rows: logits.dims()[0],
                };
                operation.finish(saved, gradients.loss)
            }
        })
    }
}
