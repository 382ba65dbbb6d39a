//! [`Gradients`] for Burn's CPU backend, by the passes of the fused step.

use burn::backend::Flex;
use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{IndexingUpdateOp, Int, Tensor, TensorData};

use crate::backend::{BatchGradients, Gradients, tensor};
use crate::batches::Batch;
use crate::config::Precision;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::Result;

use super::cpu::loss_and_gradients;

impl Gradients for Flex {
    /// The CPU backend reads the counts in place; nothing is made resident.
    type Resident = ();

    fn make_resident(_counts: &Counts, _device: &Self::Device) -> Result<()> {
        Ok(())
    }

    fn gradients(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
        _resident: Option<&()>,
        _precision: Precision,
    ) -> Result<BatchGradients<Self>> {
        let (l, f) = (tensor::<Self, 2>(l), tensor::<Self, 2>(f));
        let device = f.device();
        let (l, f) = (Matrix::from_tensor(l)?, Matrix::from_tensor(f)?);
        let gradients = loss_and_gradients(&batch.view, batch.rows, &l, &f);
        let table = |values: Vec<f32>, (rows, columns): (usize, usize)| {
            let table =
                Tensor::<Self, 2>::from_data(TensorData::new(values, [rows, columns]), &device);
            table.into_primitive().tensor()
        };
        let loss = Tensor::<Self, 1>::from_data([gradients.loss as f32], &device);
        Ok(BatchGradients {
            loss: loss.into_primitive().tensor(),
            l: table(gradients.l, l.shape()),
            f: table(gradients.f, f.shape()),
        })
    }

    fn scatter(
        rows: FloatTensor<Self>,
        documents: IntTensor<Self>,
        total_rows: usize,
    ) -> FloatTensor<Self> {
        let rows = tensor::<Self, 2>(rows);
        let documents = Tensor::<Self, 1, Int>::from_primitive(documents);
        let table = Tensor::<Self, 2>::zeros([total_rows, rows.dims()[1]], &rows.device());
        let table = table.select_assign(0, documents, rows, IndexingUpdateOp::Add);
        table.into_primitive().tensor()
    }
}
