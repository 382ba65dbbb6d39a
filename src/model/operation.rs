//! The fused loss as an operation of Burn, with its own backward: a plain Burn loop (module, optimizer) can use it in the
//! place of matrix product, logarithm and sum.
//!
//! The rates of a batch, which automatic differentiation would keep (batch x terms), are never made. Loss and gradients
//! come from the same passes on the CPU as those of the fused step, so tables that live on a card travel to it.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorData, TensorPrimitive};

use super::fused::loss_and_gradients;
use super::step::to_matrix;
use crate::error::Result;
use crate::loader::Batch;

/// A backend that has the operation: every one with automatic differentiation.
pub(crate) trait FusedLoss: AutodiffBackend {
    /// The loss of a batch: the sum of rate - x log max(rate, 1e-10), with the rates softmax(`l`) softmax(`f`).
    ///
    /// `l` holds the batch's rows of the free table behind L (documents x topics), `f` the free table behind F (topics x
    /// terms). Gives one number.
    fn fused_loss(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
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

impl<B: Backend, C: CheckpointStrategy> FusedLoss for Autodiff<B, C> {
    fn fused_loss(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
    ) -> Result<FloatTensor<Self>> {
        let table = |primitive: &FloatTensor<B>| tensor::<B, 2>(primitive.clone());
        let device = table(&f.primitive).device();
        let (l_table, f_table) = (
            to_matrix(table(&l.primitive))?,
            to_matrix(table(&f.primitive))?,
        );
        let slopes = loss_and_gradients(&batch.view, batch.rows, &l_table, &f_table);
        let loss = Tensor::<B, 1>::from_data(TensorData::from([slopes.loss as f32]), &device);
        let loss = loss.into_primitive().tensor();
        let nodes = [l.node.clone(), f.node.clone()];
        let prepared = Backward::<B, 2>::prepare::<C>(Known, nodes)
            .compute_bound()
            .stateful();
        Ok(match prepared {
            OpsKind::UnTracked(operation) => operation.finish(loss),
            OpsKind::Tracked(operation) => {
                let gradient = |values: Vec<f32>, shape: (usize, usize)| {
                    let data = TensorData::new(values, [shape.0, shape.1]);
                    let gradient = Tensor::<B, 2>::from_data(data, &device);
                    gradient.into_primitive().tensor()
                };
                let gradients = [
                    gradient(slopes.l, l_table.shape()),
                    gradient(slopes.f, f_table.shape()),
                ];
                operation.finish(gradients, loss)
            }
        })
    }
}

fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}
