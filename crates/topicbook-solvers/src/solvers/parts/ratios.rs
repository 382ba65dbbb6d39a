//! Counts over their rates, computed once for both the multipliers of L and the statistics of F, where both use the same L.

use rayon::prelude::*;

use crate::counts::rows::Block;
use crate::kernels::{DOCUMENTS, TermLayout};
use crate::solvers::statistics::accumulate_multipliers;
use crate::system::LANES;

use super::group::{BUFFERS, Buffers, pad};
use super::{Parts, Pending};

impl Parts {
    /// Collects a block's counts in term shards of the layout [`TermLayout::Rows`], as [`collect`](Self::collect) does, each divided
    /// by its rate. `l` must be the same when they are added to the statistics. Returns the multipliers of the block's rows of L
    /// (of all shards), the sum of x log rate of the counts that were divided, and whether enough counts are pending to add them.
    pub(crate) fn collect_ratios(
        &self,
        block: &Block<'_>,
        l: &[f32],
        pending: &mut Pending,
    ) -> (Vec<f32>, f64, bool) {
        let (mut start, documents) = (pending.nonzeros.columns.len(), pending.nonzeros.ends.len());
        let is_enough = self.collect(block, pending);
        pending.are_ratios = true;
        let mut tiles = self.shards().to_vec();
        tiles.retain(|shard| shard.layout == TermLayout::Tiles);
        let mut multipliers = match tiles.is_empty() {
            true => vec![0.0; block.rows.len() * self.topics],
            false => self.multipliers_of(&tiles, block, l),
        };
        let nonzeros = &mut pending.nonzeros;
        let (mut columns, mut counts) = (&nonzeros.columns[start..], &mut nonzeros.values[start..]);
        let rows = l[block.first * self.topics..].chunks(self.topics);
        let rows = rows.zip(multipliers.chunks_mut(self.topics));
        let rows = nonzeros.ends[documents..].iter().zip(rows);
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
            accumulate_multipliers((columns, counts), &self.f, weights, sums, ratios, wanted);
            counts.copy_from_slice(&ratios[..counts.len()]);
            for (out, sum) in out.iter_mut().zip(sums) {
                *out += *sum;
            }
            likelihood
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::counts::Counts;
    use crate::counts::rows::for_each_block;

    use super::*;

    #[test]
    fn sums_are_those_of_counts_that_are_divided_twice() {
        let (documents, terms, topics) = (40, 2_500, 3);
        // The first terms have counts in most documents, the others in few.
        let count = |at: usize| match (at / terms, at % terms) {
            (document, term) if term < 1_200 => u8::from(!(term * 7 + document).is_multiple_of(3)),
            (document, term) => u8::from((term + document).is_multiple_of(40)),
        };
        let cells: Vec<u8> = (0..documents * terms).map(count).collect();
        let counts = Counts::dense(documents, terms, cells).unwrap();
        let value = |at: usize| 0.1 + (at * 31 % 17) as f32;
        let f: Vec<f32> = (0..terms * topics).map(value).collect();
        let l: Vec<f32> = (0..documents * topics).map(value).collect();
        let mut parts = Parts::new(terms, topics);
        let length = Parts::values(terms as u64, topics as u64) as usize;
        let [mut once, mut twice] = [(); 2].map(|()| (Vec::new(), vec![0.0; length], 0.0));
        let mut pending = [(); 2].map(|()| Pending::default());
        // Several blocks are pending at the same time.
        for_each_block(&counts, false, 15, &mut |block| {
            if block.first == 0 {
                parts.start_pass(&f, &block);
            }
            let (multipliers, likelihood, _) = parts.collect_ratios(&block, &l, &mut pending[0]);
            once.0.extend(multipliers);
            once.2 += likelihood;
            twice.0.extend(parts.multipliers(&block, &l));
            parts.collect(&block, &mut pending[1]);
            Ok(())
        })
        .unwrap();
        for form in [TermLayout::Rows, TermLayout::Tiles] {
            assert!(parts.has(form), "{form:?}");
        }
        for (sums, pending) in [&mut once, &mut twice].into_iter().zip(&mut pending) {
            sums.2 += parts.add_pending(pending, &l, &mut sums.1);
            assert!(!pending.are_ratios, "the next block may come with counts");
        }
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs();
        for (a, b) in once.0.iter().zip(&twice.0) {
            assert!(is_near(f64::from(*a), f64::from(*b)), "{a} {b}");
        }
        assert!(once.1.iter().zip(&twice.1).all(|(a, b)| is_near(*a, *b)));
        assert!(once.1.iter().any(|sum| *sum > 0.0));
        assert!(is_near(once.2, twice.2), "{} {}", once.2, twice.2);
    }
}
