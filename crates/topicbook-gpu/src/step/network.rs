//! Neural Poisson NMF as a Burn module, and its loss.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;

use crate::data::Matrix;

/// The logits of L and F (tinytopics' `NeuralPoissonNMF`).
#[derive(Module, Debug)]
pub struct NeuralPoissonNmf<B: Backend> {
    /// Documents x topics.
    pub l: Param<Tensor<B, 2>>,
    /// Topics x terms.
    pub f: Param<Tensor<B, 2>>,
}

impl<B: Backend> NeuralPoissonNmf<B> {
    pub fn new(l: &Matrix, f: &Matrix, device: &B::Device) -> Self {
        Self {
            l: Param::from_tensor(l.to_tensor(device)),
            f: Param::from_tensor(f.to_tensor(device)),
        }
    }
}
