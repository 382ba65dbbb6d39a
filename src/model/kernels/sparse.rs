//! Sparse counts: one kernel for the nonzero counts, and one for either table.
//!
//! A nonzero count takes 8 k flops and reads 3 k entries besides its own 12 bytes: F is turned around before, so that a
//! term's topics lie side by side, and neighbouring units read neighbouring topics. The sums for F have cubes with some
//! terms each, which keep them in shared memory and look for their terms in every document: nothing has to be sorted by
//! term, neither here nor before the counts are sent. Every sum is added up in the order of the documents, so results are
//! the same bits every time.

use cubecl::prelude::*;

use super::dense::UNITS;
use super::table::entry;
use crate::model::Precision;

/// Sums of F that a cube keeps: 16 KiB, of which every device has room for a few at once.
const KEPT: usize = 4096;

/// Documents of a slice, at least.
pub(super) const SLICE: usize = 32;

/// Terms of a cube. An odd number: a term's topics then lie in different banks of the shared memory.
pub(super) const fn terms_of_cube(topics: usize) -> usize {
    match KEPT / topics {
        0 | 1 => 1,
        terms => (terms - 1) | 1,
    }
}

/// What kernels know when they are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Known {
    pub(super) topics: usize,
    pub(super) precision: Precision,
}

/// The counts' shares, count / rate; a cube has a document. Gives each unit's part of the sum of count x log rate
/// (`likelihoods`: documents x units).
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
pub(super) fn shares(
    starts: &Array<u32>,
    columns: &Array<u32>,
    counts: &Array<f32>,
    shares: &mut Array<f32>,
    l: &Tensor<u32>,
    terms: &Tensor<u32>,
    likelihoods: &mut Array<f32>,
    smallest: f32,
    #[comptime] known: Known,
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
        for topic in 0..comptime!(known.topics) {
            let weight = entry(l, weights, topic, known.precision);
            rate += weight * entry(terms, term, topic, known.precision);
        }
        let count = counts[at];
        // The logarithm is cut off below, and its slope with it.
        let held = select(rate > smallest, rate, smallest);
        likelihood += count * held.ln();
        shares[at] = select(rate < smallest, 0.0, count / held);
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
    terms: &Tensor<u32>,
    sums: &mut Tensor<f32>,
    #[comptime] known: Known,
) {
    let topics = comptime!(known.topics);
    let document = ABSOLUTE_POS / topics;
    let topic = ABSOLUTE_POS % topics;
    if document >= sums.shape(0) {
        terminate!();
    }
    let mut sum = 0.0f32;
    for at in starts[document]..starts[document + 1] {
        let at = at as usize;
        let term = columns[at] as usize * terms.stride(0);
        sum += shares[at] * entry(terms, term, topic, known.precision);
    }
    sums[document * sums.stride(0) + topic] = sum;
}

/// Sums over the documents of a slice, for each term: its shares times the weights (`sums`: slices x topics x terms).
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(super) fn by_terms(
    starts: &Array<u32>,
    columns: &Array<u32>,
    shares: &Array<f32>,
    l: &Tensor<u32>,
    sums: &mut Array<f32>,
    terms: usize,
    per_slice: usize,
    slices: usize,
    #[comptime] known: Known,
) {
    let topics = comptime!(known.topics);
    let width = comptime!(terms_of_cube(known.topics));
    let kept_of_cube = comptime!(known.topics * terms_of_cube(known.topics));
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
    let mut kept = SharedMemory::<f32>::new(kept_of_cube);
    let mut froms = SharedMemory::<u32>::new(UNITS);
    let mut tos = SharedMemory::<u32>::new(UNITS);
    let mut at = unit;
    while at < kept_of_cube {
        kept[at] = 0.0;
        at += UNITS;
    }
    // A document for each unit: where the cube's terms begin and end in it.
    let mut group = begin;
    while group < end {
        let document = group + unit;
        if document < end {
            let last = starts[document + 1];
            let from = lower_bound(columns, starts[document], last, first as u32);
            froms[unit] = from;
            tos[unit] = lower_bound(columns, from, last, (first + width) as u32);
        }
        sync_cube();
        let there = select(end - group < UNITS, end - group, UNITS);
        // One document after the other: none has a term twice.
        for number in 0..there {
            let from = froms[number] as usize;
            let sums_of_document = (tos[number] as usize - from) * topics;
            let weights = (group + number) * l.stride(0);
            let mut at = unit;
            while at < sums_of_document {
                let count = from + at / topics;
                let topic = at % topics;
                let place = topic * width + columns[count] as usize - first;
                kept[place] += shares[count] * entry(l, weights, topic, known.precision);
                at += UNITS;
            }
            sync_cube();
        }
        group += UNITS;
    }
    let mut at = unit;
    while at < kept_of_cube {
        let term = first + at % width;
        if term < terms {
            sums[(slice * topics + at / width) * terms + term] = kept[at];
        }
        at += UNITS;
    }
}

/// The first place between `from` and `to` whose column is at least `column`; `to` if there is none.
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
