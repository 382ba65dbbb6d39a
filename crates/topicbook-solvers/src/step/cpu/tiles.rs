//! Loss and gradients of a batch from the dense tiles of a term shard.

use std::cell::RefCell;

use crate::config::SMALLEST_RATE;
use crate::counts::View;
use crate::kernels::{
    DOCUMENTS, Floor, TableShape, add_to_f, add_to_l, prefetch, prefetch_next, quotients, unpack,
};
use crate::system::{Aligned, LANES, aligned_zeros, simd_dispatch};

use super::weights::Weights;

/// Maximum number of values of the sums for L: more documents are processed in several runs.
const RUN_VALUES: usize = 1 << 16;

/// Below the smallest rate the clamped logarithm is constant, and its gradient zero.
const FLOOR: Floor = Floor {
    rate: SMALLEST_RATE as f32,
    zero_below: true,
};

struct TileBuffers {
    /// Counts of a tile, then their quotients.
    counts: Aligned<f32>,
    /// Sums for L, lane by lane.
    l_sums: Aligned<[f32; LANES]>,
}

thread_local! {
    static BUFFERS: RefCell<TileBuffers> = RefCell::new(TileBuffers {
        counts: aligned_zeros(0),
        l_sums: Aligned::new(0),
    });
}

pub(super) fn documents_in_run(topics: usize) -> usize {
    (RUN_VALUES / (LANES * topics) / DOCUMENTS).max(1) * DOCUMENTS
}

/// The inputs and outputs of the sums over a shard.
pub(super) struct TileSums<'a> {
    pub(super) weights: &'a Weights<'a>,
    /// Exponentials of the shard's logits, in tiles.
    pub(super) exps: &'a [f32],
    pub(super) gradient: &'a mut [f32],
    /// Documents x width.
    pub(super) weight_gradients: &'a mut [f32],
    pub(super) likelihood: &'a mut f64,
}

impl TileSums<'_> {
    /// Adds the batch's sums over the shard's terms. A gradient that is clear is overwritten.
    pub(super) fn accumulate(
        self,
        view: &View<'_>,
        all_terms: usize,
        shape: &TableShape,
        is_clear: &mut bool,
    ) {
        let Weights {
            rows,
            by_document,
            width,
            topics,
            ..
        } = self.weights;
        let topics = *topics;
        let run = documents_in_run(topics);
        BUFFERS.with_borrow_mut(|TileBuffers { counts, l_sums }| {
            let tables = by_document.chunks(run * topics);
            let tables = tables.zip(self.weight_gradients.chunks_mut(run * width));
            for (rows, (weights, out)) in rows.chunks(run).zip(tables) {
                l_sums.clear();
                l_sums.resize(weights.len(), [0.0; LANES]);
                let first_group = &rows[..rows.len().min(DOCUMENTS)];
                for (tile, at) in shape.tiles() {
                    if at.start == 0 {
                        prefetch(view, all_terms, first_group, &tile.terms);
                    }
                    let (f, gradient) = (&self.exps[at.clone()], &mut self.gradient[at]);
                    if *is_clear {
                        gradient.fill(0.0);
                    }
                    counts.resize(counts.len().max(DOCUMENTS * tile.width), 0.0);
                    let counts = &mut counts[..DOCUMENTS * tile.width];
                    let groups = weights.chunks_exact(DOCUMENTS * topics);
                    let groups = groups.zip(l_sums.chunks_exact_mut(DOCUMENTS * topics));
                    let mut groups = rows.chunks(DOCUMENTS).zip(groups).peekable();
                    while let Some((group, (weights, l_sums))) = groups.next() {
                        match groups.peek() {
                            Some((next, _)) => prefetch(view, all_terms, next, &tile.terms),
                            // The next tile may be in the shard that the thread takes next.
                            None => prefetch_next(view, all_terms, first_group, &tile.terms),
                        }
                        unpack(view, all_terms, group.iter().copied(), &tile, counts);
                        let mut logarithms = [0.0; DOCUMENTS];
                        quotients(weights, f, topics, FLOOR, counts, Some(&mut logarithms));
                        *self.likelihood += logarithms.iter().sum::<f64>();
                        add_to_l(counts, f, topics, l_sums);
                        add_to_f(weights, counts, topics, gradient);
                    }
                }
                *is_clear = false;
                sum_lanes(l_sums, topics, out, *width);
            }
        });
    }
}

simd_dispatch! {
    /// Writes the sums of lanes (documents x topics) to rows of whole registers, with zeros past the last topic.
    fn sum_lanes<V: Vector>(lanes: &[[f32; LANES]], topics: usize, sums: &mut [f32], width: usize) {
        let documents = lanes.chunks_exact(topics).zip(sums.chunks_exact_mut(width));
        for (lanes, sums) in documents {
            for (lanes, sums) in lanes.chunks(LANES).zip(sums.as_chunks_mut().0) {
                let mut rows = [V::splat(0.0); LANES];
                for (row, lanes) in rows.iter_mut().zip(lanes) {
                    *row = V::load(lanes);
                }
                V::sums(rows).store(sums);
            }
        }
    }
}
