//! Dense counts: a kernel for the sums by term and one for the sums by document. Both recompute the rates.
//!
//! In either kernel a count needs 2 k flops for its rate and 2 k for its sums: 8 k in all, and two reads of its stored
//! bytes (k = 20, u8: 80 flops a byte, so arithmetic is the limit on any GPU; rates are never stored). Adjacent units
//! have adjacent terms: reads of counts and of rows of F are coalesced. A unit processes tiles of documents x terms with
//! their rates in registers: a value of F is used for all documents of the tile, a weight for all of its terms. The unit's
//! accumulators are in registers too, up to 128 of them; more are in local memory. Weights, which are the same
//! for all units, are read from shared memory: with constant offsets such a read needs no arithmetic for its address.
//! So are the values of F for the sums by term, where a unit keeps its terms.
//!
//! Both kernels sum over slices (of documents, or of terms). The slices' sums are added up afterwards in a fixed order,
//! so that results are the same bits every time.

use cubecl::prelude::*;

use super::CountFormat;
use super::packed::entry;
use super::reduce::sum_over_units;
use super::tile::Tile;

/// Units (threads) in a cube (block).
pub const UNITS: usize = 128;
/// Accumulators that are summed over a cube's units in one round.
const SUMS_PER_ROUND: usize = 16;
/// Units that compute one of these sums.
const UNITS_PER_SUM: usize = UNITS / SUMS_PER_ROUND;

/// Sizes that are arguments of a launch.
#[derive(CubeType, CubeLaunch)]
pub struct Sizes {
    pub documents: usize,
    pub terms: usize,
    /// Words in a row of counts.
    pub stride: usize,
    /// Documents, or terms, in a slice.
    pub per_slice: usize,
    pub slices: usize,
    /// Rates are clamped to this in the logarithm.
    pub smallest: f32,
}

/// For each term, the sums of count / rate times the weights over the documents of a slice (`sums`: slices x topics x
/// terms). Each cube also computes its part of the sum of count x log rate (`likelihoods`: slices x tiles of terms).
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all())]
pub fn by_terms(
    words: &Array<u32>,
    l: &Tensor<u32>,
    f: &Tensor<u32>,
    sums: &mut Array<f32>,
    likelihoods: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] tile: Tile,
) {
    let topics = comptime!(tile.topics);
    let width = comptime!(tile.terms);
    let height = comptime!(tile.documents);
    let tiles = sizes.terms.div_ceil(comptime!(UNITS * tile.terms));
    let slice = CUBE_POS / tiles;
    if slice >= sizes.slices {
        terminate!();
    }
    let unit = (CUBE_POS % tiles) * UNITS + UNIT_POS as usize;
    let first = unit * width;
    let start = slice * sizes.per_slice;
    let end = minimum(start + sizes.per_slice, sizes.documents);
    let mut acc = Array::<f32>::new(comptime!(tile.topics * tile.terms));
    let mut ratios = Array::<f32>::new(comptime!(tile.documents * tile.terms));
    #[unroll(tile.unroll)]
    for at in 0..comptime!(tile.topics * tile.terms) {
        acc[at] = 0.0;
    }
    let mut rows = Array::<usize>::new(height);
    let mut columns = Array::<usize>::new(width);
    term_columns(first, sizes, &mut columns, tile);
    let mut weights = SharedMemory::<f32>::new(comptime!(tile.shared_weights()));
    let mut values = SharedMemory::<f32>::new(comptime!(tile.shared_f()));
    share_terms(f, &columns, &mut values, tile);
    let mut likelihood = 0.0f32;
    let mut chunk = start;
    while chunk < end {
        let chunk_end = minimum(chunk + comptime!(tile.chunk()), end);
        share_weights(l, chunk, sizes, &mut weights, tile);
        let mut document = chunk;
        while document < chunk_end {
            let shared = (document - chunk) * topics;
            weight_rows(l, document, sizes, &mut rows, tile);
            rates(
                l,
                &weights,
                shared,
                &rows,
                f,
                &values,
                &columns,
                &mut ratios,
                tile,
            );
            likelihood += to_ratios(words, document, first, end, sizes, &mut ratios, tile);
            #[unroll(tile.unroll)]
            for topic in 0..topics {
                #[unroll]
                for row in 0..height {
                    let weight = weight(l, &weights, shared, &rows, row, topic, tile);
                    #[unroll]
                    for column in 0..width {
                        let at = topic * width + column;
                        acc[at] = fma(weight, ratios[row * width + column], acc[at]);
                    }
                }
            }
            document += height;
        }
        chunk += comptime!(tile.chunk());
    }
    #[unroll(tile.unroll)]
    for topic in 0..topics {
        #[unroll]
        for column in 0..width {
            let term = first + column;
            if term < sizes.terms {
                sums[(slice * topics + topic) * sizes.terms + term] = acc[topic * width + column];
            }
        }
    }
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let likelihood = sum_over_units(likelihood, &mut shared);
    if UNIT_POS == 0 {
        likelihoods[CUBE_POS] = likelihood;
    }
}

