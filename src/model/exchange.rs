//! Rows of a table on their way to a device and back.

use burn::backend::Flex;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorData};

use super::slopes::{Slopes, tensor};
use super::step::to_matrix;
use crate::error::Result;
use crate::loader::Batch;

/// A backend that takes rows which somebody writes one after the other, and gives tables back while it goes on.
pub(crate) trait Exchange: Slopes {
    /// A table on its way back: its copy stands behind all that was asked of the device before, and in front of what is
    /// asked later.
    type Arriving: Send;

    /// Sends a table of rows x columns; `fill` writes one row of it.
    fn send(
        shape: (usize, usize),
        fill: impl Fn(usize, &mut [f32]) + Sync,
        device: &Self::Device,
    ) -> Result<FloatTensor<Self>>;

    /// Sends a batch's counts as a step does, and forgets them: what benchmarks hold a step against.
    fn send_counts(batch: &Batch<'_>, terms: usize, device: &Self::Device) -> Result<()>;

    /// Begins to bring a table back, and does not wait for it.
    fn bring(table: FloatTensor<Self>) -> Self::Arriving;

    /// Waits for a table, and has its values read, row by row, where they have arrived.
    fn arrived<T>(table: Self::Arriving, read: impl FnOnce(&[f32]) -> T) -> Result<T>;
}

/// It is here already.
impl Exchange for Flex {
    type Arriving = FloatTensor<Self>;

    fn send(
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

    fn send_counts(batch: &Batch<'_>, terms: usize, _device: &Self::Device) -> Result<()> {
        std::hint::black_box(batch.dense(terms));
        Ok(())
    }

    fn bring(table: FloatTensor<Self>) -> Self::Arriving {
        table
    }

    fn arrived<T>(table: Self::Arriving, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
        Ok(read(to_matrix(tensor::<Self, 2>(table))?.values()))
    }
}
