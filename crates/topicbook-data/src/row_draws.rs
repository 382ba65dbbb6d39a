//! Rows that are drawn at random: the parts of a split, and samples with replacement. Counts and documents draw the same rows.

use std::ops::Range;

use rand::RngExt;
use rand::seq::SliceRandom;

use crate::error::{Error, Result};
use crate::system::{Purpose, stream};

/// Whether each of `documents` documents is in the first part of a split, which gets `share` of them, rounded.
///
/// # Errors
/// When one of the parts would have no document.
pub fn first_part(documents: usize, share: f64, seed: u64) -> Result<Vec<bool>> {
    let first = match (0.0..=1.0).contains(&share) {
        true => (share * documents as f64).round() as usize,
        false => 0,
    };
    if first == 0 || first == documents {
        return Err(Error::setting(format!(
            "{share} of {documents} documents leave one part without a document"
        ))
        .fix("pass a share between 0 and 1, such as 0.8"));
    }
    let mut order: Vec<usize> = (0..documents).collect();
    order.shuffle(&mut stream(seed, Purpose::Split, 0));
    let mut in_first = vec![false; documents];
    for &document in &order[..first] {
        in_first[document] = true;
    }
    Ok(in_first)
}

/// The rows of a sample with replacement from `documents` rows, at these positions of the sample. They depend only on the seed
/// and their position, not on the range of positions.
pub fn drawn_rows(documents: usize, positions: Range<usize>, seed: u64) -> Vec<usize> {
    /// Number of rows drawn from one random stream.
    const GROUP: usize = 1024;
    let (first, last) = (positions.start, positions.end);
    let mut rows = Vec::with_capacity(last - first);
    for group in first / GROUP..last.div_ceil(GROUP) {
        let mut rng = stream(seed, Purpose::Resample, group as u64);
        for position in group * GROUP..last.min((group + 1) * GROUP) {
            let row = rng.random_range(0..documents as u64) as usize;
            if position >= first {
                rows.push(row);
            }
        }
    }
    rows
}