/// For each document, the sums of count / rate times the rows of F over the terms of a slice (`sums`: slices x
/// documents x topics).
#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all())]
pub fn by_documents(
    words: &Array<u32>,
    l: &Tensor<u32>,
    f: &Tensor<u32>,
    sums: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] tile: Tile,
) {
    let topics = comptime!(tile.topics);
    let width = comptime!(tile.terms);
    let height = comptime!(tile.documents);
    let groups = sizes.documents.div_ceil(height);
    let slice = CUBE_POS / groups;
    if slice >= sizes.slices {
        terminate!();
    }
    let document = (CUBE_POS % groups) * height;
    let start = slice * sizes.per_slice;
    let end = minimum(start + sizes.per_slice, sizes.terms);
    let mut acc = Array::<f32>::new(comptime!(tile.topics * tile.documents));
    let mut ratios = Array::<f32>::new(comptime!(tile.documents * tile.terms));
    let mut values = Array::<f32>::new(width);
    #[unroll(tile.unroll)]
    for at in 0..comptime!(tile.topics * tile.documents) {
        acc[at] = 0.0;
    }
    let mut rows = Array::<usize>::new(height);
    let mut columns = Array::<usize>::new(width);
    weight_rows(l, document, sizes, &mut rows, tile);
    let mut weights = SharedMemory::<f32>::new(comptime!(tile.shared_weights()));
    share_weights(l, document, sizes, &mut weights, tile);
    let none = SharedMemory::<f32>::new(comptime!(tile.shared_f()));
    let row_of_f = f.stride(0);
    let mut first = start + UNIT_POS as usize * width;
    while first < end {
        term_columns(first, sizes, &mut columns, tile);
        rates(l, &weights, 0, &rows, f, &none, &columns, &mut ratios, tile);
        to_ratios(
            words,
            document,
            first,
            sizes.documents,
            sizes,
            &mut ratios,
            tile,
        );
        #[unroll(tile.unroll)]
        for topic in 0..topics {
            read_terms(f, topic * row_of_f, &columns, &mut values, tile);
            #[unroll]
            for column in 0..width {
                #[unroll]
                for row in 0..height {
                    let at = row * topics + topic;
                    acc[at] = fma(values[column], ratios[row * width + column], acc[at]);
                }
            }
        }
        first += UNITS * width;
    }
    add_over_units(&acc, sums, slice, document, sizes, tile);
}

/// Adds up the accumulators of a cube's units, which have the same documents. In each round all units write
/// [`SUMS_PER_ROUND`] accumulators to shared memory; [`UNITS_PER_SUM`] units compute partial sums of each, and one unit
/// adds these up.
#[cube]
fn add_over_units(
    acc: &Array<f32>,
    sums: &mut Array<f32>,
    slice: usize,
    document: usize,
    sizes: &Sizes,
    #[comptime] tile: Tile,
) {
    let topics = comptime!(tile.topics);
    let length = comptime!(tile.topics * tile.documents);
    let mut shared = SharedMemory::<f32>::new(comptime!(SUMS_PER_ROUND * UNITS));
    let mut parts = SharedMemory::<f32>::new(UNITS);
    let unit = UNIT_POS as usize;
    #[unroll(tile.unroll)]
    for round in 0..comptime!((tile.topics * tile.documents).div_ceil(SUMS_PER_ROUND)) {
        #[unroll]
        for at in 0..SUMS_PER_ROUND {
            let from = round * SUMS_PER_ROUND + at;
            if from < length {
                shared[at * UNITS + unit] = acc[from];
            }
        }
        sync_cube();
        let mut part = 0.0f32;
        for at in 0..comptime!(UNITS / UNITS_PER_SUM) {
            part +=
                shared[unit / UNITS_PER_SUM * UNITS + at * UNITS_PER_SUM + unit % UNITS_PER_SUM];
        }
        parts[unit] = part;
        sync_cube();
        let from = round * SUMS_PER_ROUND + unit;
        let row = document + from / topics;
        if unit < SUMS_PER_ROUND && from < length && row < sizes.documents {
            let mut sum = 0.0f32;
            for at in 0..UNITS_PER_SUM {
                sum += parts[unit * UNITS_PER_SUM + at];
            }
            sums[(slice * sizes.documents + row) * topics + from % topics] = sum;
        }
    }
}

