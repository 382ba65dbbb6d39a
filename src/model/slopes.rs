//! Loss and gradients of a batch as one operation, by what a backend is best at.

use burn::backend::Flex;
use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorData, TensorPrimitive};

use super::fused::loss_and_gradients;
use super::step::to_matrix;
use crate::counts::Counts;
use crate::error::Result;
use crate::loader::Batch;

/// What one batch asks of the tables.
pub(crate) struct SlopesOn<B: Backend> {
    /// One number.
    pub(crate) loss: FloatTensor<B>,
    /// With respect to the batch's rows of the free table behind L: documents x topics.
    pub(crate) l: FloatTensor<B>,
    /// With respect to the free table behind F: topics x terms.
    pub(crate) f: FloatTensor<B>,
}

/// A backend that gives loss and gradients without a table of rates.
pub(crate) trait Slopes: Backend {
    /// All counts on the device.
    type Held: Send;

    /// Brings all counts to the device, so that batches need not be sent.
    fn hold(counts: &Counts, device: &Self::Device) -> Result<Self::Held>;

    /// Loss and gradients of a batch; `l` holds its rows of the free table behind L (documents x topics), `f` the free
    /// table behind F (topics x terms). With `held`, counts come from there.
    fn slopes(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
        held: Option<&Self::Held>,
    ) -> Result<SlopesOn<Self>>;
}

/// The same passes over memory as those of the fused step.
impl Slopes for Flex {
    /// They are there already.
    type Held = ();

    fn hold(_counts: &Counts, _device: &Self::Device) -> Result<()> {
        Ok(())
    }

    fn slopes(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
        _held: Option<&()>,
    ) -> Result<SlopesOn<Self>> {
        let (l, f) = (tensor::<Self, 2>(l), tensor::<Self, 2>(f));
        let device = f.device();
        let (l, f) = (to_matrix(l)?, to_matrix(f)?);
        let slopes = loss_and_gradients(&batch.view, batch.rows, &l, &f);
        let table = |values: Vec<f32>, (rows, columns): (usize, usize)| {
            let table =
                Tensor::<Self, 2>::from_data(TensorData::new(values, [rows, columns]), &device);
            table.into_primitive().tensor()
        };
        let loss = Tensor::<Self, 1>::from_data([slopes.loss as f32], &device);
        Ok(SlopesOn {
            loss: loss.into_primitive().tensor(),
            l: table(slopes.l, l.shape()),
            f: table(slopes.f, f.shape()),
        })
    }
}

pub(crate) fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}
