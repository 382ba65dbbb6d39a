//! Numbers of tensors.

use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorPrimitive};

use crate::data::{download_failed, tensor_values};
use crate::error::Result;

/// Numbers, such as the losses of steps, that stay on the device until they are read. They are concatenated from time
/// to time, because many tensors of one number make the device's allocator slow.
pub struct Losses<B: Backend> {
    recent: Vec<Tensor<B, 1>>,
    concatenated: Vec<Tensor<B, 1>>,
}

impl<B: Backend> Losses<B> {
    const MAX_RECENT: usize = 256;

    pub fn new() -> Self {
        Self {
            recent: Vec::new(),
            concatenated: Vec::new(),
        }
    }

    pub fn push(&mut self, loss: Tensor<B, 1>) {
        self.recent.push(loss);
        if self.recent.len() == Self::MAX_RECENT {
            self.concatenate();
        }
    }

    fn concatenate(&mut self) {
        if !self.recent.is_empty() {
            let recent = std::mem::take(&mut self.recent);
            self.concatenated.push(Tensor::cat(recent, 0));
        }
    }

    /// Removes and returns all numbers in the order of their pushes. Waits for the device.
    pub fn take(&mut self) -> Result<Vec<f64>> {
        self.concatenate();
        let mut losses = Vec::new();
        for chunk in self.concatenated.drain(..) {
            losses.extend(read(chunk)?);
        }
        Ok(losses)
    }
}

/// Downloads a vector.
pub fn read<B: Backend>(tensor: Tensor<B, 1>) -> Result<Vec<f64>> {
    Ok(
        tensor_values(tensor.try_into_data().map_err(download_failed)?)?
            .into_iter()
            .map(f64::from)
            .collect(),
    )
}

/// A tensor from its backend's primitive.
pub fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}
