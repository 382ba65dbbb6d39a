//! Seeded random streams, one per purpose and index, so that results do not depend on the number of threads.

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Purpose of a random stream. The purpose is hashed into the seed, so one seed gives every purpose its own streams.
#[derive(Clone, Copy)]
pub enum Purpose {
    TrueL = 1,
    TrueF = 2,
    Counts = 3,
    BlockOrder = 7,
    BufferOrder = 8,
    Resample = 16,
    Split = 17,
    Bootstrap = 18,
    Candidate = 20,
    Halves = 21,
    RowTable = 24,
    FirstTopics = 25,
}

/// The random stream for a seed, a purpose and an index (a document, a topic, an epoch).
///
/// The three numbers are mixed by the finaliser of SplitMix64 (Steele, Lea, Flood 2014), then seed Xoshiro256++.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> Xoshiro256PlusPlus {
    let mixed = mix(mix(seed ^ mix(purpose as u64)).wrapping_add(index));
    Xoshiro256PlusPlus::seed_from_u64(mixed)
}

/// Draws rows from Dirichlet(1, ..., 1): exponential variables divided by their sum (Devroye 1986, chapter XI.4). Row i is
/// drawn from the stream of index `first + i`.
pub fn dirichlet_rows(
    (rows, columns): (usize, usize),
    seed: u64,
    purpose: Purpose,
    first: u64,
) -> Vec<f64> {
    let mut values = vec![0.0; rows * columns];
    values
        .par_chunks_mut(columns)
        .enumerate()
        .for_each(|(row, values)| {
            let mut rng = stream(seed, purpose, first + row as u64);
            let mut sum = 0.0;
            for value in values.iter_mut() {
                *value = Exp1.sample(&mut rng);
                sum += *value;
            }
            values.iter_mut().for_each(|value| *value /= sum);
        });
    values
}

/// The finaliser of SplitMix64.
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
