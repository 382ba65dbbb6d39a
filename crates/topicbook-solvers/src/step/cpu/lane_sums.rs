//! The results of an update's pass over a term shard for the next step: sums of the exponentials, and the largest logits.

use crate::kernels::{BLOCK, BLOCK_TERMS, TermLayout};
use crate::system::{LANES, max, max_of_numbers, per_lane, simd_dispatch};

use super::update_pass::Constants;

/// Sums of the new exponentials, and the largest new logits. There is one for each value of a chunk (rows) or for each topic and
/// term of a block (tiles), so that additions do not wait for each other.
#[derive(Default)]
pub(super) struct LaneSums {
    topics: usize,
    pub(super) sums: Vec<f32>,
    pub(super) largest: Vec<f32>,
}

impl LaneSums {
    /// Starts with no values.
    pub(super) fn start(&mut self, form: TermLayout, constants: &Constants) {
        self.topics = constants.topics();
        let length = match form {
            TermLayout::Rows => constants.chunk(),
            TermLayout::Tiles => BLOCK_TERMS * self.topics,
        };
        self.sums.clear();
        self.sums.resize(length, 0.0);
        self.largest.clear();
        self.largest.resize(length, f32::MIN);
    }

    /// Writes each topic's sum of the exponentials and its largest logit.
    pub(super) fn reduce(&self, form: TermLayout, exp_sums: &mut [f64], largest: &mut [f32]) {
        match form {
            TermLayout::Rows => reduce_rows(self, exp_sums, largest),
            TermLayout::Tiles => reduce_tiles(self, exp_sums, largest),
        }
    }
}

simd_dispatch! {
    fn reduce_rows(lanes: &LaneSums, exp_sums: &mut [f64], largest: &mut [f32]) {
        let LaneSums { topics, sums, largest: maxima } = lanes;
        exp_sums.fill(0.0);
        largest.fill(f32::MIN);
        for (sums, maxima) in sums.chunks_exact(*topics).zip(maxima.chunks_exact(*topics)) {
            for (total, sum) in exp_sums.iter_mut().zip(sums) {
                *total += f64::from(*sum);
            }
            for (largest, max) in largest.iter_mut().zip(maxima) {
                *largest = max_of_numbers(*max, *largest);
            }
        }
    }
}

fn reduce_tiles(lanes: &LaneSums, exp_sums: &mut [f64], largest: &mut [f32]) {
    fn topics(lanes: &[f32]) -> &[[[f32; LANES]; BLOCK]] {
        lanes.as_chunks::<LANES>().0.as_chunks::<BLOCK>().0
    }
    let lanes = topics(&lanes.sums).iter().zip(topics(&lanes.largest));
    for ((sums, maxima), (exp_sum, largest)) in lanes.zip(exp_sums.iter_mut().zip(largest)) {
        reduce_topic(sums, maxima, exp_sum, largest);
    }
}

simd_dispatch! {
    /// A function of one topic, because LLVM would gather several topics into the lanes of one register, value by value.
    fn reduce_topic(
        sums: &[[f32; LANES]; BLOCK],
        maxima: &[[f32; LANES]; BLOCK],
        exp_sum: &mut f64,
        largest: &mut f32,
    ) {
        let mut totals = [0.0; LANES];
        for sums in sums {
            for lane in 0..LANES {
                totals[lane] += f64::from(sums[lane]);
            }
        }
        *exp_sum = totals.iter().sum();
        let [first, rest @ ..] = maxima;
        let highest = rest.iter().fold(*first, |highest, maxima| {
            per_lane(|lane| max_of_numbers(maxima[lane], highest[lane]))
        });
        *largest = max(highest);
    }
}
