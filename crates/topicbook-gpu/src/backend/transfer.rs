//! Transfers of rows of a table to a device and back.

use burn::backend::Flex;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorData};

use crate::batches::Batch;
use crate::data::Matrix;
use crate::error::Result;

use super::Gradients;
use super::tensors::tensor;

/// A backend that uploads rows from a callback, and downloads tables asynchronously.
pub trait Transfer: Gradients {
    /// A download in flight. It is ordered after the operations that were submitted before it, and before later ones.
    type PendingDownload: Send;

    /// Uploads a table of rows x columns. `fill(row, out)` writes one row; it may be called from several threads.
    fn upload_rows(
        shape: (usize, usize),
        fill: impl Fn(usize, &mut [f32]) + Sync,
        device: &Self::Device,
    ) -> Result<FloatTensor<Self>>;

    /// Uploads a batch's counts as a step does, and drops them: benchmarks compare a step with it.
    fn upload_counts(batch: &Batch<'_>, terms: usize, device: &Self::Device) -> Result<()>;

    /// Starts the download of a table without waiting for it.
    fn download(table: FloatTensor<Self>) -> Self::PendingDownload;

    /// Waits for a download, and calls `read` with its values, row by row, in the buffer where they are.
    fn wait<T>(table: Self::PendingDownload, read: impl FnOnce(&[f32]) -> T) -> Result<T>;
}

/// CPU: host and device memory are the same, so transfers are copies.
impl Transfer for Flex {
    type PendingDownload = FloatTensor<Self>;

    fn upload_rows(
        (rows, columns): (usize, usize),
        fill: impl Fn(usize, &mut [f32]) + Sync,
        device: &Self::Device,
    ) -> Result<FloatTensor<Self>> {
        let mut values = vec![0.0; rows * columns];
        for (row, values) in values.chunks_exact_mut(columns).enumerate() {
            fill(row, values);
        }
        let table = Tensor::<Self, 2>::from_data(TensorData::new(values, [rows, columns]), device);
        Ok(table.into_primitive().tensor())
    }

    fn upload_counts(batch: &Batch<'_>, terms: usize, _device: &Self::Device) -> Result<()> {
        std::hint::black_box(batch.dense(terms));
        Ok(())
    }

    fn download(table: FloatTensor<Self>) -> Self::PendingDownload {
        table
    }

    fn wait<T>(table: Self::PendingDownload, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
        Ok(read(
            Matrix::from_tensor(tensor::<Self, 2>(table))?.values(),
        ))
    }
}
