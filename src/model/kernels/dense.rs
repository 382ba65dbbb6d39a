//! Dense counts: two kernels, one for either table, that both make the rates anew.
//!
//! A count takes 2 k flops for its rate and 2 k for a sum, in either kernel: 8 k in all, and two reads of its stored
//! bytes (k = 20, u8: 80 flops a byte, so arithmetic is the limit on any card; no rate is written anywhere). In both,
//! neighbouring units have neighbouring terms: counts and rows of F are read side by side, and weights, which all units
//! read alike, come as broadcasts. A unit works on a tile of documents x terms whose rates are in registers: a value of F
//! serves all documents of the tile, a weight all of its terms. Sums that a unit keeps are in registers too, up to
//! [`REGISTERS`] of them, and in local memory beyond.
//!
//! Sums over slices (of documents, or of terms) are added up afterwards, in their order, so results are the same bits
//! every time.

use cubecl::prelude::*;

use super::Kind;
use super::table::entry;
use crate::model::Precision;

/// Units of a cube.
pub(super) const UNITS: usize = 128;
/// Sums that a unit may keep in registers where it has 255 of them.
const REGISTERS: usize = 128;
/// The same elsewhere: compilers take a minute over a long kernel.
const FEW_REGISTERS: usize = 16;
/// Sums of a cube's units that are added up at once.
const TOGETHER: usize = 16;
/// Units that share one of these.
const EACH: usize = UNITS / TOGETHER;

/// What one unit works on at a time; known when a kernel is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tile {
    pub(super) topics: usize,
    pub(super) documents: usize,
    pub(super) terms: usize,
    /// Whether the sums are in registers: the loop over them is written out.
    unroll: bool,
    kind: Kind,
    precision: Precision,
}

impl Tile {
    /// For sums of topics x terms. `large`: the runtime is CUDA.
    pub(super) fn by_terms(topics: usize, read: (Kind, Precision), large: bool) -> Self {
        let terms = match topics {
            ..=32 => 4,
            33..=64 => 2,
            65..=REGISTERS => 1,
            _ => 2,
        };
        Self::new(topics, 8, terms, (topics * terms, large), read)
    }

    /// For sums of documents x topics.
    pub(super) fn by_documents(topics: usize, read: (Kind, Precision), large: bool) -> Self {
        let (documents, terms) = match topics {
            ..=32 => (4, 4),
            33..=64 => (2, 8),
            65..=REGISTERS => (1, 8),
            _ => (4, 8),
        };
        Self::new(topics, documents, terms, (topics * documents, large), read)
    }

    fn new(
        topics: usize,
        documents: usize,
        terms: usize,
        (sums, large): (usize, bool),
        (kind, precision): (Kind, Precision),
    ) -> Self {
        Self {
            topics,
            documents,
            terms,
            unroll: sums <= if large { REGISTERS } else { FEW_REGISTERS },
            kind,
            precision,
        }
    }
}

/// The sizes that are told when a kernel is launched.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Sizes {
    pub(super) documents: usize,
    pub(super) terms: usize,
    /// Words from one document's counts to the next one's.
    pub(super) stride: usize,
    /// Documents, or terms, of a slice.
    pub(super) per_slice: usize,
    pub(super) slices: usize,
    /// Logarithms are cut off at this rate.
    pub(super) smallest: f32,
}

