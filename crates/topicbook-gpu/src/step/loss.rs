//! The loss of a batch as a differentiable tensor. The fused one is here; the reference is in `unfused_loss.rs`.

use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Int, Tensor};

use crate::backend::{Gradients, tensor};
use crate::batches::Batch;
use crate::config::{Precision, Settings};
use crate::counts::Counts;
use crate::error::Result;
use crate::module::NeuralPoissonNmf;

use super::fused_loss::FusedLoss;

/// A differentiable loss of a batch, for [`TensorStep`](super::TensorStep).
pub trait Loss<B: AutodiffBackend>: Send {
    /// A loss without resident counts.
    fn new(settings: &Settings) -> Self;

    /// Uploads all counts once, so that batches need not be uploaded; if they have to be converted, `at_once` documents
    /// at a time.
    fn make_resident(&mut self, counts: &Counts, at_once: usize, device: &B::Device) -> Result<()>;

    /// The loss of a batch, one number. `documents` has its rows of L on the device.
    fn loss(
        &self,
        model: &NeuralPoissonNmf<B>,
        batch: &Batch<'_>,
        documents: Tensor<B, 1, Int>,
    ) -> Result<Tensor<B, 1>>;
}

/// The `FusedLoss` operation, which has its own backward. Resident counts are kept in their stored dtype and layout.
pub struct Fused<B: FusedLoss> {
    resident: Option<<B::Inner as Gradients>::Resident>,
    precision: Precision,
}

impl<B: FusedLoss> Loss<B> for Fused<B> {
    fn new(settings: &Settings) -> Self {
        Self {
            resident: None,
            precision: settings.mini_batch().gpu_precision,
        }
    }

    fn make_resident(
        &mut self,
        counts: &Counts,
        _at_once: usize,
        device: &B::Device,
    ) -> Result<()> {
        self.resident = Some(B::Inner::make_resident(counts, device)?);
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
        let resident = self.resident.as_ref();
        let loss = B::fused_loss(l, f, documents, batch, resident, self.precision)?;
        Ok(tensor(loss))
    }
}
