//! How a tensor step makes the loss of a batch.

use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Int, Tensor, TensorData};

use super::network::{NeuralPoissonNmf, poisson_nmf_loss};
use super::operation::FusedLoss;
use super::precision::Precision;
use super::settings::Settings;
use super::slopes::{Slopes, tensor};
use crate::counts::Counts;
use crate::error::Result;
use crate::loader::Batch;

/// The loss of a batch, which automatic differentiation can follow.
pub(crate) trait Loss<B: AutodiffBackend>: Send {
    /// For the fits of these settings.
    fn new(settings: &Settings) -> Self;

    /// Brings all counts to the device, so that batches need not be sent; `at_once` documents at a time where the
    /// counts are converted.
    fn hold(&mut self, counts: &Counts, at_once: usize, device: &B::Device) -> Result<()>;

    /// The loss of a batch; `documents` are its rows of L on the device.
    fn loss(
        &self,
        model: &NeuralPoissonNmf<B>,
        batch: &Batch<'_>,
        documents: Tensor<B, 1, Int>,
    ) -> Result<Tensor<B, 1>>;
}

/// The reference: automatic differentiation through all of the loss's parts. Holds counts as a tensor of documents x
/// terms.
pub(crate) struct Parts<B: AutodiffBackend>(Option<Tensor<B, 2>>);

impl<B: AutodiffBackend> Loss<B> for Parts<B> {
    fn new(_settings: &Settings) -> Self {
        Self(None)
    }

    fn hold(&mut self, counts: &Counts, at_once: usize, device: &B::Device) -> Result<()> {
        let (documents, terms) = counts.shape();
        let all: Vec<usize> = (0..documents).collect();
        let mut held = Tensor::<B, 2>::empty([documents, terms], device);
        for rows in all.chunks(at_once) {
            let part = Batch {
                view: counts.view()?,
                rows,
                documents: rows,
            };
            let part = sent(&part, terms, device);
            let range = rows[0]..rows[0] + rows.len();
            held = held.slice_assign([range, 0..terms], part);
        }
        self.0 = Some(held);
        Ok(())
    }

    fn loss(
        &self,
        model: &NeuralPoissonNmf<B>,
        batch: &Batch<'_>,
        documents: Tensor<B, 1, Int>,
    ) -> Result<Tensor<B, 1>> {
        let counts = match &self.0 {
            Some(all) => all.clone().select(0, documents.clone()),
            None => sent(batch, model.f.val().dims()[1], &documents.device()),
        };
        Ok(poisson_nmf_loss(counts, model.forward(documents)))
    }
}

/// A batch's counts on their way to the device: batch x terms.
fn sent<B: AutodiffBackend>(batch: &Batch<'_>, terms: usize, device: &B::Device) -> Tensor<B, 2> {
    let data = TensorData::new(batch.dense(terms), [batch.rows.len(), terms]);
    Tensor::from_data(data, device)
}

/// One operation with a backward of its own. Holds counts as they are stored.
pub(crate) struct Fused<B: FusedLoss> {
    held: Option<<B::Inner as Slopes>::Held>,
    precision: Precision,
}

impl<B: FusedLoss> Loss<B> for Fused<B> {
    fn new(settings: &Settings) -> Self {
        Self {
            held: None,
            precision: settings.precision,
        }
    }

    fn hold(&mut self, counts: &Counts, _at_once: usize, device: &B::Device) -> Result<()> {
        self.held = Some(B::Inner::hold(counts, device)?);
        Ok(())
    }

    fn loss(
        &self,
        model: &NeuralPoissonNmf<B>,
        batch: &Batch<'_>,
        documents: Tensor<B, 1, Int>,
    ) -> Result<Tensor<B, 1>> {
        let l = model.l.val().into_primitive().tensor();
        let f = model.f.val().into_primitive().tensor();
        let documents = documents.inner().into_primitive();
        let held = self.held.as_ref();
        let loss = B::fused_loss(l, f, documents, batch, held, self.precision)?;
        Ok(tensor(loss))
    }
}
