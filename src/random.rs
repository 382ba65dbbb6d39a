//! Seeded random streams: one per purpose and index, so that results do not depend on the number of threads.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a random stream is for. Streams of different purposes never overlap for the same seed.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    TrueL = 1,
    TrueF = 2,
    Counts = 3,
    BlockOrder = 7,
    BufferOrder = 8,
    Resample = 16,
    Trial = 20,
}

/// The random stream of a purpose and an index (a document, a topic, an epoch) under a seed.
///
/// The three numbers are mixed by SplitMix64's finaliser (Steele, Lea, Flood 2014) before they seed Xoshiro256++.
pub(crate) fn stream(seed: u64, purpose: Purpose, index: u64) -> Xoshiro256PlusPlus {
    let mixed = mix(mix(seed ^ mix(purpose as u64)).wrapping_add(index));
    Xoshiro256PlusPlus::seed_from_u64(mixed)
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
