//! Loss and gradients on a GPU: kernels for any runtime of CubeCL, on the memory of Burn's tensors.
//!
//! Let W be the weights (a batch's rows of L) and r = W F, where rows of both tables sum to one. A step needs three
//! sums: of x log r, for each document of x / r times rows of F, and for each term of x / r times weights. They are
//! also the sufficient statistics of expectation-maximisation. Counts are uploaded in their stored dtype and widened in
//! registers; they are the only table of batch x terms in memory.

pub mod dense;
mod download;
mod footprint;
pub mod launch;
#[cfg(test)]
pub mod lavapipe;
mod packed;
mod pinned;
mod reduce;
mod resident;
mod softmax;
mod sources;
pub mod sparse;
#[cfg(test)]
pub mod tests;
mod tile;
pub mod upload;

use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};

pub use footprint::{
    PINNED, buffers, bytes_of_batch, bytes_of_count, bytes_of_counts, bytes_pinned, counts_item,
    mask_bytes, ratios_of_batch, sums_workspace, table_bytes,
};
#[cfg(test)]
pub(crate) use lavapipe::on_both;
#[cfg(test)]
pub use lavapipe::{Processor, Software, SoftwareBackend, gpu, has_lavapipe};
pub use sources::sources_checksum;
pub use upload::Residency;

use crate::batches::Batch;
use crate::config::{Precision, SMALLEST_RATE};
use crate::counts::{Counts, Dtype};
use crate::error::Result;

use super::tensors::tensor;
use super::{BatchGradients, Gradients, Sums};
use launch::{Launcher, Pass};
use resident::Resident;
use upload::Uploaded;

/// Format of dense counts on the GPU, packed into words of 32 bits, which every runtime can read: the narrowest one that
/// has the largest count, whatever the stored dtype. Counts are whole numbers, so that no value changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CountFormat {
    U8,
    U16,
    /// Also of `i32`, as counts are nonnegative.
    U32,
    /// Also of `i64` and `f64`, which are converted during the upload.
    F32,
}

impl CountFormat {
    /// `largest`: no count is larger; infinite where that is not known.
    fn of(dtype: Dtype, largest: f64) -> Self {
        match dtype {
            Dtype::U8 => Self::U8,
            _ if largest <= f64::from(u8::MAX) => Self::U8,
            Dtype::U16 => Self::U16,
            _ if largest <= f64::from(u16::MAX) => Self::U16,
            Dtype::U32 | Dtype::I32 => Self::U32,
            Dtype::I64 | Dtype::F32 | Dtype::F64 => Self::F32,
        }
    }

    const fn counts_per_word(self) -> usize {
        match self {
            Self::U8 => 4,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 1,
        }
    }
}

impl<R, F, I, BT> Gradients for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    type Resident = Resident;

    fn make_resident(counts: &Counts, device: &Self::Device) -> Result<Resident> {
        Resident::all::<R>((&R::client(device), device), counts)
    }

    fn gradients(
        l: CubeTensor<R>,
        f: CubeTensor<R>,
        batch: &Batch<'_>,
        resident: Option<&Resident>,
        precision: Precision,
    ) -> Result<BatchGradients<Self>> {
        let launcher = Launcher::<R>::new(&f.device);
        let counts = match resident {
            Some(resident) => resident.gather(launcher.target(), batch.documents)?,
            None => upload::upload_batch(launcher.target(), batch, f.meta.shape()[1], None)?,
        };
        let (weights, f) = (launcher.softmax(l), launcher.softmax(f));
        let tables = (weights.clone(), f.clone());
        let pass = Pass::new(&launcher, &counts, tables, SMALLEST_RATE as f32, precision);
        let (likelihood, term_sums) = pass.by_terms();
        let document_sums = pass.by_documents();
        drop(pass);
        let likelihood = tensor::<Self, 1>(launcher.add_partial_sums(likelihood));
        let loss = -likelihood + batch.rows.len() as f32;
        Ok(BatchGradients {
            loss: loss.into_primitive().tensor(),
            l: launcher.softmax_backward(weights, document_sums),
            f: launcher.softmax_backward(f, term_sums),
        })
    }

    fn scatter(rows: CubeTensor<R>, documents: CubeTensor<R>, total_rows: usize) -> CubeTensor<R> {
        let device = rows.device.clone();
        let zeros = Tensor::<Self, 2>::zeros([total_rows, rows.meta.shape()[1]], &device);
        let table = zeros.into_primitive().tensor();
        Launcher::<R>::new(&device).scatter(rows, documents, &table);
        table
    }
}

impl<R, F, I, BT> Sums for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    type Uploaded = Uploaded;

    fn upload_batch(
        batch: &Batch<'_>,
        terms: usize,
        residency: Option<Residency>,
        device: &Self::Device,
    ) -> Result<Uploaded> {
        upload::upload_batch(Launcher::<R>::new(device).target(), batch, terms, residency)
    }

    fn by_documents(
        counts: &Uploaded,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> Tensor<Self, 2> {
        let launcher = Launcher::<R>::new(&l.device());
        let tables = (primitive(&l), primitive(&f));
        tensor(Pass::new(&launcher, counts, tables, smallest, Precision::F32).by_documents())
    }

    fn by_terms(
        counts: &Uploaded,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> (Tensor<Self, 1>, Tensor<Self, 2>) {
        let launcher = Launcher::<R>::new(&l.device());
        let tables = (primitive(&l), primitive(&f));
        let (likelihood, sums) =
            Pass::new(&launcher, counts, tables, smallest, Precision::F32).by_terms();
        (tensor(likelihood), tensor(sums))
    }
}

fn primitive<R, F, I, BT>(table: &Tensor<CubeBackend<R, F, I, BT>, 2>) -> CubeTensor<R>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    table.clone().into_primitive().tensor()
}