#[cube]
pub fn minimum(one: usize, other: usize) -> usize {
    select(one < other, one, other)
}

/// The words where the rows of weights of a tile's documents start; past the last document, that document's row.
#[cube]
fn weight_rows(
    l: &Tensor<u32>,
    document: usize,
    sizes: &Sizes,
    rows: &mut Array<usize>,
    #[comptime] tile: Tile,
) {
    let row_of_l = l.stride(0);
    #[unroll]
    for row in 0..comptime!(tile.documents) {
        rows[row] = minimum(document + row, sizes.documents - 1) * row_of_l;
    }
}

/// The positions of a tile's terms, from `first` on, in a row of F (of words, if terms are read in pairs); past the
/// last term, that term's position.
#[cube]
fn term_columns(first: usize, sizes: &Sizes, columns: &mut Array<usize>, #[comptime] tile: Tile) {
    if comptime!(tile.in_pairs()) {
        let last = (sizes.terms - 1) / 2;
        #[unroll]
        for pair in 0..comptime!(tile.terms / 2) {
            columns[pair] = minimum(first / 2 + pair, last);
        }
    } else {
        #[unroll]
        for column in 0..comptime!(tile.terms) {
            columns[column] = minimum(first + column, sizes.terms - 1);
        }
    }
}

/// A tile's entries of the row of F that starts at word `row`.
#[cube]
fn read_terms(
    f: &Tensor<u32>,
    row: usize,
    columns: &Array<usize>,
    out: &mut Array<f32>,
    #[comptime] tile: Tile,
) {
    if comptime!(tile.in_pairs()) {
        #[unroll]
        for pair in 0..comptime!(tile.terms / 2) {
            let word = f[row + columns[pair]];
            out[2 * pair] = f32::reinterpret(word << 16);
            out[2 * pair + 1] = f32::reinterpret(word & 0xffff_0000u32);
        }
    } else {
        #[unroll]
        for column in 0..comptime!(tile.terms) {
            out[column] = entry(f, row, columns[column], tile.precision);
        }
    }
}

/// Copies the weights of a chunk of documents to shared memory; past the last document, that document's.
#[cube]
fn share_weights(
    l: &Tensor<u32>,
    document: usize,
    sizes: &Sizes,
    weights: &mut SharedMemory<f32>,
    #[comptime] tile: Tile,
) {
    if comptime!(tile.shares_weights) {
        let topics = comptime!(tile.topics);
        // Units may still read the chunk before.
        sync_cube();
        let mut at = UNIT_POS as usize;
        while at < comptime!(tile.chunk() * tile.topics) {
            let row = minimum(document + at / topics, sizes.documents - 1) * l.stride(0);
            weights[at] = entry(l, row, at % topics, tile.precision);
            at += UNITS;
        }
        sync_cube();
    }
}

/// Copies the values of F of a unit's terms to shared memory, adjacent units to adjacent places. No other unit reads them.
#[cube]
fn share_terms(
    f: &Tensor<u32>,
    columns: &Array<usize>,
    shared: &mut SharedMemory<f32>,
    #[comptime] tile: Tile,
) {
    if comptime!(tile.shares_f) {
        let width = comptime!(tile.terms);
        let mut values = Array::<f32>::new(width);
        let row_of_f = f.stride(0);
        for topic in 0..comptime!(tile.topics) {
            read_terms(f, topic * row_of_f, columns, &mut values, tile);
            #[unroll]
            for column in 0..width {
                shared[(topic * width + column) * UNITS + UNIT_POS as usize] = values[column];
            }
        }
    }
}

