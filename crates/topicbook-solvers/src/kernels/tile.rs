//! Tiles: the counts of a few documents and terms as a dense matrix, and F cut in the same way.

use std::ops::Range;

use crate::counts::rows::columns_between;
use crate::counts::{DenseRows, Element, View, with_values};
use crate::system::{prefetch_lines, simd_dispatch};

use super::products::{BLOCK, BLOCK_TERMS, TERMS};

/// Documents in a tile.
pub const DOCUMENTS: usize = 4 * BLOCK;

/// The terms of a tile.
#[derive(Clone)]
pub struct Tile {
    pub terms: Range<usize>,
    /// Number of terms, rounded up to whole blocks.
    pub width: usize,
}

/// Cuts terms into tiles. All but the last are whole.
pub(super) fn tiles(terms: Range<usize>) -> impl Iterator<Item = Tile> {
    let end = terms.end;
    terms.step_by(TERMS).map(move |first| tile(first, end))
}

fn tile(first: usize, end: usize) -> Tile {
    let terms = first..end.min(first + TERMS);
    let width = terms.len().next_multiple_of(BLOCK_TERMS);
    Tile { terms, width }
}

/// The tile that contains `term`, of `terms` terms.
pub(super) fn tile_of(terms: usize, term: usize) -> Tile {
    tile(term / TERMS * TERMS, terms)
}

/// The number of values of a topic in the tiles of `terms` terms.
pub fn tiled_terms(terms: usize) -> usize {
    terms.next_multiple_of(BLOCK_TERMS)
}

/// Prefetches the dense counts of some rows and terms. Rows are far apart, so a reader would wait for each of them.
pub fn prefetch(view: &View<'_>, all_terms: usize, rows: &[usize], terms: &Range<usize>) {
    if let View::Dense(values) = view {
        with_values!(DenseRows, values, values => {
            for row in rows {
                let first = row * all_terms;
                prefetch_lines(&values[first + terms.start..first + terms.end]);
            }
        });
    }
}

/// [`prefetch`] for the range of the same length that follows, because a thread takes one range of terms after the other.
pub fn prefetch_next(view: &View<'_>, all_terms: usize, rows: &[usize], terms: &Range<usize>) {
    let next = terms.end..all_terms.min(terms.end + terms.len());
    prefetch(view, all_terms, rows, &next);
}

/// Fills `counts` ([`DOCUMENTS`] x the tile's width) with the counts of up to [`DOCUMENTS`] rows; the rest is zero.
pub fn unpack(
    view: &View<'_>,
    all_terms: usize,
    rows: impl Iterator<Item = usize>,
    tile: &Tile,
    counts: &mut [f32],
) {
    let mut counts = counts.chunks_exact_mut(tile.width);
    for (row, counts) in rows.zip(&mut counts) {
        match view {
            View::Csr(csr) => {
                counts.fill(0.0);
                let (columns, values) = csr.row(row);
                let range = columns_between(columns, &tile.terms);
                for (column, value) in columns[range.clone()].iter().zip(&values[range]) {
                    counts[*column as usize - tile.terms.start] = *value;
                }
            }
            View::Dense(rows) => {
                let first = row * all_terms;
                convert(
                    rows,
                    first + tile.terms.start..first + tile.terms.end,
                    counts,
                );
            }
        }
    }
    counts.for_each(|counts| counts.fill(0.0));
}

simd_dispatch! {
    /// Writes the counts of a range of values, and zeros after them.
    fn convert(rows: &DenseRows<'_>, range: Range<usize>, counts: &mut [f32]) {
        let (used, rest) = counts.split_at_mut(range.len());
        with_values!(DenseRows, rows, values => {
            for (count, value) in used.iter_mut().zip(&values[range]) {
                *count = value.to_f32();
            }
        });
        rest.fill(0.0);
    }
}
