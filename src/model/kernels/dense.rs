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
        // Long kernels take the compiler long.
        let (documents, terms) = match topics {
            ..=32 => (8, 4),
            33..=64 => (4, 2),
            65..=REGISTERS => (4, 1),
            _ => (8, 2),
        };
        Self::new(topics, documents, terms, (topics * terms, large), read)
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

    /// Whether two neighbours are read at once: they lie in a word, and tiles begin at even terms.
    fn in_pairs(self) -> bool {
        self.precision == Precision::Bf16 && self.terms.is_multiple_of(2)
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
    let mut rows = Array::<usize>::new(height);
    let mut columns = Array::<usize>::new(width);
    places_of_terms(first, sizes, &mut columns, tile);
    let mut likelihood = 0.0f32;
    let mut document = start;
    while document < end {
        places_of_weights(l, document, sizes, &mut rows, tile);
        rates(l, f, &rows, &columns, &mut shares, tile);
        likelihood += to_shares(words, document, first, end, sizes, &mut shares, tile);
        #[unroll(tile.unroll)]
        for topic in 0..topics {
            #[unroll]
            for row in 0..height {
                let weight = entry(l, rows[row], topic, tile.precision);
                #[unroll]
                for column in 0..width {
                    let at = topic * width + column;
                    kept[at] = fma(weight, shares[row * width + column], kept[at]);
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
    let mut rows = Array::<usize>::new(height);
    let mut columns = Array::<usize>::new(width);
    places_of_weights(l, document, sizes, &mut rows, tile);
    let row_of_f = f.stride(0);
    let mut first = start + UNIT_POS as usize * width;
    while first < end {
        places_of_terms(first, sizes, &mut columns, tile);
        rates(l, f, &rows, &columns, &mut shares, tile);
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
            read_terms(f, topic * row_of_f, &columns, &mut values, tile);
            #[unroll]
            for column in 0..width {
                #[unroll]
                for row in 0..height {
                    let at = row * topics + topic;
                    kept[at] = fma(values[column], shares[row * width + column], kept[at]);
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

/// Where the rows of weights of a tile's documents begin; past the last document, that one's.
#[cube]
fn places_of_weights(
    l: &Tensor<u32>,
    document: usize,
    sizes: &Sizes,
    rows: &mut Array<usize>,
    #[comptime] tile: Tile,
) {
    let row_of_l = l.stride(0);
    #[unroll]
    for row in 0..comptime!(tile.documents) {
        rows[row] = least(document + row, sizes.documents - 1) * row_of_l;
    }
}

/// Where a tile's terms are in a row of F, from the term `first` on; past the last term, where that one is.
#[cube]
fn places_of_terms(
    first: usize,
    sizes: &Sizes,
    columns: &mut Array<usize>,
    #[comptime] tile: Tile,
) {
    if comptime!(tile.in_pairs()) {
        let last = (sizes.terms - 1) / 2;
        #[unroll]
        for pair in 0..comptime!(tile.terms / 2) {
            columns[pair] = least(first / 2 + pair, last);
        }
    } else {
        #[unroll]
        for column in 0..comptime!(tile.terms) {
            columns[column] = least(first + column, sizes.terms - 1);
        }
    }
}

/// A tile's entries of the row of F that begins at word `row`.
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

/// The rates of a tile.
#[cube]
fn rates(
    l: &Tensor<u32>,
    f: &Tensor<u32>,
    rows: &Array<usize>,
    columns: &Array<usize>,
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
    let row_of_f = f.stride(0);
    for topic in 0..comptime!(tile.topics) {
        read_terms(f, topic * row_of_f, columns, &mut values, tile);
        #[unroll]
        for row in 0..height {
            let weight = entry(l, rows[row], topic, tile.precision);
            #[unroll]
            for column in 0..width {
                let at = row * width + column;
                out[at] = fma(weight, values[column], out[at]);
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
    let in_word = comptime!(tile.kind.in_word());
    // Of the tile's terms: how many lie in one word, and how many words that makes.
    let together = comptime!(least_of(tile.terms, tile.kind.in_word()));
    let first_word = first / in_word;
    let mut likelihood = 0.0f32;
    #[unroll]
    for row in 0..comptime!(tile.documents) {
        let start = (document + row) * sizes.stride;
        #[unroll]
        for turn in 0..comptime!(tile.terms / together) {
            let mut word = 0u32;
            // Words are filled up with zeros.
            if document + row < end && first_word + turn < sizes.stride {
                word = words[start + first_word + turn];
            }
            #[unroll]
            for next in 0..together {
                let counted = count(word, first % in_word + next, tile.kind);
                let at = row * comptime!(tile.terms) + turn * together + next;
                let rate = tile_of[at];
                // The logarithm is cut off below, and its slope with it.
                let held = select(rate > sizes.smallest, rate, sizes.smallest);
                likelihood += counted * held.ln();
                tile_of[at] = select(rate < sizes.smallest, 0.0, counted / held);
            }
        }
    }
    likelihood
}

const fn least_of(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

/// The count at this place of a word.
#[cube]
fn count(word: u32, place: usize, #[comptime] kind: Kind) -> f32 {
    if comptime!(kind == Kind::F32) {
        f32::reinterpret(word)
    } else if comptime!(kind == Kind::U32) {
        f32::cast_from(word)
    } else {
        let bits = comptime!(32 / kind.in_word() as u32);
        let shift = place as u32 * bits;
        f32::cast_from((word >> shift) & comptime!((1u32 << (32 / kind.in_word() as u32)) - 1))
    }
}
