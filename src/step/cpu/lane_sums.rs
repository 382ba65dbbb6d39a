//! What an update's pass over a shard leaves for the next step: sums of the exponentials, and the largest logits.

use crate::kernels::{BLOCK, BLOCK_TERMS, Form};
use crate::system::{LANES, max_of_numbers, per_lane, simd_dispatch};

use super::update_pass::Constants;

/// Sums of the new exponentials, and the largest new logits: for each topic as many as a chunk has values of it, so that additions
/// do not wait for each other.
pub(super) struct LaneSums {
    topics: usize,
    pub(super) sums: Vec<f32>,
    pub(super) largest: Vec<f32>,
}

impl LaneSums {
    pub(super) fn new(form: Form, constants: &Constants) -> Self {
        let topics = constants.topics();
        let length = match form {
            Form::Rows => constants.chunk(),
            Form::Tiles => BLOCK_TERMS * topics,
        };
        Self {
            topics,
            sums: vec![0.0; length],
            largest: vec![f32::MIN; length],
        }
    }

    /// Writes each topic's sum of the exponentials and its largest logit.
    pub(super) fn reduce(&self, form: Form, exp_sums: &mut [f64], largest: &mut [f32]) {
        match form {
            Form::Rows => reduce_rows(self, exp_sums, largest),
            Form::Tiles => reduce_tiles(self, exp_sums, largest),
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

/// Topics whose lanes are added up together: an addition waits for the one before it in its topic alone.
const TOGETHER: usize = 8;

simd_dispatch! {
    fn reduce_tiles(lanes: &LaneSums, exp_sums: &mut [f64], largest: &mut [f32]) {
        let lanes = lanes.sums.as_chunks::<LANES>().0
            .chunks(TOGETHER * BLOCK)
            .zip(lanes.largest.as_chunks::<LANES>().0.chunks(TOGETHER * BLOCK));
        let topics = exp_sums.chunks_mut(TOGETHER).zip(largest.chunks_mut(TOGETHER));
        for ((exp_sums, largest), (sums, maxima)) in topics.zip(lanes) {
            let (mut totals, mut highest) = ([[0.0; LANES]; TOGETHER], [[f32::MIN; LANES]; TOGETHER]);
            let registers = sums.chunks_exact(BLOCK).zip(maxima.chunks_exact(BLOCK));
            for ((sums, maxima), (totals, highest)) in registers.zip(totals.iter_mut().zip(&mut highest)) {
                for (sums, maxima) in sums.iter().zip(maxima) {
                    for lane in 0..LANES {
                        totals[lane] += f64::from(sums[lane]);
                    }
                    *highest = per_lane(|lane| max_of_numbers(maxima[lane], highest[lane]));
                }
            }
            exp_sums.fill(0.0);
            largest.fill(f32::MIN);
            for lane in 0..LANES {
                for (total, totals) in exp_sums.iter_mut().zip(&totals) {
                    *total += totals[lane];
                }
                for (largest, highest) in largest.iter_mut().zip(&highest) {
                    *largest = max_of_numbers(highest[lane], *largest);
                }
            }
        }
    }
}
