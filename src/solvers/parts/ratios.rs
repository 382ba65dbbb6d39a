//! Counts over their rates, computed once for the multipliers of L and for the statistics of F, where L remains the same for both.

use rayon::prelude::*;

use crate::counts::rows::Block;
use crate::kernels::{DOCUMENTS, Form};
use crate::solvers::statistics::accumulate_multipliers;
use crate::system::LANES;

use super::group::{BUFFERS, Buffers, pad};
use super::{Parts, Pending};

impl Parts {
    /// Adds a block's counts in parts of the form [`Form::Rows`] to those that are pending, as [`collect`](Self::collect) does,
    /// each divided by its rate. `l` must be the same when they are added to the statistics. Returns the multipliers of the
    /// block's rows of L, of parts of both forms, then the sum of x log rate of the counts that were divided, and whether those
    /// that are pending are enough to be added.
    pub(in crate::solvers) fn collect_ratios(
        &self,
        block: &Block<'_>,
        l: &[f32],
        pending: &mut Pending,
    ) -> (Vec<f32>, f64, bool) {
        let (mut start, documents) = (pending.columns.len(), pending.ends.len());
        let is_enough = self.collect(block, pending);
        pending.are_ratios = true;
        let mut tiles = self.parts();
        tiles.retain(|part| part.form == Form::Tiles);
        let mut multipliers = match tiles.is_empty() {
            true => vec![0.0; block.rows.len() * self.topics],
            false => self.multipliers_of(&tiles, block, l),
        };
        let (mut columns, mut counts) = (&pending.columns[start..], &mut pending.counts[start..]);
        let rows = l[block.first * self.topics..].chunks(self.topics);
        let rows = rows.zip(multipliers.chunks_mut(self.topics));
        let rows = pending.ends[documents..].iter().zip(rows);
        let rows = rows.map(|(&end, (weights, out))| {
            let length = end - start;
            start = end;
            let columns = columns.split_off(..length).unwrap_or_default();
            let counts = counts.split_off_mut(..length).unwrap_or_default();
            (columns, counts, weights, out)
        });
        let rows: Vec<_> = rows.collect();
        let likelihoods: Vec<f64> = rows
            .into_par_iter()
            .with_min_len(DOCUMENTS)
            .map(|(columns, counts, row, out)| self.divide(columns, counts, row, out))
            .collect();
        (multipliers, likelihoods.into_iter().sum(), is_enough)
    }

    /// Divides a document's counts by their rates, adds its multipliers to `out`, and returns its sum of x log rate.
    fn divide(&self, columns: &[u32], counts: &mut [f32], row: &[f32], out: &mut [f32]) -> f64 {
        BUFFERS.with_borrow_mut(|buffers| {
            let Buffers {
                weights,
                l_sums,
                ratios,
                ..
            } = buffers;
            pad(row, self.width, weights);
            l_sums.clear();
            l_sums.resize(self.width / LANES, [0.0; LANES]);
            let sums = l_sums.as_flattened_mut();
            let mut likelihood = 0.0;
            let wanted = Some(&mut likelihood);
            accumulate_multipliers((columns, counts), &self.f, 0, weights, sums, ratios, wanted);
            counts.copy_from_slice(&ratios[..counts.len()]);
            for (out, sum) in out.iter_mut().zip(sums) {
                *out += *sum;
            }
            likelihood
        })
    }
}
