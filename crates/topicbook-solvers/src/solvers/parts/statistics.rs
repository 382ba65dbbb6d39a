//! The sufficient statistics of F.

use rayon::prelude::*;

use crate::counts::rows::Block;
use crate::kernels::{DOCUMENTS, TableShape, TermLayout, add_to_f, quotients};
use crate::solvers::statistics::FLOOR;

use super::group::{BUFFERS, Buffers, DocumentGroup, groups};
use super::{Parts, terms_per_shard};

impl Parts {
    /// Adds a block's contribution to the statistics of F in term shards of the layout [`TermLayout::Tiles`], and returns their sum
    /// of x log rate. The statistics have the layout of F.
    pub(crate) fn add_tiles(&self, block: &Block<'_>, l: &[f32], statistics: &mut [f64]) -> f64 {
        let groups: Vec<_> = groups(block, l, self.topics).collect();
        let shards = statistics.par_chunks_mut(terms_per_shard(self.terms) * self.width);
        let shards = shards.zip(&self.shards);
        let likelihoods: Vec<f64> = shards
            .filter(|(_, shard)| shard.layout == TermLayout::Tiles)
            .map(|(statistics, shard)| {
                BUFFERS.with_borrow_mut(|buffers| {
                    self.statistics_of_tiles(shard, &groups, buffers, statistics)
                })
            })
            .collect();
        likelihoods.into_iter().sum()
    }

    fn statistics_of_tiles(
        &self,
        shard: &TableShape,
        groups: &[DocumentGroup<'_>],
        buffers: &mut Buffers,
        statistics: &mut [f64],
    ) -> f64 {
        let topics = self.topics;
        let f = self.f_of(shard);
        let mut logarithms = [0.0; DOCUMENTS];
        for (tile, at) in shard.tiles() {
            let f = &f[at.clone()];
            buffers.f_sums.clear();
            buffers.f_sums.resize(f.len(), 0.0);
            for group in groups {
                let tile = buffers.unpack(group, (self.terms, topics), &tile);
                let likelihoods = Some(&mut logarithms[..]);
                quotients(tile.weights, f, topics, FLOOR, tile.counts, likelihoods);
                add_to_f(tile.weights, tile.counts, topics, tile.f_sums);
            }
            for (statistic, value) in statistics[at].iter_mut().zip(buffers.f_sums.iter()) {
                *statistic += f64::from(*value);
            }
        }
        logarithms.into_iter().sum()
    }
}