/// Sums over the documents of a slice, for each term: count / rate times the weights (`sums`: slices x topics x terms),
/// and for each unit its part of the sum of count x log rate (`likelihoods`: slices x tiles of terms x units).
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn by_terms(
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
    let end = least(start + sizes.per_slice, sizes.documents);
    let mut kept = Array::<f32>::new(comptime!(tile.topics * tile.terms));
    let mut shares = Array::<f32>::new(comptime!(tile.documents * tile.terms));
    #[unroll(tile.unroll)]
    for at in 0..comptime!(tile.topics * tile.terms) {
        kept[at] = 0.0;
    }
    let mut likelihood = 0.0f32;
    let mut document = start;
    while document < end {
        rates(l, f, document, first, sizes, &mut shares, tile);
        likelihood += to_shares(words, document, first, end, sizes, &mut shares, tile);
        #[unroll(tile.unroll)]
        for topic in 0..topics {
            #[unroll]
            for row in 0..height {
                let from = weight_at(l, document + row, sizes);
                let weight = entry(l, from, topic, tile.precision);
                #[unroll]
                for column in 0..width {
                    kept[topic * width + column] += weight * shares[row * width + column];
                }
            }
        }
        document += height;
    }
    #[unroll(tile.unroll)]
    for topic in 0..topics {
        #[unroll]
        for column in 0..width {
            let term = first + column;
            if term < sizes.terms {
                sums[(slice * topics + topic) * sizes.terms + term] = kept[topic * width + column];
            }
        }
    }
    likelihoods[CUBE_POS * UNITS + UNIT_POS as usize] = likelihood;
}

/// Sums over the terms of a slice, for each document: count / rate times the rows of F (`sums`: slices x documents x
/// topics).
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn by_documents(
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
    let kept_of_one = comptime!(tile.topics * tile.documents);
    let groups = sizes.documents.div_ceil(height);
    let slice = CUBE_POS / groups;
    if slice >= sizes.slices {
        terminate!();
    }
    let document = (CUBE_POS % groups) * height;
    let start = slice * sizes.per_slice;
    let end = least(start + sizes.per_slice, sizes.terms);
    let mut kept = Array::<f32>::new(kept_of_one);
    let mut shares = Array::<f32>::new(comptime!(tile.documents * tile.terms));
    let mut values = Array::<f32>::new(width);
    #[unroll(tile.unroll)]
    for at in 0..kept_of_one {
        kept[at] = 0.0;
    }
    let mut first = start + UNIT_POS as usize * width;
    while first < end {
        rates(l, f, document, first, sizes, &mut shares, tile);
        to_shares(
            words,
            document,
            first,
            sizes.documents,
            sizes,
            &mut shares,
            tile,
        );
        #[unroll(tile.unroll)]
        for topic in 0..topics {
            read_terms(f, topic, first, sizes, &mut values, tile);
            #[unroll]
            for column in 0..width {
                #[unroll]
                for row in 0..height {
                    kept[row * topics + topic] += values[column] * shares[row * width + column];
                }
            }
        }
        first += UNITS * width;
    }
    // Some sums at a time: every unit's beside each other, then few units for each sum, then one.
    let mut shared = SharedMemory::<f32>::new(comptime!(TOGETHER * UNITS));
    let mut parts = SharedMemory::<f32>::new(UNITS);
    let unit = UNIT_POS as usize;
    #[unroll(tile.unroll)]
    for turn in 0..comptime!((tile.topics * tile.documents).div_ceil(TOGETHER)) {
        #[unroll]
        for at in 0..TOGETHER {
            let from = turn * TOGETHER + at;
            if from < kept_of_one {
                shared[at * UNITS + unit] = kept[from];
            }
        }
        sync_cube();
        let mut part = 0.0f32;
        for at in 0..comptime!(UNITS / EACH) {
            part += shared[unit / EACH * UNITS + at * EACH + unit % EACH];
        }
        parts[unit] = part;
        sync_cube();
        let from = turn * TOGETHER + unit;
        let row = document + from / topics;
        if unit < TOGETHER && from < kept_of_one && row < sizes.documents {
            let mut sum = 0.0f32;
            for at in 0..EACH {
                sum += parts[unit * EACH + at];
            }
            sums[(slice * sizes.documents + row) * topics + from % topics] = sum;
        }
    }
}

#[cube]
fn least(one: usize, other: usize) -> usize {
    select(one < other, one, other)
}

/// Where a document's row of weights begins; past the last document, that one's.
#[cube]
fn weight_at(l: &Tensor<u32>, document: usize, sizes: &Sizes) -> usize {
    least(document, sizes.documents - 1) * l.stride(0)
}

