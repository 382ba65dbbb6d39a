//! The matrix products of a tile. The vector lanes are terms, which are contiguous in dense counts and in F.
//!
//! Each product keeps a block of sums in registers. A processor with 32 registers of sixteen lanes keeps 4 x 4 of them: eight
//! loads for sixteen multiply-adds. One with fewer or narrower registers keeps a quarter of them: it would spill more sums
//! to memory and read them again at each multiply-add. A multiply-add is fused by name and each sum has a fixed order, so
//! every machine gives the same bits. Tables should be aligned to registers: a load across two cache lines takes twice as
//! long.

use crate::system::{LANES, Vector, ln, max_of_numbers, per_lane, simd_dispatch, sum};

/// Documents, topics and registers of terms in a block of sums.
pub const BLOCK: usize = 4;
/// Terms in a block of registers.
pub const BLOCK_TERMS: usize = BLOCK * LANES;
/// Maximum number of terms in a tile: with twenty topics, counts and F of a tile fit in the L1 cache.
pub const TERMS: usize = 4 * BLOCK_TERMS;

/// A block of sums: rows of registers.
type BlockSums<const ROWS: usize, const REGISTERS: usize> = [[[f32; LANES]; REGISTERS]; ROWS];

/// The smallest rate that a count is divided by.
#[derive(Clone, Copy)]
pub struct Floor {
    pub rate: f32,
    /// Whether quotients of rates below the floor are zero: the gradient of the clamped logarithm.
    pub zero_below: bool,
}

simd_dispatch! {
    /// Replaces counts (documents x terms) by count / rate. The rates are weights (documents x topics) x F (topics x terms), at
    /// least `floor`. With `likelihoods`, adds each document's sum of x log rate to them. The numbers of documents and terms
    /// are multiples of [`BLOCK`] and [`BLOCK_TERMS`], and there are at most [`TERMS`] terms.
    pub fn quotients<V: Vector>(
        weights: &[f32],
        f: &[f32],
        topics: usize,
        floor: Floor,
        counts: &mut [f32],
        likelihoods: Option<&mut [f64]>,
    ) {
        let tables = (weights, f, topics, floor.rate);
        match (likelihoods, floor.zero_below) {
            (Some(sums), false) => divide::<V, true, false>(tables, counts, sums),
            (Some(sums), true) => divide::<V, true, true>(tables, counts, sums),
            (None, false) => divide::<V, false, false>(tables, counts, &mut []),
            (None, true) => divide::<V, false, true>(tables, counts, &mut []),
        }
    }
}

/// Weights, F, the number of topics and the smallest rate.
type Rates<'a> = (&'a [f32], &'a [f32], usize, f32);

#[inline(always)]
fn divide<V: Vector, const LIKELIHOOD: bool, const ZERO_BELOW: bool>(
    tables: Rates<'_>,
    counts: &mut [f32],
    likelihoods: &mut [f64],
) {
    match V::IS_WIDE {
        true => divide_by::<BLOCK, LIKELIHOOD, ZERO_BELOW>(tables, counts, likelihoods),
        false => divide_by::<1, LIKELIHOOD, ZERO_BELOW>(tables, counts, likelihoods),
    }
}

#[inline(always)]
fn divide_by<const REGISTERS: usize, const LIKELIHOOD: bool, const ZERO_BELOW: bool>(
    (weights, f, topics, floor): Rates<'_>,
    counts: &mut [f32],
    likelihoods: &mut [f64],
) {
    let terms = f.len() / topics;
    let documents = weights.chunks_exact(BLOCK * topics);
    let blocks = documents.zip(counts.chunks_exact_mut(BLOCK * terms));
    for (block, (weights, counts)) in blocks.enumerate() {
        let mut logarithms = [[0.0f32; LANES]; BLOCK];
        for first in (0..terms).step_by(REGISTERS * LANES) {
            let rates = block_of_rates::<REGISTERS>(weights, f, topics, first);
            for (document, rates) in rates.iter().enumerate() {
                let counts: &mut [_; REGISTERS] =
                    registers_mut(&mut counts[document * terms + first..]);
                if LIKELIHOOD {
                    for (counts, rates) in counts.iter().zip(rates) {
                        let log_rates = per_lane(|lane| ln(max_of_numbers(rates[lane], floor)));
                        let sums = &mut logarithms[document];
                        *sums = per_lane(|lane| counts[lane].mul_add(log_rates[lane], sums[lane]));
                    }
                }
                let counts = counts.as_flattened_mut().iter_mut();
                for (count, rate) in counts.zip(rates.as_flattened()) {
                    let quotient = *count / max_of_numbers(*rate, floor);
                    *count = if ZERO_BELOW && *rate < floor {
                        0.0
                    } else {
                        quotient
                    };
                }
            }
        }
        if LIKELIHOOD {
            let likelihoods = likelihoods[block * BLOCK..].iter_mut();
            for (likelihood, logarithms) in likelihoods.zip(logarithms) {
                *likelihood += f64::from(sum(logarithms));
            }
        }
    }
}

