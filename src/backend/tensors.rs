//! Conversions between tensors and matrices.

use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorData, TensorPrimitive};

use crate::data::Matrix;
use crate::error::Result;

use super::errors::{download_failed, unexpected_data};

/// Numbers, such as the losses of steps, that stay on the device until they are read. They are concatenated from time
/// to time, because many tensors of one number make the device's allocator slow.
pub(crate) struct Losses<B: Backend> {
    recent: Vec<Tensor<B, 1>>,
    concatenated: Vec<Tensor<B, 1>>,
}

impl<B: Backend> Losses<B> {
    const MAX_RECENT: usize = 256;

    pub(crate) fn new() -> Self {
        Self {
            recent: Vec::new(),
            concatenated: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, loss: Tensor<B, 1>) {
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
    pub(crate) fn take(&mut self) -> Result<Vec<f64>> {
        self.concatenate();
        let mut losses = Vec::new();
        for chunk in self.concatenated.drain(..) {
            losses.extend(read(chunk)?);
        }
        Ok(losses)
    }
}

/// Downloads a vector.
pub(crate) fn read<B: Backend>(tensor: Tensor<B, 1>) -> Result<Vec<f64>> {
    Ok(values(tensor.try_into_data().map_err(download_failed)?)?
        .into_iter()
        .map(f64::from)
        .collect())
}

/// Maximum number of values of one download. CubeCL stages a download in pinned memory, which it allocates in pages of
/// up to a quarter of the GPU's memory and does not free.
pub(crate) const MAX_DOWNLOAD: usize = 1 << 20;

/// Downloads a table, in ranges of rows with at most [`MAX_DOWNLOAD`] values each (but at least one row).
pub(crate) fn to_matrix<B: Backend>(tensor: Tensor<B, 2>) -> Result<Matrix> {
    let [rows, columns] = tensor.dims();
    let rows_at_once = (MAX_DOWNLOAD / columns.max(1)).max(1);
    if rows <= rows_at_once {
        let all = values(tensor.try_into_data().map_err(download_failed)?)?;
        return Matrix::new(rows, columns, all);
    }
    let mut all = Vec::with_capacity(rows * columns);
    for first in (0..rows).step_by(rows_at_once) {
        let part = tensor.clone().slice(first..rows.min(first + rows_at_once));
        all.extend(values(part.try_into_data().map_err(download_failed)?)?);
    }
    Matrix::new(rows, columns, all)
}

fn values(data: TensorData) -> Result<Vec<f32>> {
    data.into_vec()
        .map_err(|error| unexpected_data(format_args!("{error:?}")))
}

/// A tensor from its backend's primitive.
pub(crate) fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}

/// Uploads a table.
pub(crate) fn to_tensor<B: Backend>(matrix: &Matrix, device: &B::Device) -> Tensor<B, 2> {
    let (rows, columns) = matrix.shape();
    Tensor::from_data(
        TensorData::new(matrix.values().to_vec(), [rows, columns]),
        device,
    )
}
