//! Groups of documents that are processed together, and a thread's buffers for them.

use std::cell::RefCell;
use std::ops::Range;

use crate::counts::View;
use crate::counts::rows::{Block, NonzeroBuffer};
use crate::kernels::{DOCUMENTS, Tile, unpack};
use crate::system::{Aligned, LANES, aligned_zeros};

use super::newton;

/// Up to [`DOCUMENTS`] documents of a block.
pub(super) struct DocumentGroup<'a> {
    pub(super) view: &'a View<'a>,
    /// The documents' rows in the view.
    pub(super) rows: Range<usize>,
    /// Their rows of L: documents x topics.
    pub(super) weights: &'a [f32],
}

/// Cuts a block into groups. `l` has the rows of all documents.
pub(super) fn groups<'a>(
    block: &'a Block<'_>,
    l: &'a [f32],
    topics: usize,
) -> impl Iterator<Item = DocumentGroup<'a>> {
    let documents = block.rows.len();
    (0..documents).step_by(DOCUMENTS).map(move |first| {
        let last = documents.min(first + DOCUMENTS);
        DocumentGroup {
            view: &block.view,
            rows: block.rows.start + first..block.rows.start + last,
            weights: &l[(block.first + first) * topics..(block.first + last) * topics],
        }
    })
}

pub(super) struct Buffers {
    pub(super) nonzeros: NonzeroBuffer,
    /// Positions of terms in sorted counts.
    pub(super) positions: Vec<usize>,
    /// Counts over rates, of a document or a term.
    pub(super) ratios: Vec<f32>,
    /// Rows of L: of a group, or of one document.
    pub(super) weights: Vec<f32>,
    /// Counts of a tile, then their quotients.
    counts: Aligned<f32>,
    /// Sums for L: lane by lane, or of one document.
    pub(super) l_sums: Aligned<[f32; LANES]>,
    /// Sums for F of a tile.
    pub(super) f_sums: Aligned<f32>,
    pub(super) newton: newton::NewtonScratch,
}

thread_local! {
    pub(super) static BUFFERS: RefCell<Buffers> = RefCell::new(Buffers {
        nonzeros: NonzeroBuffer::default(),
        positions: Vec::new(),
        ratios: Vec::new(),
        weights: Vec::new(),
        counts: aligned_zeros(0),
        l_sums: Aligned::new(0),
        f_sums: aligned_zeros(0),
        newton: newton::NewtonScratch::new(),
    });
}

/// A tile of counts, and the rows of L that belong to it.
pub(super) struct Unpacked<'a> {
    /// [`DOCUMENTS`] x topics.
    pub(super) weights: &'a [f32],
    /// [`DOCUMENTS`] x the tile's width.
    pub(super) counts: &'a mut [f32],
    pub(super) l_sums: &'a mut Aligned<[f32; LANES]>,
    pub(super) f_sums: &'a mut Aligned<f32>,
}

impl Buffers {
    /// Copies a group's rows of L, padded with rows of zeros, and unpacks the counts of a tile.
    pub(super) fn unpack(
        &mut self,
        group: &DocumentGroup<'_>,
        (terms, topics): (usize, usize),
        tile: &Tile,
    ) -> Unpacked<'_> {
        pad(group.weights, DOCUMENTS * topics, &mut self.weights);
        let length = DOCUMENTS * tile.width;
        if self.counts.len() < length {
            self.counts.resize(length, 0.0);
        }
        let counts = &mut self.counts[..length];
        unpack(group.view, terms, group.rows.clone(), tile, counts);
        Unpacked {
            weights: &self.weights,
            counts,
            l_sums: &mut self.l_sums,
            f_sums: &mut self.f_sums,
        }
    }
}

/// Copies `values` to `padded`, and appends zeros up to `length`.
pub(super) fn pad(values: &[f32], length: usize, padded: &mut Vec<f32>) {
    padded.clear();
    padded.extend_from_slice(values);
    padded.resize(length, 0.0);
}
