//! Documents under topics that stay as they are: the rows of L alone.

use std::cell::RefCell;

use rayon::prelude::*;

use super::kernel::{Against, Scratch, improve};
use super::nonzeros::{Room, row_of};
use super::one_pass::documents_in_block;
use super::table::{CHUNK, Table};
use crate::counts::Counts;
use crate::error::Result;
use crate::loader::{Reading, for_each_block};
use crate::matrix::Matrix;

/// Rounds over a document's coordinates between two looks at how far it is.
const SWEEPS: usize = 8;
/// Looks at most.
const LOOKS: usize = 100;
/// A document is done when a step of expectation-maximisation would move no more than this part of its tokens.
const TOLERANCE: f64 = 1e-6;
/// No share of a document's tokens is smaller.
const SMALLEST_SHARE: f32 = 1e-10;

thread_local! {
    static ROOM: RefCell<(Scratch, Room)> = RefCell::default();
}

/// Bytes that [`fold_in`] takes besides the counts: L in tokens and in proportions, and F term by term.
pub(crate) fn fold_in_bytes(counts: &Counts, topics: usize) -> u64 {
    let (documents, terms) = counts.shape();
    let rows = 2 * documents as u64 + terms as u64;
    rows.saturating_mul(4 * topics as u64)
}

/// L (documents x topics, rows summing to one) of the highest likelihood under F (topics x terms, rows summing to one).
/// Documents without counts have equal proportions.
pub(crate) fn fold_in(counts: &Counts, f: &Matrix) -> Result<Matrix> {
    let (topics, terms) = f.shape();
    let f = Table::of_terms(f);
    let pulls: Vec<f32> = f.sums().into_iter().map(|sum| sum as f32).collect();
    let against = Against {
        table: &f.values,
        pulls: &pulls,
        sweeps: SWEEPS,
    };
    let mut l = Table {
        topics,
        values: vec![0.0; counts.documents() * topics],
    };
    let documents = documents_in_block(counts.terms());
    let reading = Reading::Auto.resolve(counts, documents)?;
    for_each_block(counts, reading, documents, &mut |block| {
        let range = block.first * topics..(block.first + block.rows.len()) * topics;
        l.values[range]
            .par_chunks_mut(CHUNK * topics)
            .enumerate()
            .for_each(|(chunk, rows)| {
                ROOM.with_borrow_mut(|(scratch, room)| {
                    for (row, weights) in rows.chunks_mut(topics).enumerate() {
                        let row = block.rows.start + chunk * CHUNK + row;
                        let (columns, counts) = row_of(&block.view, terms, row, room);
                        let total: f64 = counts.iter().map(|count| f64::from(*count)).sum();
                        let floor = SMALLEST_SHARE * total as f32;
                        weights.fill(total as f32 / topics as f32);
                        for _ in 0..LOOKS {
                            let outcome =
                                improve(columns, counts, &against, floor, weights, scratch);
                            if outcome.moved <= TOLERANCE * total {
                                break;
                            }
                        }
                    }
                });
            });
        Ok(())
    })?;
    Ok(l.proportions())
}
