//! The sizes of all rows.

use crate::gpu::gpu_runs::{MAIN, MANY, Sizes as Technique};

#[derive(Clone, Copy)]
pub struct Sizes {
    /// Documents, terms, topics.
    pub shape: [usize; 3],
    /// Tokens a document, of the two densities of [`DENSITIES`].
    pub lengths: [usize; 2],
    /// The batch size of rows that do not compare batch sizes.
    pub batch: usize,
    /// The other batch sizes.
    pub batches: [usize; 3],
    pub epochs: usize,
    /// One in `part` documents is in the rows that compare batch sizes and methods, come from the disk, or go to tinytopics.
    pub part: usize,
    /// VRAM budgets of counts that would fit on the GPU otherwise: of all documents, of a part in `f32`, of `u8`, and of CSR.
    pub vram: &'static str,
    pub vram_of_part: &'static str,
    pub vram_of_u8: &'static str,
    pub vram_of_csr: &'static str,
    /// Batch size, epochs and seconds at most of tinytopics.
    pub peer: [usize; 3],
    /// Bytes of the large copy out of pageable memory.
    pub pageable: usize,
    /// Rows and columns of the transferred table, and rows of the table that they are gathered from.
    pub table: [usize; 3],
    /// Documents, topics, batch size and steps of the fits with L on the GPU and offloaded.
    pub offload: [usize; 4],
    /// Documents, terms, topics and number of consecutive fits.
    pub growth: [usize; 4],
    /// The sizes of the techniques.
    pub techniques: [Technique; 2],
}

/// Names of the densities in rows: the shares of nonzero counts at [`FULL`]'s sizes and, nearly, at [`SMALL`]'s.
pub const DENSITIES: [&str; 2] = ["1%", "47%"];

pub const FULL: Sizes = Sizes {
    shape: [100_000, 100_000, 20],
    lengths: [1_000, 65_536],
    batch: 1_024,
    batches: [256, 4_096, 16],
    epochs: 3,
    part: 5,
    vram: "24 GiB",
    vram_of_part: "6 GiB",
    vram_of_u8: "6 GiB",
    vram_of_csr: "512 MiB",
    peer: [16, 20, 60],
    pageable: 2 << 30,
    table: [131_072, 128, 4_000_000],
    offload: [10_000_000, 20, 1_024, 500],
    growth: [4_000, 10_000, 20, 10],
    techniques: [MAIN, MANY],
};

/// A dry run within a minute, which also works without a GPU: it tests the program and measures nothing.
pub const SMALL: Sizes = Sizes {
    shape: [300, 400, 4],
    lengths: [4, 262],
    batch: 64,
    batches: [32, 128, 16],
    epochs: 2,
    part: 2,
    vram: "384 KiB",
    vram_of_part: "320 KiB",
    vram_of_u8: "256 KiB",
    vram_of_csr: "156 KiB",
    peer: [16, 3, 10],
    pageable: 1 << 20,
    table: [1_024, 128, 4_096],
    offload: [2_000, 4, 64, 20],
    growth: [100, 80, 3, 2],
    techniques: [
        Technique {
            documents: 100,
            terms: 500,
            tokens: 50,
            topics: 4,
            batch: 32,
        },
        Technique {
            documents: 20_000,
            terms: 50,
            tokens: 20,
            topics: 8,
            batch: 32,
        },
    ],
};
