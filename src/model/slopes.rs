//! Loss and gradients of a batch as one operation, by what a backend is best at.

use burn::backend::Flex;
use burn::tensor::backend::Backend;
use burn::tensor::ops::{FloatTensor, IntTensor};
use burn::tensor::{IndexingUpdateOp, Int, Tensor, TensorData, TensorPrimitive};

use super::fused::loss_and_gradients;
use super::kernels::Stay;
use super::precision::Precision;
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
    /// table behind F (topics x terms). With `held`, counts come from there. `precision` is a card's.
    fn slopes(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
        held: Option<&Self::Held>,
        precision: Precision,
    ) -> Result<SlopesOn<Self>>;

    /// A table of `all` rows that are zero but for the rows `documents`, which are `rows`. A batch of a fit meets no
    /// document twice.
    fn scatter(
        rows: FloatTensor<Self>,
        documents: IntTensor<Self>,
        all: usize,
    ) -> FloatTensor<Self>;
}

/// A backend that gives the sums that slopes are made of, which are expectation-maximisation's too.
pub(crate) trait Sums: Backend {
    /// A batch's counts on the device.
    type Sent: Send;

    /// Brings a batch's counts there; `stay`: what is known of batches that come again.
    fn send(
        batch: &Batch<'_>,
        terms: usize,
        stay: Option<Stay>,
        device: &Self::Device,
    ) -> Result<Self::Sent>;

    /// For each document, the sum of x / rate times rows of F (documents x topics). `l` has the batch's weights
    /// (documents x topics), `f` the topics' terms; a count whose rate is below `smallest` gives nothing.
    fn by_documents(
        counts: &Self::Sent,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> Tensor<Self, 2>;

    /// Parts of the sum of x log max(rate, smallest), and for each term that of x / rate times weights (topics x terms).
    fn by_terms(
        counts: &Self::Sent,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> (Tensor<Self, 1>, Tensor<Self, 2>);
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
        _precision: Precision,
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

    fn scatter(
        rows: FloatTensor<Self>,
        documents: IntTensor<Self>,
        all: usize,
    ) -> FloatTensor<Self> {
        let rows = tensor::<Self, 2>(rows);
        let documents = Tensor::<Self, 1, Int>::from_primitive(documents);
        let table = Tensor::<Self, 2>::zeros([all, rows.dims()[1]], &rows.device());
        let table = table.select_assign(0, documents, rows, IndexingUpdateOp::Add);
        table.into_primitive().tensor()
    }
}

pub(crate) fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}
