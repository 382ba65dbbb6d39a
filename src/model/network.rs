//! The neural Poisson NMF as a Burn module, and its loss.

use burn::module::{Module, Param};
use burn::tensor::activation::softmax;
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};

use crate::matrix::Matrix;

/// Rates are kept above this before the logarithm, as in tinytopics.
pub(crate) const SMALLEST_RATE: f64 = 1e-10;

/// Two free tables whose softmaxes are L and F (tinytopics' `NeuralPoissonNMF`).
#[derive(Module, Debug)]
pub(crate) struct NeuralPoissonNmf<B: Backend> {
    /// documents x topics
    pub(crate) l: Param<Tensor<B, 2>>,
    /// topics x terms
    pub(crate) f: Param<Tensor<B, 2>>,
}

impl<B: Backend> NeuralPoissonNmf<B> {
    pub(crate) fn new(l: &Matrix, f: &Matrix, device: &B::Device) -> Self {
        Self {
            l: Param::from_tensor(to_tensor(l, device)),
            f: Param::from_tensor(to_tensor(f, device)),
        }
    }

    /// The rates of a batch of documents: batch x terms.
    pub(crate) fn forward(&self, documents: Tensor<B, 1, Int>) -> Tensor<B, 2> {
        let l = softmax(self.l.val().select(0, documents), 1);
        let f = softmax(self.f.val(), 1);
        l.matmul(f)
    }
}

/// The Poisson negative log-likelihood without its constant: the sum over the batch of rate - x log max(rate, 1e-10).
pub(crate) fn poisson_nmf_loss<B: Backend>(
    counts: Tensor<B, 2>,
    rates: Tensor<B, 2>,
) -> Tensor<B, 1> {
    let logarithms = rates.clone().clamp_min(SMALLEST_RATE).log();
    (rates - counts * logarithms).sum()
}

pub(crate) fn to_tensor<B: Backend>(matrix: &Matrix, device: &B::Device) -> Tensor<B, 2> {
    let (rows, columns) = matrix.shape();
    Tensor::from_data(
        TensorData::new(matrix.values().to_vec(), [rows, columns]),
        device,
    )
}
