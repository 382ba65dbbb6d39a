//! What the kernels take besides the tables.

use super::dense::{Tile, UNITS};
use super::launch::slices;
use super::pinned;
use super::send::room;
use super::sparse::{SLICE, terms_of_cube};
use super::{Kind, table};
use crate::model::Precision;
use crate::model::step::AT_ONCE;
use crate::plan::Shape;

/// Lists of documents, single numbers.
const SMALL: u64 = 1 << 10;

/// Bytes of the counts of so many documents on the card: sparse ones are columns, counts and where documents begin.
pub(crate) fn bytes_of_counts(shape: &Shape, documents: u64) -> u64 {
    match shape.bytes_of_count {
        Some(bytes) => documents * (bytes * shape.terms).next_multiple_of(4),
        None => 8 * documents * shape.nonzeros + 4 * (documents + 1),
    }
}

/// Bytes of a batch's counts on the card: sparse counts have room for batches with some more of them.
pub(crate) fn bytes_of_batch(shape: &Shape, documents: u64) -> u64 {
    match shape.bytes_of_count {
        Some(_) => bytes_of_counts(shape, documents),
        None => 8 * room((documents * shape.nonzeros) as usize) as u64 + 4 * (documents + 1),
    }
}

/// Bytes of each piece of memory that sums take before they are added up, and tables as the kernels read them.
pub(crate) fn buffers(shape: &Shape) -> Vec<u64> {
    let (documents, terms) = (shape.micro_batch as usize, shape.terms as usize);
    let topics = shape.topics as usize;
    let words = |rows: usize, columns| rows * table::words(columns, shape.precision);
    let packed = |rows, columns| match shape.precision {
        Precision::F32 => 0,
        _ => words(rows, columns),
    };
    let numbers = if shape.bytes_of_count.is_none() {
        let (_, of_terms) = slices(documents, SLICE, terms.div_ceil(terms_of_cube(topics)));
        vec![
            // F by term, and L.
            words(terms, topics),
            packed(documents, topics),
            // Shares, and each unit's part of the likelihood.
            room(documents * shape.nonzeros as usize),
            documents * UNITS,
            // Sums.
            of_terms * topics * terms,
        ]
    } else {
        let kind = (Kind::U8, shape.precision);
        let tile = Tile::by_terms(topics, kind, true);
        let tiles = terms.div_ceil(UNITS * tile.terms);
        let (_, of_terms) = slices(documents, tile.documents, tiles);
        let tile = Tile::by_documents(topics, kind, true);
        let groups = documents.div_ceil(tile.documents);
        let (_, of_documents) = slices(terms, UNITS * tile.terms, groups);
        vec![
            packed(topics, terms),
            packed(documents, topics),
            // Sums, and each unit's part of the likelihood.
            of_terms * topics * terms,
            of_terms * tiles * UNITS,
            topics * of_documents * documents,
        ]
    };
    numbers.iter().map(|numbers| 4 * *numbers as u64).collect()
}

/// Pinned memory: stages of counts on their way to the card, all documents' or a part's at once; tables on their way back;
/// and rows of L (`rows` of them at once), which come back on a stream of their own.
pub(crate) fn bytes_pinned(shape: &Shape, resident: bool, rows: u64) -> u64 {
    let documents = if resident {
        shape.documents
    } else {
        shape.micro_batch
    };
    // Rows of dense counts; columns, and then counts.
    let counts = match shape.bytes_of_count {
        Some(_) => bytes_of_counts(shape, documents),
        None => 4 * documents * shape.nonzeros,
    };
    let stage = pinned::stage(shape.largest_page).min(counts).max(1);
    let table = 4 * shape.topics * shape.terms.max(shape.documents);
    let there = [
        // Two, and a third that is being given back; and what is left of the last.
        (stage, 3),
        (counts % stage, 1),
        (table.min(4 * AT_ONCE as u64), 1),
        (SMALL, 1),
    ];
    // Of two batches at once; and of the last one.
    let of_rows = |rows| 4 * shape.topics * rows;
    let last = shape.documents.checked_rem(rows).unwrap_or(0);
    let back = [(of_rows(rows), 2), (of_rows(last), 1)];
    pinned::pages(shape.largest_page, &there) + pinned::pages(shape.largest_page, &back)
}
