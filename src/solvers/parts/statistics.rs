//! The sufficient statistics of F.

use rayon::prelude::*;

use crate::counts::rows::{Block, nonzeros_between};
use crate::kernels::{Form, add_to_f, quotients};
use crate::solvers::statistics::accumulate_statistics;

use super::group::{BUFFERS, Buffers, Group, groups, pad};
use super::{FLOOR, Part, Parts};

impl Parts {
    /// Adds a block's contribution to the statistics of F, which lie in memory as F does, and returns its sum of x log rate.
    pub(in crate::solvers) fn add_statistics(
        &self,
        block: &Block<'_>,
        l: &[f32],
        statistics: &mut [f64],
    ) -> f64 {
        let groups: Vec<_> = groups(block, l, self.topics).collect();
        let parts = statistics.par_chunks_mut(self.terms_of_part * self.width);
        let likelihoods: Vec<f64> = parts
            .enumerate()
            .map(|(part, statistics)| {
                let part = self.part(part);
                BUFFERS.with_borrow_mut(|buffers| match part.form {
                    Form::Tiles => self.statistics_of_tiles(&part, &groups, buffers, statistics),
                    Form::Rows => self.statistics_of_nonzeros(&part, &groups, buffers, statistics),
                })
            })
            .collect();
        likelihoods.into_iter().sum()
    }

    fn statistics_of_tiles(
        &self,
        part: &Part<'_>,
        groups: &[Group<'_>],
        buffers: &mut Buffers,
        statistics: &mut [f64],
    ) -> f64 {
        let topics = self.topics;
        let mut likelihood = 0.0;
        for (tile, f) in part.tiles(topics) {
            buffers.f_sums.clear();
            buffers.f_sums.resize(f.len(), 0.0);
            for group in groups {
                let tile = buffers.unpack(group, (self.terms, topics), &tile);
                let log_rates = Some(&mut likelihood);
                quotients(tile.weights, f, topics, FLOOR, tile.counts, log_rates);
                add_to_f(tile.weights, tile.counts, topics, tile.f_sums);
            }
            let first = tile.terms.start - part.terms.start;
            let out = &mut statistics[first * topics..][..f.len()];
            for (statistic, value) in out.iter_mut().zip(buffers.f_sums.iter()) {
                *statistic += f64::from(*value);
            }
        }
        likelihood
    }

    fn statistics_of_nonzeros(
        &self,
        part: &Part<'_>,
        groups: &[Group<'_>],
        buffers: &mut Buffers,
        statistics: &mut [f64],
    ) -> f64 {
        let Buffers {
            nonzeros, weights, ..
        } = buffers;
        let mut likelihood = 0.0;
        for group in groups {
            let rows = group.rows.clone().zip(group.weights.chunks(self.topics));
            for (row, row_of_l) in rows {
                let (columns, counts) =
                    nonzeros_between(group.view, self.terms, row, &part.terms, nonzeros);
                pad(row_of_l, self.width, weights);
                accumulate_statistics(
                    columns,
                    counts,
                    part.f,
                    part.terms.start,
                    weights,
                    statistics,
                    &mut likelihood,
                );
            }
        }
        likelihood
    }
}