/// The rates of [`BLOCK`] documents in the registers of terms from `first` on.
#[inline(always)]
fn block_of_rates<const REGISTERS: usize>(
    weights: &[f32],
    f: &[f32],
    topics: usize,
    first: usize,
) -> BlockSums<BLOCK, REGISTERS> {
    let terms = f.len() / topics;
    let [a, b, c, d]: [&[f32]; BLOCK] =
        std::array::from_fn(|document| &weights[document * topics..][..topics]);
    let mut rates = [[[0.0; LANES]; REGISTERS]; BLOCK];
    let weights = a.iter().zip(b).zip(c).zip(d);
    for (f, (((a, b), c), d)) in f.chunks_exact(terms).zip(weights) {
        // A copy, so that each register is loaded once.
        let f: [_; REGISTERS] = *registers(&f[first..]);
        for register in 0..REGISTERS {
            add(&mut rates[0][register], *a, &f[register]);
            add(&mut rates[1][register], *b, &f[register]);
            add(&mut rates[2][register], *c, &f[register]);
            add(&mut rates[3][register], *d, &f[register]);
        }
    }
    rates
}

simd_dispatch! {
    /// Writes the rates (documents x terms): weights (documents x topics) x F (topics x terms). The numbers of documents and
    /// terms are multiples of [`BLOCK`] and [`BLOCK_TERMS`].
    pub fn tile_rates<V: Vector>(weights: &[f32], f: &[f32], topics: usize, rates: &mut [f32]) {
        match V::IS_WIDE {
            true => write_rates::<BLOCK>(weights, f, topics, rates),
            false => write_rates::<1>(weights, f, topics, rates),
        }
    }
}

#[inline(always)]
fn write_rates<const REGISTERS: usize>(
    weights: &[f32],
    f: &[f32],
    topics: usize,
    rates: &mut [f32],
) {
    let terms = f.len() / topics;
    let documents = weights.chunks_exact(BLOCK * topics);
    for (weights, rates) in documents.zip(rates.chunks_exact_mut(BLOCK * terms)) {
        for first in (0..terms).step_by(REGISTERS * LANES) {
            let block = block_of_rates::<REGISTERS>(weights, f, topics, first);
            for (document, sums) in block.iter().enumerate() {
                *registers_mut(&mut rates[document * terms + first..]) = *sums;
            }
        }
    }
}

simd_dispatch! {
    /// Adds quotients (documents x terms) x F transposed (terms x topics) to `sums`: one register for each document and topic,
    /// whose lanes the caller adds up.
    pub fn add_to_l<V: Vector>(quotients: &[f32], f: &[f32], topics: usize, sums: &mut [[f32; LANES]]) {
        match V::IS_WIDE {
            true => dot_all::<BLOCK>(quotients, f, topics, sums),
            false => dot_all::<2>(quotients, f, topics, sums),
        }
    }
}

/// Blocks of `ROWS` documents and `ROWS` topics.
#[inline(always)]
fn dot_all<const ROWS: usize>(
    quotients: &[f32],
    f: &[f32],
    topics: usize,
    sums: &mut [[f32; LANES]],
) {
    let terms = f.len() / topics;
    let quotients = quotients.chunks_exact(ROWS * terms);
    for (quotients, sums) in quotients.zip(sums.chunks_exact_mut(ROWS * topics)) {
        for first in (0..topics).step_by(ROWS) {
            let f = &f[first * terms..];
            match ROWS.min(topics - first) {
                1 => dot::<ROWS, 1>(quotients, f, first, topics, sums),
                2 => dot::<ROWS, 2>(quotients, f, first, topics, sums),
                3 => dot::<ROWS, 3>(quotients, f, first, topics, sums),
                _ => dot::<ROWS, 4>(quotients, f, first, topics, sums),
            }
        }
    }
}