/// A tile's entries of a row of F, from the term `first` on; past the last term, that one's, or zeros.
#[cube]
fn read_terms(
    f: &Tensor<u32>,
    topic: usize,
    first: usize,
    sizes: &Sizes,
    out: &mut Array<f32>,
    #[comptime] tile: Tile,
) {
    let row = topic * f.stride(0);
    if comptime!(tile.precision == Precision::Bf16 && tile.terms.is_multiple_of(2)) {
        // Two of them in a word: tiles begin at even terms.
        let last = (sizes.terms - 1) / 2;
        #[unroll]
        for pair in 0..comptime!(tile.terms / 2) {
            let word = f[row + least(first / 2 + pair, last)];
            out[2 * pair] = f32::reinterpret(word << 16);
            out[2 * pair + 1] = f32::reinterpret(word & 0xffff_0000u32);
        }
    } else {
        #[unroll]
        for column in 0..comptime!(tile.terms) {
            let term = least(first + column, sizes.terms - 1);
            out[column] = entry(f, row, term, tile.precision);
        }
    }
}

/// The rates of a tile that begins with this document and this term.
#[cube]
fn rates(
    l: &Tensor<u32>,
    f: &Tensor<u32>,
    document: usize,
    first: usize,
    sizes: &Sizes,
    out: &mut Array<f32>,
    #[comptime] tile: Tile,
) {
    let width = comptime!(tile.terms);
    let height = comptime!(tile.documents);
    let mut values = Array::<f32>::new(width);
    #[unroll]
    for at in 0..comptime!(tile.documents * tile.terms) {
        out[at] = 0.0;
    }
    for topic in 0..comptime!(tile.topics) {
        read_terms(f, topic, first, sizes, &mut values, tile);
        #[unroll]
        for row in 0..height {
            let from = weight_at(l, document + row, sizes);
            let weight = entry(l, from, topic, tile.precision);
            #[unroll]
            for column in 0..width {
                out[row * width + column] += weight * values[column];
            }
        }
    }
}

/// Turns a tile's rates into count / rate; gives the sum of count x log rate. Documents from `end` on count nothing.
#[cube]
fn to_shares(
    words: &Array<u32>,
    document: usize,
    first: usize,
    end: usize,
    sizes: &Sizes,
    tile_of: &mut Array<f32>,
    #[comptime] tile: Tile,
) -> f32 {
    let width = comptime!(tile.terms);
    let mut likelihood = 0.0f32;
    #[unroll]
    for row in 0..comptime!(tile.documents) {
        #[unroll]
        for column in 0..width {
            let at = comptime!(row * tile.terms + column);
            let mut counted = 0.0f32;
            if document + row < end && first + column < sizes.terms {
                counted = count(
                    words,
                    (document + row) * sizes.stride,
                    first,
                    column,
                    tile.kind,
                );
            }
            let rate = tile_of[at];
            // The logarithm is cut off below, and its slope with it.
            let held = select(rate > sizes.smallest, rate, sizes.smallest);
            likelihood += counted * held.ln();
            tile_of[at] = select(rate < sizes.smallest, 0.0, counted / held);
        }
    }
    likelihood
}

/// The count of term `first + next` in the row that begins at word `row`. `first` is a multiple of the tile's terms.
#[cube]
fn count(
    words: &Array<u32>,
    row: usize,
    first: usize,
    #[comptime] next: usize,
    #[comptime] kind: Kind,
) -> f32 {
    let in_word = comptime!(kind.in_word());
    let term = first + next;
    let word = words[row + term / in_word];
    if comptime!(kind == Kind::F32) {
        f32::reinterpret(word)
    } else if comptime!(kind == Kind::U32) {
        f32::cast_from(word)
    } else {
        let bits = comptime!(32 / kind.in_word() as u32);
        let shift = (term % in_word) as u32 * bits;
        f32::cast_from((word >> shift) & comptime!((1u32 << (32 / kind.in_word() as u32)) - 1))
    }
}
