//! Counts for tests, whose term shards have both layouts.

use crate::counts::Counts;

pub(super) const TERMS: usize = 2_500;

/// The first terms have counts in most documents, the others in few.
pub(super) fn count(document: usize, term: usize) -> u8 {
    match term < 1_200 {
        true => u8::from(!(term * 7 + document).is_multiple_of(3)),
        false => u8::from((term + document).is_multiple_of(40)),
    }
}

pub(super) fn counts(documents: usize) -> Counts {
    let cells = (0..documents * TERMS).map(|at| count(at / TERMS, at % TERMS));
    Counts::dense(documents, TERMS, cells.collect()).unwrap()
}