/// A weight of a document of a tile, whose weights start at `shared` in shared memory and at `rows` in L.
#[cube]
fn weight(
    l: &Tensor<u32>,
    weights: &SharedMemory<f32>,
    shared: usize,
    rows: &Array<usize>,
    row: usize,
    topic: usize,
    #[comptime] tile: Tile,
) -> f32 {
    if comptime!(tile.shares_weights) {
        weights[shared + row * comptime!(tile.topics) + topic]
    } else {
        entry(l, rows[row], topic, tile.precision)
    }
}

/// The rates of a tile. Only a few topics at a time are unrolled: with more, the compiler would load the values of all
/// before it adds them up, which takes too many registers.
#[cube]
#[allow(clippy::too_many_arguments)]
fn rates(
    l: &Tensor<u32>,
    weights: &SharedMemory<f32>,
    shared: usize,
    rows: &Array<usize>,
    f: &Tensor<u32>,
    values: &SharedMemory<f32>,
    columns: &Array<usize>,
    rates: &mut Array<f32>,
    #[comptime] tile: Tile,
) {
    let width = comptime!(tile.terms);
    #[unroll]
    for at in 0..comptime!(tile.documents * tile.terms) {
        rates[at] = 0.0;
    }
    let row_of_f = f.stride(0);
    let mut terms = Array::<f32>::new(width);
    for group in 0..comptime!(tile.topics / tile.topics_at_once()) {
        #[unroll]
        for number in 0..comptime!(tile.topics_at_once()) {
            let topic = group * comptime!(tile.topics_at_once()) + number;
            if comptime!(tile.shares_f) {
                #[unroll]
                for column in 0..width {
                    terms[column] = values[(topic * width + column) * UNITS + UNIT_POS as usize];
                }
            } else {
                read_terms(f, topic * row_of_f, columns, &mut terms, tile);
            }
            #[unroll]
            for row in 0..comptime!(tile.documents) {
                let weight = weight(l, weights, shared, rows, row, topic, tile);
                #[unroll]
                for column in 0..width {
                    let at = row * width + column;
                    rates[at] = fma(weight, terms[column], rates[at]);
                }
            }
        }
    }
}

/// Replaces a tile's rates in `cells` by count / rate, and returns the sum of count x log rate. Documents from `end` on
/// have no counts.
#[cube]
fn to_ratios(
    words: &Array<u32>,
    document: usize,
    first: usize,
    end: usize,
    sizes: &Sizes,
    cells: &mut Array<f32>,
    #[comptime] tile: Tile,
) -> f32 {
    let per_word = comptime!(tile.format.counts_per_word());
    // Counts that a tile has in one word.
    let used_per_word = comptime!(const_min(tile.terms, tile.format.counts_per_word()));
    let first_word = first / per_word;
    let mut likelihood = 0.0f32;
    #[unroll]
    for row in 0..comptime!(tile.documents) {
        let start = (document + row) * sizes.stride;
        #[unroll]
        for chunk in 0..comptime!(tile.terms / used_per_word) {
            let mut word = 0u32;
            // Past the last term, words are padded with zeros.
            if document + row < end && first_word + chunk < sizes.stride {
                word = words[start + first_word + chunk];
            }
            #[unroll]
            for lane in 0..used_per_word {
                let count = count_at(word, first % per_word + lane, tile.format);
                let at = row * comptime!(tile.terms) + chunk * used_per_word + lane;
                let rate = cells[at];
                // Below the smallest rate the clamped logarithm is constant: its gradient is zero.
                let clamped = select(rate > sizes.smallest, rate, sizes.smallest);
                likelihood += count * clamped.ln();
                cells[at] = select(rate < sizes.smallest, 0.0, count / clamped);
            }
        }
    }
    likelihood
}

const fn const_min(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

/// The `index`-th count of a word.
#[cube]
fn count_at(word: u32, index: usize, #[comptime] format: CountFormat) -> f32 {
    if comptime!(format == CountFormat::F32) {
        f32::reinterpret(word)
    } else if comptime!(format == CountFormat::U32) {
        f32::cast_from(word)
    } else {
        let bits = comptime!(32 / format.counts_per_word() as u32);
        let shift = index as u32 * bits;
        let mask = comptime!((1u32 << (32 / format.counts_per_word() as u32)) - 1);
        f32::cast_from((word >> shift) & mask)
    }
}
