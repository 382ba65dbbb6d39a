//! What the kernels take besides the tables.

use super::dense::{Tile, UNITS};
use super::launch::slices;
use super::send::{STAGE, room};
use super::sparse::{SLICE, terms_of_cube};
use super::{Kind, table};
use crate::model::Precision;
use crate::plan::Shape;

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
    let half = shape.precision != Precision::F32;
    let numbers = if shape.bytes_of_count.is_none() {
        let (_, of_terms) = slices(documents, SLICE, terms.div_ceil(terms_of_cube(topics)));
        vec![
            // F by term, and L.
            words(terms, topics),
            if half { words(documents, topics) } else { 0 },
            // Shares, and each unit's part of the likelihood.
            room(documents * shape.nonzeros as usize),
            documents * UNITS,
            // Sums.
            of_terms * topics * terms,
        ]
    } else {
        let read = match half {
            true => [words(topics, terms), words(documents, topics)],
            false => [0, 0],
        };
        let kind = (Kind::U8, shape.precision);
        let tile = Tile::by_terms(topics, kind, true);
        let tiles = terms.div_ceil(UNITS * tile.terms);
        let (_, of_terms) = slices(documents, tile.documents, tiles);
        let tile = Tile::by_documents(topics, kind, true);
        let groups = documents.div_ceil(tile.documents);
        let (_, of_documents) = slices(terms, UNITS * tile.terms, groups);
        vec![
            read[0],
            read[1],
            // Sums, and each unit's part of the likelihood.
            of_terms * topics * terms,
            of_terms * tiles * UNITS,
            topics * of_documents * documents,
        ]
    };
    numbers.iter().map(|numbers| 4 * *numbers as u64).collect()
}

/// Bytes in RAM on the way to the card.
pub(crate) fn bytes_of_staging(shape: &Shape, resident: bool) -> u64 {
    let documents = if resident {
        shape.documents
    } else {
        shape.micro_batch
    };
    // Two stages, and a third that is being given back.
    let staged = bytes_of_counts(shape, documents).min(3 * STAGE as u64);
    match (resident, shape.bytes_of_count) {
        // Where each document begins.
        (true, None) => staged + 8 * shape.documents,
        _ => staged,
    }
}