/// The products of `ROWS` documents with `TOPICS` topics.
#[inline(always)]
fn dot<const ROWS: usize, const TOPICS: usize>(
    quotients: &[f32],
    f: &[f32],
    first: usize,
    topics: usize,
    sums: &mut [[f32; LANES]],
) {
    let terms = quotients.len() / ROWS;
    let documents: [_; ROWS] = std::array::from_fn(|document| {
        quotients[document * terms..][..terms]
            .as_chunks::<LANES>()
            .0
    });
    let f: [_; TOPICS] =
        std::array::from_fn(|topic| f[topic * terms..][..terms].as_chunks::<LANES>().0);
    let mut totals: BlockSums<ROWS, TOPICS> = [[[0.0; LANES]; TOPICS]; ROWS];
    for (document, totals) in totals.iter_mut().enumerate() {
        totals.copy_from_slice(&sums[document * topics + first..][..TOPICS]);
    }
    for register in 0..terms / LANES {
        // Copies, so that each register is loaded once.
        let quotients: [[f32; LANES]; ROWS] =
            std::array::from_fn(|document| documents[document][register]);
        let f: [[f32; LANES]; TOPICS] = std::array::from_fn(|topic| f[topic][register]);
        for topic in 0..TOPICS {
            for document in 0..ROWS {
                let total = totals[document][topic];
                totals[document][topic] =
                    per_lane(|lane| quotients[document][lane].mul_add(f[topic][lane], total[lane]));
            }
        }
    }
    for (document, totals) in totals.iter().enumerate() {
        sums[document * topics + first..][..TOPICS].copy_from_slice(totals);
    }
}

simd_dispatch! {
    /// Adds weights transposed (topics x documents) x quotients (documents x terms) to `sums` (topics x terms).
    pub fn add_to_f<V: Vector>(weights: &[f32], quotients: &[f32], topics: usize, sums: &mut [f32]) {
        match V::IS_WIDE {
            true => outer_all::<BLOCK>(weights, quotients, topics, sums),
            false => outer_all::<1>(weights, quotients, topics, sums),
        }
    }
}

/// Blocks of [`BLOCK`] topics and `REGISTERS` registers of terms.
#[inline(always)]
fn outer_all<const REGISTERS: usize>(
    weights: &[f32],
    quotients: &[f32],
    topics: usize,
    sums: &mut [f32],
) {
    let terms = sums.len() / topics;
    for first in (0..topics).step_by(BLOCK) {
        let sums = &mut sums[first * terms..];
        let weights = &weights[first..];
        match topics - first {
            1 => outer::<REGISTERS, 1>(weights, quotients, topics, terms, sums),
            2 => outer::<REGISTERS, 2>(weights, quotients, topics, terms, sums),
            3 => outer::<REGISTERS, 3>(weights, quotients, topics, terms, sums),
            _ => outer::<REGISTERS, 4>(weights, quotients, topics, terms, sums),
        }
    }
}

/// The sums of `TOPICS` topics.
#[inline(always)]
fn outer<const REGISTERS: usize, const TOPICS: usize>(
    weights: &[f32],
    quotients: &[f32],
    topics: usize,
    terms: usize,
    sums: &mut [f32],
) {
    for first in (0..terms).step_by(REGISTERS * LANES) {
        let mut totals: BlockSums<TOPICS, REGISTERS> = [[[0.0; LANES]; REGISTERS]; TOPICS];
        for (topic, totals) in totals.iter_mut().enumerate() {
            *totals = *registers(&sums[topic * terms + first..]);
        }
        for (weights, quotients) in weights.chunks(topics).zip(quotients.chunks_exact(terms)) {
            // A copy, so that each register is loaded once.
            let quotients: [_; REGISTERS] = *registers(&quotients[first..]);
            let weights = &weights[..TOPICS];
            for topic in 0..TOPICS {
                for register in 0..REGISTERS {
                    add(
                        &mut totals[topic][register],
                        weights[topic],
                        &quotients[register],
                    );
                }
            }
        }
        for (topic, totals) in totals.iter().enumerate() {
            *registers_mut(&mut sums[topic * terms + first..]) = *totals;
        }
    }
}

/// Adds factor x values to the sums, lane by lane.
#[inline(always)]
fn add(sums: &mut [f32; LANES], factor: f32, values: &[f32; LANES]) {
    for lane in 0..LANES {
        sums[lane] = values[lane].mul_add(factor, sums[lane]);
    }
}

/// The first registers of a row.
#[inline(always)]
fn registers<const REGISTERS: usize>(row: &[f32]) -> &[[f32; LANES]; REGISTERS] {
    &row.as_chunks::<LANES>().0.as_chunks::<REGISTERS>().0[0]
}

#[inline(always)]
fn registers_mut<const REGISTERS: usize>(row: &mut [f32]) -> &mut [[f32; LANES]; REGISTERS] {
    &mut row
        .as_chunks_mut::<LANES>()
        .0
        .as_chunks_mut::<REGISTERS>()
        .0[0]
}
