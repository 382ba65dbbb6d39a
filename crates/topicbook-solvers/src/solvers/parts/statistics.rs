//! The sufficient statistics of F.

use rayon::prelude::*;

use crate::counts::rows::Block;
use crate::kernels::{DOCUMENTS, TermLayout, add_to_f, quotients};
use crate::solvers::statistics::FLOOR;

use super::group::{BUFFERS, Buffers, DocumentGroup, groups};
use super::{FShard, Parts};

impl Parts {
    /// Adds a block's contribution to the statistics of F in term shards of the layout [`TermLayout::Tiles`], and returns their sum
    /// of x log rate. The statistics have the layout of F.
    pub(crate) fn add_tiles(&self, block: &Block<'_>, l: &[f32], statistics: &mut [f64]) -> f64 {
        let groups: Vec<_> = groups(block, l, self.topics).collect();
        let parts = statistics.par_chunks_mut(self.terms_of_part * self.width);
        let parts = parts
            .enumerate()
            .filter(|(part, _)| self.forms[*part] == TermLayout::Tiles);
        let likelihoods: Vec<f64> = parts
            .map(|(part, statistics)| {
                BUFFERS.with_borrow_mut(|buffers| {
                    self.statistics_of_tiles(&self.part(part), &groups, buffers, statistics)
                })
            })
            .collect();
        likelihoods.into_iter().sum()
    }

    fn statistics_of_tiles(
        &self,
        part: &FShard<'_>,
        groups: &[DocumentGroup<'_>],
        buffers: &mut Buffers,
        statistics: &mut [f64],
    ) -> f64 {
        let topics = self.topics;
        let mut logarithms = [0.0; DOCUMENTS];
        for (tile, f) in part.tiles(topics) {
            buffers.f_sums.clear();
            buffers.f_sums.resize(f.len(), 0.0);
            for group in groups {
                let tile = buffers.unpack(group, (self.terms, topics), &tile);
                let likelihoods = Some(&mut logarithms[..]);
                quotients(tile.weights, f, topics, FLOOR, tile.counts, likelihoods);
                add_to_f(tile.weights, tile.counts, topics, tile.f_sums);
            }
            let first = tile.terms.start - part.terms.start;
            let out = &mut statistics[first * topics..][..f.len()];
            for (statistic, value) in out.iter_mut().zip(buffers.f_sums.iter()) {
                *statistic += f64::from(*value);
            }
        }
        logarithms.into_iter().sum()
    }
}
