//! What the kernels take besides the tables.

use super::dense::{Tile, UNITS};
use super::send::STAGE;
use super::{Kind, slices};
use crate::plan::Shape;

/// Bytes of a nonzero count: its column, itself, its share, its document, and its place in the order by term.
const SPARSE: u64 = 20;

/// Bytes of the counts of so many documents on the card.
pub(crate) fn bytes_of_counts(shape: &Shape, documents: u64) -> u64 {
    match shape.bytes_of_count {
        Some(bytes) => documents * (bytes * shape.terms).next_multiple_of(4),
        None => SPARSE * documents * shape.nonzeros + 4 * (documents + shape.terms),
    }
}

/// Bytes that the sums of slices take, before they are added up.
pub(crate) fn workspace(shape: &Shape) -> u64 {
    let (documents, terms) = (shape.micro_batch as usize, shape.terms as usize);
    let topics = shape.topics as usize;
    if shape.bytes_of_count.is_none() {
        // F by term, and each unit's part of the likelihood.
        return 4 * (shape.topics * shape.terms + UNITS as u64 * shape.micro_batch);
    }
    let tile = Tile::by_terms(topics, Kind::U8, true);
    let tiles = terms.div_ceil(UNITS * tile.terms);
    let (_, of_terms) = slices(documents, tile.documents, tiles);
    // Sums, and each unit's part of the likelihood.
    let by_terms = of_terms * (topics * terms + tiles * UNITS);
    let tile = Tile::by_documents(topics, Kind::U8, true);
    let (_, of_documents) = slices(
        terms,
        UNITS * tile.terms,
        documents.div_ceil(tile.documents),
    );
    4 * by_terms.max(topics * of_documents * documents) as u64
}

/// Bytes in RAM on the way to the card.
pub(crate) fn bytes_of_staging(shape: &Shape, resident: bool) -> u64 {
    let documents = if resident {
        shape.documents
    } else {
        shape.micro_batch
    };
    let sent = bytes_of_counts(shape, documents);
    match shape.bytes_of_count {
        // Two stages, and a third that is being given back.
        Some(_) => sent.min(3 * STAGE as u64),
        // Collected first.
        None => 2 * sent,
    }
}
