//! The sum of x log rate of a block.

use std::ops::Range;

use rayon::prelude::*;

use crate::counts::rows::{Block, nonzeros_between};
use crate::kernels::{Floor, Form, quotients};

use super::{BUFFERS, Buffers, Parts, groups};

impl Parts {
    /// The sum of x log rate of a block, with rates of at least `floor`.
    pub(crate) fn log_likelihood(&self, block: &Block<'_>, l: &[f32], floor: f32) -> f64 {
        let groups: Vec<_> = groups(block.rows.len()).collect();
        let tasks = (0..self.forms.len() * groups.len()).into_par_iter();
        let parts: Vec<f64> = tasks
            .map(|task| {
                let (part, group) = (task / groups.len(), &groups[task % groups.len()]);
                BUFFERS.with_borrow_mut(|buffers| match self.forms[part] {
                    Form::Tiles => self.likelihood_of_tiles(block, l, part, group, floor, buffers),
                    Form::Rows => {
                        self.likelihood_of_nonzeros(block, l, part, group, floor, buffers)
                    }
                })
            })
            .collect();
        parts.into_iter().sum()
    }

    fn likelihood_of_tiles(
        &self,
        block: &Block<'_>,
        l: &[f32],
        part: usize,
        group: &Range<usize>,
        floor: f32,
        buffers: &mut Buffers,
    ) -> f64 {
        let mut likelihood = 0.0;
        buffers.set_weights(l, self.topics, block.first, group);
        for (tile, f) in self.tiles(part) {
            let counts = buffers.unpack(block, self.terms, group, &tile);
            let counts = &mut buffers.counts[..counts];
            quotients(
                &buffers.weights,
                f,
                self.topics,
                Floor {
                    rate: floor,
                    zero_below: false,
                },
                counts,
                Some(&mut likelihood),
            );
        }
        likelihood
    }

    fn likelihood_of_nonzeros(
        &self,
        block: &Block<'_>,
        l: &[f32],
        part: usize,
        group: &Range<usize>,
        floor: f32,
        buffers: &mut Buffers,
    ) -> f64 {
        let (range, f) = (self.range(part), self.part_of_f(part));
        let rows = group.clone().map(|document| {
            let row = block.rows.start + document;
            let (columns, counts) =
                nonzeros_between(&block.view, self.terms, row, &range, &mut buffers.nonzeros);
            let weights = self.row(l, block.first + document);
            let counts = columns.iter().zip(counts);
            let logarithms = counts.map(|(&column, &count)| {
                let row = &f[(column as usize - range.start) * self.width..];
                let products = weights.iter().zip(row);
                let rate: f64 = products
                    .map(|(&weight, &value)| f64::from(weight) * f64::from(value))
                    .sum();
                f64::from(count) * rate.max(f64::from(floor)).ln()
            });
            logarithms.sum::<f64>()
        });
        rows.sum()
    }
}
