//! The multipliers of expectation-maximisation for rows of L.

use rayon::prelude::*;

use crate::counts::rows::{Block, nonzeros_between};
use crate::kernels::{DOCUMENTS, TableShape, TermLayout, add_to_l, quotients};
use crate::solvers::statistics::{FLOOR, accumulate_multipliers};
use crate::system::{LANES, sum};

use super::Parts;
use super::group::{BUFFERS, Buffers, DocumentGroup, groups, pad};

impl Parts {
    /// The multipliers of a block's rows of L (documents x topics): the sums of x / rate times F over the terms.
    pub(crate) fn multipliers(&self, block: &Block<'_>, l: &[f32]) -> Vec<f32> {
        self.multipliers_of(self.shards(), block, l)
    }

    /// [`multipliers`](Self::multipliers), summed over some term shards only.
    pub(super) fn multipliers_of(
        &self,
        shards: &[TableShape],
        block: &Block<'_>,
        l: &[f32],
    ) -> Vec<f32> {
        let groups: Vec<_> = groups(block, l, self.topics).collect();
        let values = DOCUMENTS * self.topics;
        let mut sums = vec![0.0; shards.len() * groups.len() * values];
        // The groups of a shard come one after the other, so that a thread finds that part of F in its cache.
        let tasks = sums.par_chunks_mut(values).enumerate();
        tasks.for_each(|(task, sums)| {
            let (shard, group) = (&shards[task / groups.len()], &groups[task % groups.len()]);
            BUFFERS.with_borrow_mut(|buffers| match shard.layout {
                TermLayout::Tiles => self.multipliers_of_tiles(shard, group, buffers, sums),
                TermLayout::Rows => self.multipliers_of_nonzeros(shard, group, buffers, sums),
            });
        });
        let (totals, others) = sums.split_at_mut(groups.len() * values);
        for part in others.chunks(totals.len().max(1)) {
            for (total, value) in totals.iter_mut().zip(part) {
                *total += value;
            }
        }
        sums.truncate(block.rows.len() * self.topics);
        sums
    }

    fn multipliers_of_tiles(
        &self,
        shard: &TableShape,
        group: &DocumentGroup<'_>,
        buffers: &mut Buffers,
        out: &mut [f32],
    ) {
        let topics = self.topics;
        buffers.l_sums.clear();
        buffers.l_sums.resize(DOCUMENTS * topics, [0.0; LANES]);
        for (tile, f) in self.tiles(shard) {
            let tile = buffers.unpack(group, (self.terms, topics), &tile);
            quotients(tile.weights, f, topics, FLOOR, tile.counts, None);
            add_to_l(tile.counts, f, topics, tile.l_sums);
        }
        for (value, lanes) in out.iter_mut().zip(buffers.l_sums.iter()) {
            *value = sum(*lanes);
        }
    }

    fn multipliers_of_nonzeros(
        &self,
        shard: &TableShape,
        group: &DocumentGroup<'_>,
        buffers: &mut Buffers,
        out: &mut [f32],
    ) {
        let Buffers {
            nonzeros,
            weights,
            l_sums,
            ratios,
            ..
        } = buffers;
        let (terms, topics) = (self.terms, self.topics);
        let rows = group.weights.chunks(topics).zip(out.chunks_mut(topics));
        for (row, (row_of_l, out)) in group.rows.clone().zip(rows) {
            let found = nonzeros_between(group.view, terms, row, &shard.terms, nonzeros);
            pad(row_of_l, self.width, weights);
            l_sums.clear();
            l_sums.resize(self.width / LANES, [0.0; LANES]);
            let sums = l_sums.as_flattened_mut();
            accumulate_multipliers(found, &self.f, weights, sums, ratios, None);
            out.copy_from_slice(&sums[..topics]);
        }
    }
}
