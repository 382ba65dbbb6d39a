//! Conversions between tensors and matrices.

use std::fmt::{Debug, Display};

use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};

use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// The remedy for a transfer that failed, most often for lack of memory.
pub const NEED_LESS_MEMORY: &str = "use a smaller batch size, or Device::Cpu";

/// Maximum number of values of one download. CubeCL stages a download in pinned memory, which it allocates in pages of
/// up to a quarter of the GPU's memory and does not free.
pub const MAX_DOWNLOAD: usize = 1 << 20;

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
            let all = tensor_values(tensor.try_into_data().map_err(download_failed)?)?;
            return Self::new(rows, columns, all);
        }
        let mut all = Vec::with_capacity(rows * columns);
        for first in (0..rows).step_by(rows_at_once) {
            let part = tensor.clone().slice(first..rows.min(first + rows_at_once));
            all.extend(tensor_values(
                part.try_into_data().map_err(download_failed)?,
            )?);
        }
        Self::new(rows, columns, all)
    }
}

/// The values of a download.
pub fn tensor_values(data: TensorData) -> Result<Vec<f32>> {
    data.convert::<f32>()
        .into_vec()
        .map_err(|error| unexpected_data(format_args!("{error:?}")))
}

/// Values could not be copied from the device. Launches are asynchronous, so an earlier kernel may be the cause.
pub fn download_failed(error: impl Debug) -> Error {
    let what = format!("the device did not return its result: {error:?}");
    Error::device(what).fix(NEED_LESS_MEMORY)
}

/// The device returned data of another type or layout than expected.
pub fn unexpected_data(what: impl Display) -> Error {
    let what = format!("the device returned unexpected data: {what}");
    Error::device(what)
}
