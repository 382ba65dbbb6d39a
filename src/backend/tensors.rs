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

/// Conversions from and to the tensors of [Burn](crate::burn) (feature `cuda`).
impl Matrix {
    /// The values as a tensor of Burn, rows x columns, on `device`, in the backend's default float dtype.
    ///
    /// ```
    /// use topicbook::Matrix;
    /// use topicbook::burn::backend::Flex;
    /// let matrix = Matrix::new(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let tensor = matrix.to_tensor::<Flex>(&Default::default());
    /// assert_eq!(tensor.dims(), [2, 3]);
    /// assert_eq!(Matrix::from_tensor(tensor)?, matrix);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// Copies the values once in memory, 4 bytes each, and uploads them where the device is a GPU.
    pub fn to_tensor<B: Backend>(&self, device: &B::Device) -> Tensor<B, 2> {
        let (rows, columns) = self.shape();
        let values = TensorData::new(self.values().to_vec(), [rows, columns]);
        Tensor::from_data(values, device)
    }

    /// A matrix of the values of a tensor of Burn, rows x columns. Values of another float dtype become `f32`.
    ///
    /// ```
    /// use topicbook::Matrix;
    /// use topicbook::burn::backend::Flex;
    /// use topicbook::burn::tensor::Tensor;
    /// let tensor = Tensor::<Flex, 2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &Default::default());
    /// assert_eq!(Matrix::from_tensor(tensor.transpose())?.row(0), [1.0, 3.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the device does not return the values: a kernel that was submitted earlier may have failed.
    ///
    /// # Cost
    /// Waits for the device and copies the values, 4 bytes each; from a GPU in ranges of rows of at most a million values.
    pub fn from_tensor<B: Backend>(tensor: Tensor<B, 2>) -> Result<Self> {
        let [rows, columns] = tensor.dims();
        let rows_at_once = (MAX_DOWNLOAD / columns.max(1)).max(1);
        if rows <= rows_at_once {
            let all = values(tensor.try_into_data().map_err(download_failed)?)?;
            return Self::new(rows, columns, all);
        }
        let mut all = Vec::with_capacity(rows * columns);
        for first in (0..rows).step_by(rows_at_once) {
            let part = tensor.clone().slice(first..rows.min(first + rows_at_once));
            all.extend(values(part.try_into_data().map_err(download_failed)?)?);
        }
        Self::new(rows, columns, all)
    }
}

fn values(data: TensorData) -> Result<Vec<f32>> {
    data.convert::<f32>()
        .into_vec()
        .map_err(|error| unexpected_data(format_args!("{error:?}")))
}

/// A tensor from its backend's primitive.
pub(crate) fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}
