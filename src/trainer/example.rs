//! What the examples in the documentation start from.

use crate::CountBatch;
use crate::batches::Batches;
use crate::burn::nn::{Initializer, Linear, LinearConfig};
use crate::burn::tensor::{Tensor, backend::Backend};
use crate::data::Matrix;
use crate::error::Result;
use crate::module::Cpu;

use super::Trainer;

/// A trainer of a layer that learns the sums of rows, and batches of 8 of 32 rows of two numbers.
#[doc(hidden)]
pub fn example_trainer() -> Result<(Trainer<Linear<Cpu>>, Batches)> {
    let values = (0..64).map(|i| ((i * 37) % 11) as f32 / 5.0 - 1.0);
    let rows = Matrix::new(32, 2, values.collect())?;
    // From zero, so that the losses of the examples are the same in each run.
    let layer = LinearConfig::new(2, 1).with_initializer(Initializer::Zeros);
    let layer = layer.init(&Default::default());
    let trainer = Trainer::new(layer).learning_rate(0.05).quiet();
    Ok((trainer, Batches::of_matrix(&rows, 8)?))
}

/// The mean squared error of the layer.
#[doc(hidden)]
pub fn example_loss<B: Backend>(net: &Linear<B>, batch: &CountBatch) -> Tensor<B, 1> {
    let x = batch.rows().to_tensor::<B>(&Default::default());
    let sums = x.clone().sum_dim(1);
    (net.forward(x) - sums).powf_scalar(2.0).mean()
}
