//! Sparse counts: three kernels, for the ratios of nonzero counts, for the sums by document, and for those by term.
//!
//! A nonzero count needs 8 k flops and reads 3 k entries besides its own 12 bytes. F is transposed before, so that a
//! term's topics are contiguous and adjacent units read adjacent topics. For the sums by term, each cube has a range of
//! terms, accumulates their sums in shared memory, and finds its terms in every document by binary search. So counts
//! need not be sorted by term, neither on the GPU nor before the upload. Every sum runs in the order of the documents,
//! so that results are the same bits every time.

use cubecl::prelude::*;

use crate::config::Precision;

use super::dense::UNITS;
use super::packed::entry;
use super::reduce::sum_over_units;

/// Sums that a cube has in shared memory: 16 KiB, so that every device can run several cubes at a time.
const SHARED_SUMS: usize = 4096;

/// Minimum number of documents in a slice.
pub const MIN_SLICE: usize = 32;

/// Terms of a cube. The number is odd, so that the topics of a term are in different banks of shared memory.
pub const fn terms_per_cube(topics: usize) -> usize {
    match SHARED_SUMS / topics {
        0 | 1 => 1,
        terms => (terms - 1) | 1,
    }
}

/// Constants of a compiled kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SparseConfig {
    pub topics: usize,
    pub precision: Precision,
}

/// The ratio count / rate of each nonzero count, and each document's sum of count x log rate (`likelihoods`). One cube
/// computes one document.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub fn ratios(
    starts: &Array<u32>,
    columns: &Array<u32>,
    counts: &Array<f32>,
    ratios: &mut Array<f32>,
    l: &Tensor<u32>,
    terms: &Tensor<u32>,
    likelihoods: &mut Array<f32>,
    smallest: f32,
    #[comptime] config: SparseConfig,
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
        for topic in 0..comptime!(config.topics) {
            let weight = entry(l, weights, topic, config.precision);
            rate += weight * entry(terms, term, topic, config.precision);
        }
        let count = counts[at];
        // Below the smallest rate the clamped logarithm is constant: its gradient is zero.
        let clamped = select(rate > smallest, rate, smallest);
        likelihood += count * clamped.ln();
        ratios[at] = select(rate < smallest, 0.0, count / clamped);
        at += UNITS;
    }
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let likelihood = sum_over_units(likelihood, &mut shared);
    if UNIT_POS == 0 {
        likelihoods[document] = likelihood;
    }
}

/// For each document, the sum of its ratios times the rows of F (`sums`: documents x topics).
#[cube(launch_unchecked)]
pub fn by_documents(
    starts: &Array<u32>,
    columns: &Array<u32>,
    ratios: &Array<f32>,
    terms: &Tensor<u32>,
    sums: &mut Tensor<f32>,
    #[comptime] config: SparseConfig,
) {
    let topics = comptime!(config.topics);
    let document = ABSOLUTE_POS / topics;
    let topic = ABSOLUTE_POS % topics;
    if document >= sums.shape(0) {
        terminate!();
    }
    let mut sum = 0.0f32;
    for at in starts[document]..starts[document + 1] {
        let at = at as usize;
        let term = columns[at] as usize * terms.stride(0);
        sum += ratios[at] * entry(terms, term, topic, config.precision);
    }
    sums[document * sums.stride(0) + topic] = sum;
}

/// For each term, the sum of its ratios times the weights over the documents of a slice (`sums`: slices x topics x
/// terms). Columns have to ascend within a document.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub fn by_terms(
    starts: &Array<u32>,
    columns: &Array<u32>,
    ratios: &Array<f32>,
    l: &Tensor<u32>,
    sums: &mut Array<f32>,
    terms: usize,
    per_slice: usize,
    slices: usize,
    #[comptime] config: SparseConfig,
) {
    let topics = comptime!(config.topics);
    let width = comptime!(terms_per_cube(config.topics));
    let length = comptime!(config.topics * terms_per_cube(config.topics));
    let tiles = terms.div_ceil(width);
    let slice = CUBE_POS / tiles;
    if slice >= slices {
        terminate!();
    }
    let first = (CUBE_POS % tiles) * width;
    let unit = UNIT_POS as usize;
    let documents = l.shape(0);
    let begin = slice * per_slice;
    let end = select(begin + per_slice < documents, begin + per_slice, documents);
    let mut acc = SharedMemory::<f32>::new(length);
    let mut begins = SharedMemory::<u32>::new(UNITS);
    let mut ends = SharedMemory::<u32>::new(UNITS);
    let mut at = unit;
    while at < length {
        acc[at] = 0.0;
        at += UNITS;
    }
    // Each unit searches the range of the cube's terms in one document.
    let mut group = begin;
    while group < end {
        let document = group + unit;
        if document < end {
            let last = starts[document + 1];
            let from = lower_bound(columns, starts[document], last, first as u32);
            begins[unit] = from;
            ends[unit] = lower_bound(columns, from, last, (first + width) as u32);
        }
        sync_cube();
        let documents_in_group = select(end - group < UNITS, end - group, UNITS);
        // Documents in sequence: none has a term twice, so that no two units add to the same sum.
        for number in 0..documents_in_group {
            let from = begins[number] as usize;
            let additions = (ends[number] as usize - from) * topics;
            let weights = (group + number) * l.stride(0);
            let mut at = unit;
            while at < additions {
                let nonzero = from + at / topics;
                let topic = at % topics;
                let sum = topic * width + columns[nonzero] as usize - first;
                acc[sum] += ratios[nonzero] * entry(l, weights, topic, config.precision);
                at += UNITS;
            }
            sync_cube();
        }
        group += UNITS;
    }
    let mut at = unit;
    while at < length {
        let term = first + at % width;
        if term < terms {
            sums[(slice * topics + at / width) * terms + term] = acc[at];
        }
        at += UNITS;
    }
}

/// Binary search: the first position in `from..to` whose column is not less than `column`, or `to`.
#[cube]
fn lower_bound(columns: &Array<u32>, from: u32, to: u32, column: u32) -> u32 {
    let mut low = from;
    let mut high = to;
    while low < high {
        let middle = low + (high - low) / 2;
        if columns[middle as usize] < column {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
