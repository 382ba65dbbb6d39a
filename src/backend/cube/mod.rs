//! Loss and gradients on a GPU: kernels for any runtime of CubeCL, on the memory of Burn's tensors.
//!
//! With the weights W (a batch's rows of L) and r = W F, where rows of both tables sum to one, a step needs three sums:
//! of x log r, for each document of x / r times rows of F, and for each term of x / r times weights. They are also the
//! sufficient statistics of expectation-maximisation. Counts are uploaded in their stored dtype and widened in
//! registers; they are the only table of batch x terms in memory.

pub(crate) mod dense;
mod download;
mod footprint;
pub(crate) mod launch;
#[cfg(test)]
pub(crate) mod lavapipe;
mod packed;
mod pinned;
mod reduce;
mod resident;
mod sources;
pub(crate) mod sparse;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod upload;

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};

pub(crate) use footprint::{
    PINNED, buffers, bytes_of_batch, bytes_of_counts, bytes_pinned, mask_bytes, sums_workspace,
    table_bytes,
};
#[cfg(test)]
pub(crate) use lavapipe::{Processor, Software, SoftwareBackend, gpu, has_lavapipe};
pub(crate) use sources::sources_checksum;
pub(crate) use upload::Residency;

use crate::batches::Batch;
use crate::config::{Precision, SMALLEST_RATE};
use crate::counts::{Counts, DenseRows};
use crate::error::Result;

use super::tensors::tensor;
use super::{BatchGradients, Gradients, Sums};
use launch::{Launcher, Pass};
use resident::Resident;
use upload::Uploaded;

/// Format of dense counts on the GPU, packed into words of 32 bits, which every runtime can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CountFormat {
    U8,
    U16,
    /// Also of `i32`, as counts are nonnegative.
    U32,
    /// Also of `i64` and `f64`, which are converted during the upload.
    F32,
}

impl CountFormat {
    fn of(counts: &DenseRows<'_>) -> Self {
        match counts {
            DenseRows::U8(_) => Self::U8,
            DenseRows::U16(_) => Self::U16,
            DenseRows::U32(_) | DenseRows::I32(_) => Self::U32,
            DenseRows::I64(_) | DenseRows::F32(_) | DenseRows::F64(_) => Self::F32,
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
        let weights = softmax(tensor::<Self, 2>(l), 1);
        let f = softmax(tensor::<Self, 2>(f), 1);
        let smallest = SMALLEST_RATE as f32;
        let tables = (primitive(&weights), primitive(&f));
        let pass = Pass::new(&launcher, &counts, tables, smallest, precision);
        let (likelihood, term_sums) = pass.by_terms();
        let likelihood = tensor::<Self, 1>(launcher.add_partial_sums(likelihood));
        let term_sums = tensor::<Self, 2>(term_sums);
        let document_sums = tensor::<Self, 2>(pass.by_documents());
        drop(pass);
        // Softmax's backward, from the expected numbers of each document's tokens from each topic.
        let tokens = weights.clone() * document_sums;
        let totals = tokens.clone().sum_dim(0).swap_dims(0, 1);
        let l_gradient = weights * tokens.clone().sum_dim(1) - tokens;
        let f_gradient = f * (totals - term_sums);
        let loss = -likelihood + batch.rows.len() as f32;
        Ok(BatchGradients {
            loss: loss.into_primitive().tensor(),
            l: l_gradient.into_primitive().tensor(),
            f: f_gradient.into_primitive().tensor(),
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
