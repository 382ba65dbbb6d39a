//! The reference for the fused loss: rates by a matrix product, and automatic differentiation of every operation.

use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Int, Tensor, TensorData};

use crate::batches::Batch;
use crate::config::Settings;
use crate::counts::Counts;
use crate::error::Result;
use crate::module::{NeuralPoissonNmf, poisson_nmf_loss};

use super::loss::Loss;

/// The reference: automatic differentiation of softmax, matrix product, logarithm and sum. Resident counts are a tensor
/// of documents x terms.
pub struct Unfused<B: AutodiffBackend>(Option<Tensor<B, 2>>);

impl<B: AutodiffBackend> Loss<B> for Unfused<B> {
    fn new(_settings: &Settings) -> Self {
        Self(None)
    }

    fn make_resident(&mut self, counts: &Counts, at_once: usize, device: &B::Device) -> Result<()> {
        let (documents, terms) = counts.shape();
        let all: Vec<usize> = (0..documents).collect();
        let mut resident = Tensor::<B, 2>::empty([documents, terms], device);
        for rows in all.chunks(at_once) {
            let part = Batch {
                view: counts.view()?,
                rows,
                documents: rows,
                largest: f64::INFINITY,
            };
            let part = upload(&part, terms, device);
            let range = rows[0]..rows[0] + rows.len();
            resident = resident.slice_assign([range, 0..terms], part);
        }
        self.0 = Some(resident);
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
            None => upload(batch, model.f.val().dims()[1], &documents.device()),
        };
        Ok(poisson_nmf_loss(counts, model.forward(documents)))
    }
}

/// Uploads a batch's counts: batch x terms.
fn upload<B: AutodiffBackend>(batch: &Batch<'_>, terms: usize, device: &B::Device) -> Tensor<B, 2> {
    let data = TensorData::new(batch.dense(terms), [batch.rows.len(), terms]);
    Tensor::from_data(data, device)
}
