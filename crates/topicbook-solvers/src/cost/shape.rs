//! The sizes from which memory use is computed.

use crate::config::{GradientStep, Precision};

/// The sizes from which memory use is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub documents: u64,
    pub terms: u64,
    pub topics: u64,
    /// Values of optimizer state for an entry of L.
    pub l_state_values: u64,
    /// Values of optimizer state for an entry of F.
    pub f_state_values: u64,
    pub batch: u64,
    /// Documents per micro-batch.
    pub micro_batch: u64,
    /// Mean number of nonzero counts per document; the number of terms for dense counts without a summary.
    pub nonzeros: u64,
    /// Bytes of a dense count as it is uploaded to a GPU; `None` for sparse counts.
    pub bytes_of_count: Option<u64>,
    /// Bytes of the largest page that the GPU's runtime allocates.
    pub largest_page: u64,
    /// The precision in which a GPU reads the tables.
    pub precision: Precision,
    /// Whether gradients are clipped.
    pub clips: bool,
    /// How gradients are computed.
    pub step: GradientStep,
    /// The precision in which L's logits and their optimizer state are stored, where they are not on a GPU.
    pub l_precision: Precision,
    /// Whether L's logits are in a memory-mapped file.
    pub l_in_file: bool,
    /// Whether a step moves all rows of L, so that rows outside the batch are updated later.
    pub l_moves_whole: bool,
    /// Whether L's logits are offloaded to host memory, if there is a GPU.
    pub l_on_host: bool,
}

impl Shape {
    /// Bytes of L's tables over a fit: logits and optimizer state, the initial logits, and L itself.
    pub fn l_bytes(&self) -> u64 {
        let bytes = 8 + self.l_precision.bytes() * (1 + self.l_state_values);
        bytes * self.topics * self.documents
    }
}
