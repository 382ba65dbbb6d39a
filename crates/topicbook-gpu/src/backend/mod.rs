//! Loss and gradients of a batch as one operation: CubeCL kernels compute them on a GPU; `step/flex.rs` computes them
//! on the CPU.

pub mod cube;
pub mod errors;
mod session;
pub mod tensors;
pub mod transfer;

use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use burn::tensor::ops::{FloatTensor, IntTensor};

pub use session::{VramSampler, allocator_usage, device_errors, has_context, with_gpu};
pub use session::{gpus_now, release_gpus};
pub use tensors::read;
pub use tensors::{Losses, tensor};
pub use transfer::Transfer;

use crate::backend::cube::Residency;
use crate::batches::Batch;
use crate::config::Precision;
use crate::counts::Counts;
use crate::error::Result;

/// Loss of one minibatch and its gradients with respect to the logits.
pub struct BatchGradients<B: Backend> {
    /// One number.
    pub loss: FloatTensor<B>,
    /// With respect to the batch's rows of L's logits: documents x topics.
    pub l: FloatTensor<B>,
    /// With respect to F's logits: topics x terms.
    pub f: FloatTensor<B>,
}

/// A backend that computes loss and gradients without a table of rates.
pub trait Gradients: Backend {
    /// All counts in the device's memory.
    type Resident: Send;

    /// Uploads all counts once, so that batches need not be uploaded.
    fn make_resident(counts: &Counts, device: &Self::Device) -> Result<Self::Resident>;

    /// Loss and gradients of a batch, where `l` has its rows of L's logits (documents x topics) and `f` the logits of F
    /// (topics x terms). Counts are taken from `resident` if it is given. Only a GPU uses `precision`.
    fn gradients(
        l: FloatTensor<Self>,
        f: FloatTensor<Self>,
        batch: &Batch<'_>,
        resident: Option<&Self::Resident>,
        precision: Precision,
    ) -> Result<BatchGradients<Self>>;

    /// A table of `total_rows` rows that has `rows` at the indices `documents`, and zeros elsewhere. The documents of a
    /// batch are distinct.
    fn scatter(
        rows: FloatTensor<Self>,
        documents: IntTensor<Self>,
        total_rows: usize,
    ) -> FloatTensor<Self>;
}

/// A backend that computes the sums of x / rate from which gradients are made. They are also the statistics of
/// expectation-maximisation.
pub trait Sums: Backend {
    /// A batch's counts on the device.
    type Uploaded: Send;

    /// Uploads a batch's counts; `residency` is given for blocks of counts that are used in every iteration.
    fn upload_batch(
        batch: &Batch<'_>,
        terms: usize,
        residency: Option<Residency>,
        device: &Self::Device,
    ) -> Result<Self::Uploaded>;

    /// For each document, the sum of x / rate times rows of F (documents x topics). `l` has the batch's weights
    /// (documents x topics), `f` is topics x terms; x / rate is zero where the rate is below `smallest`.
    fn by_documents(
        counts: &Self::Uploaded,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> Tensor<Self, 2>;

    /// Partial sums of x log max(rate, smallest), and for each term the sum of x / rate times weights (topics x terms).
    fn by_terms(
        counts: &Self::Uploaded,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> (Tensor<Self, 1>, Tensor<Self, 2>);
}
