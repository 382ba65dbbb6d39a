//! The order in which the documents of an epoch are met.

use rand::seq::SliceRandom;

use crate::random::{Purpose, stream};

/// The documents of one epoch in a random order that depends on the seed and the epoch alone, so that a continued fit
/// meets the same batches as an uninterrupted one.
pub(crate) fn shuffled(documents: usize, seed: u64, epoch: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..documents).collect();
    order.shuffle(&mut stream(seed, Purpose::BatchOrder, epoch as u64));
    order
}
