//! Tiles: the counts of a few documents and terms as a dense matrix, and F cut in the same way.

use std::ops::Range;

use crate::counts::rows::columns_between;
use crate::counts::{DenseRows, Element, View, with_values};

use super::products::{BLOCK, BLOCK_TERMS, TERMS};

/// Documents in a tile.
pub(crate) const DOCUMENTS: usize = 4 * BLOCK;

/// The terms of a tile.
#[derive(Clone)]
pub(crate) struct Tile {
    pub(crate) terms: Range<usize>,
    /// Number of terms, rounded up to whole blocks.
    pub(crate) width: usize,
}

/// Cuts terms into tiles. All but the last are whole.
pub(crate) fn tiles(terms: Range<usize>) -> impl Iterator<Item = Tile> {
    let end = terms.end;
    terms.step_by(TERMS).map(move |first| {
        let terms = first..end.min(first + TERMS);
        let width = terms.len().next_multiple_of(BLOCK_TERMS);
        Tile { terms, width }
    })
}

/// Values of each topic in the tiles of so many terms.
pub(crate) fn tiled_terms(terms: usize) -> usize {
    terms.next_multiple_of(BLOCK_TERMS)
}

/// Copies rows of F (terms x topics) to tiles of topics x terms, padded with zeros.
pub(crate) fn to_tiles(rows: &[f32], topics: usize, tiled: &mut [f32]) {
    for tile in tiles(0..rows.len() / topics) {
        let out = &mut tiled[tile.terms.start * topics..][..tile.width * topics];
        out.fill(0.0);
        let rows = &rows[tile.terms.start * topics..tile.terms.end * topics];
        for (term, row) in rows.chunks_exact(topics).enumerate() {
            for (topic, value) in row.iter().enumerate() {
                out[topic * tile.width + term] = *value;
            }
        }
    }
}

/// Fills `counts` ([`DOCUMENTS`] x the tile's width) with the counts of up to [`DOCUMENTS`] rows; the rest is zero.
pub(crate) fn unpack(
    view: &View<'_>,
    all_terms: usize,
    rows: Range<usize>,
    tile: &Tile,
    counts: &mut [f32],
) {
    let Range { start, end } = tile.terms;
    let (used, rest) = counts.split_at_mut(rows.len() * tile.width);
    rest.fill(0.0);
    for (row, counts) in rows.zip(used.chunks_exact_mut(tile.width)) {
        match view {
            View::Csr(csr) => {
                counts.fill(0.0);
                let (columns, values) = csr.row(row);
                let range = columns_between(columns, &tile.terms);
                for (column, value) in columns[range.clone()].iter().zip(&values[range]) {
                    counts[*column as usize - start] = *value;
                }
            }
            View::Dense(values) => with_values!(DenseRows, values, all => {
                let row = &all[row * all_terms..][start..end];
                for (count, value) in counts.iter_mut().zip(row) {
                    *count = value.to_f32();
                }
                counts[row.len()..].fill(0.0);
            }),
        }
    }
}
