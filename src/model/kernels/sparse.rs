//! Sparse counts: one kernel for the nonzero counts, and one for either table.
//!
//! A nonzero count takes 8 k flops and reads six rows of k values besides its own 20 bytes: F is turned around before, so
//! that a term's topics lie side by side, and neighbouring units read neighbouring topics. Every sum has its own unit,
//! which adds up in the order of the counts, so results are the same bits every time.

use cubecl::prelude::*;

use super::dense::UNITS;

/// The counts' shares, count / rate, and their documents; a cube has a document. Gives each unit's part of the sum
/// of count x log rate (`likelihoods`: documents x units).
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn shares(
    starts: &Array<u32>,
    columns: &Array<u32>,
    counts: &Array<f32>,
    shares: &mut Array<f32>,
    rows: &mut Array<u32>,
    l: &Tensor<f32>,
    terms: &Tensor<f32>,
    likelihoods: &mut Array<f32>,
    topics: usize,
    smallest: f32,
) {
    let document = CUBE_POS;
    if document >= l.shape(0) {
        terminate!();
    }
    let weights = document * l.stride(0);
    let end = starts[document + 1] as usize;
    let mut likelihood = 0.0f32;
    let mut at = starts[document] as usize + UNIT_POS as usize;
    while at < end {
        let term = columns[at] as usize * terms.stride(0);
        let mut rate = 0.0f32;
        for topic in 0..topics {
            rate += l[weights + topic] * terms[term + topic];
        }
        let count = counts[at];
        // The logarithm is cut off below, and its slope with it.
        let held = select(rate > smallest, rate, smallest);
        likelihood += count * held.ln();
        shares[at] = select(rate < smallest, 0.0, count / held);
        rows[at] = document as u32;
        at += UNITS;
    }
    likelihoods[document * UNITS + UNIT_POS as usize] = likelihood;
}

/// For each document, the sum of its shares times the rows of F (`sums`: documents x topics).
#[cube(launch_unchecked)]
pub(super) fn by_documents(
    starts: &Array<u32>,
    columns: &Array<u32>,
    shares: &Array<f32>,
    terms: &Tensor<f32>,
    sums: &mut Tensor<f32>,
    topics: usize,
) {
    let document = ABSOLUTE_POS / topics;
    let topic = ABSOLUTE_POS % topics;
    if document >= sums.shape(0) {
        terminate!();
    }
    let mut sum = 0.0f32;
    for at in starts[document]..starts[document + 1] {
        let at = at as usize;
        sum += shares[at] * terms[columns[at] as usize * terms.stride(0) + topic];
    }
    sums[document * sums.stride(0) + topic] = sum;
}

/// For each term, the sum of its shares times the weights (`sums`: terms x topics). `order` has the counts' places term by
/// term, `starts` where each term's begin.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn by_terms(
    starts: &Array<u32>,
    order: &Array<u32>,
    rows: &Array<u32>,
    shares: &Array<f32>,
    l: &Tensor<f32>,
    sums: &mut Tensor<f32>,
    topics: usize,
) {
    let term = ABSOLUTE_POS / topics;
    let topic = ABSOLUTE_POS % topics;
    if term >= sums.shape(0) {
        terminate!();
    }
    let mut sum = 0.0f32;
    for at in starts[term]..starts[term + 1] {
        let at = order[at as usize] as usize;
        sum += shares[at] * l[rows[at] as usize * l.stride(0) + topic];
    }
    sums[term * sums.stride(0) + topic] = sum;
}
