//! The sum of x log rate of a block.

use rayon::prelude::*;

use crate::counts::rows::{Block, nonzeros_between};
use crate::kernels::{DOCUMENTS, Floor, TableShape, TermLayout, quotients};

use super::Parts;
use super::group::{BUFFERS, Buffers, DocumentGroup, groups};

impl Parts {
    /// The sum of x log rate of a block, with rates of at least `floor`.
    pub fn log_likelihood(&self, block: &Block<'_>, l: &[f32], floor: f64) -> f64 {
        let shards = self.shards();
        let groups: Vec<_> = groups(block, l, self.topics).collect();
        let tasks = (0..shards.len() * groups.len()).into_par_iter();
        let sums: Vec<f64> = tasks
            .map(|task| {
                let (shard, group) = (&shards[task / groups.len()], &groups[task % groups.len()]);
                BUFFERS.with_borrow_mut(|buffers| match shard.layout {
                    TermLayout::Tiles => self.likelihood_of_tiles(shard, group, floor, buffers),
                    TermLayout::Rows => self.likelihood_of_nonzeros(shard, group, floor, buffers),
                })
            })
            .collect();
        sums.into_iter().sum()
    }

    fn likelihood_of_tiles(
        &self,
        shard: &TableShape,
        group: &DocumentGroup<'_>,
        floor: f64,
        buffers: &mut Buffers,
    ) -> f64 {
        let floor = Floor {
            rate: floor as f32,
            zero_below: false,
        };
        let mut logarithms = [0.0; DOCUMENTS];
        for (tile, f) in self.tiles(shard) {
            let tile = buffers.unpack(group, (self.terms, self.topics), &tile);
            let likelihoods = Some(&mut logarithms[..]);
            quotients(
                tile.weights,
                f,
                self.topics,
                floor,
                tile.counts,
                likelihoods,
            );
        }
        logarithms.into_iter().sum()
    }

    fn likelihood_of_nonzeros(
        &self,
        shard: &TableShape,
        group: &DocumentGroup<'_>,
        floor: f64,
        buffers: &mut Buffers,
    ) -> f64 {
        let rows = group.rows.clone().zip(group.weights.chunks(self.topics));
        let sums = rows.map(|(row, weights)| {
            let (columns, counts) = nonzeros_between(
                group.view,
                self.terms,
                row,
                &shard.terms,
                &mut buffers.nonzeros,
            );
            let counts = columns.iter().zip(counts);
            let logarithms = counts.map(|(&column, &count)| {
                let row_of_f = &self.f[column as usize * self.width..];
                let products = weights.iter().zip(row_of_f);
                let rate: f64 = products
                    .map(|(&weight, &value)| f64::from(weight) * f64::from(value))
                    .sum();
                f64::from(count) * rate.max(floor).ln()
            });
            logarithms.sum::<f64>()
        });
        sums.sum()
    }
}
