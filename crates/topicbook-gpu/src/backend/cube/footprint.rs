//! VRAM and pinned host memory of the kernels, besides the tables.

use crate::config::Precision;
use crate::cost::{Consumer, Item, Phase, Shape};
use crate::counts::Counts;
use crate::data::MAX_DOWNLOAD;

use super::dense::UNITS;
use super::launch::{MANY_CUBES, TARGET_CUBES, slices};
use super::sparse::{MIN_SLICE, terms_per_cube};
use super::tile::Tile;
use super::upload::rounded_capacity;
use super::{CountFormat, packed, pinned};

/// Bytes of small transfers: lists of documents, single numbers.
const SMALL: u64 = 1 << 10;

/// Bytes of a dense count on the GPU.
pub fn bytes_of_count(counts: &Counts) -> u64 {
    let format = CountFormat::of(counts.dtype(), counts.largest_known());
    4 / format.counts_per_word() as u64
}

/// What a plan calls the counts on the GPU: `what`, and in which form.
pub fn counts_item(what: &str, shape: &Shape) -> String {
    match shape.bytes_of_count {
        Some(1) => format!("{what}, 1 byte a count"),
        Some(bytes) => format!("{what}, {bytes} bytes a count"),
        None => format!("{what}, CSR"),
    }
}

/// Bytes of the counts of `documents` documents on the GPU. Sparse counts are columns, values and row pointers.
pub fn bytes_of_counts(shape: &Shape, documents: u64) -> u64 {
    match shape.bytes_of_count {
        Some(bytes) => documents * (bytes * shape.terms).next_multiple_of(4),
        None => 8 * documents * shape.nonzeros + 4 * (documents + 1),
    }
}

/// Bytes of a batch's counts on the GPU. The arrays of sparse counts have rounded capacities, so that batches of
/// different lengths can reuse them.
pub fn bytes_of_batch(shape: &Shape, documents: u64) -> u64 {
    match shape.bytes_of_count {
        Some(_) => bytes_of_counts(shape, documents),
        None => {
            8 * rounded_capacity((documents * shape.nonzeros) as usize) as u64 + 4 * (documents + 1)
        }
    }
}

/// Capacity of the ratios of a batch of sparse counts, whose nonzero counts vary from batch to batch.
pub fn ratios_of_batch(shape: &Shape) -> u64 {
    rounded_capacity((shape.micro_batch * shape.nonzeros) as usize) as u64
}

/// Bytes of each buffer of the kernels: partial sums, `ratios` ratios of sparse counts, and tables in the form in which
/// the kernels read them.
pub fn buffers(shape: &Shape, ratios: u64) -> Vec<u64> {
    let (documents, terms) = (shape.micro_batch as usize, shape.terms as usize);
    let topics = shape.topics as usize;
    let words = |rows: usize, columns| rows * packed::words(columns, shape.precision);
    let packed = |rows, columns| match shape.precision {
        Precision::F32 => 0,
        _ => words(rows, columns),
    };
    let lengths = if shape.bytes_of_count.is_none() {
        let tiles = terms.div_ceil(terms_per_cube(topics));
        let (_, slices) = slices(documents, MIN_SLICE, tiles, TARGET_CUBES);
        vec![
            // F as terms x topics, and L.
            words(terms, topics),
            packed(documents, topics),
            // Ratios, and each document's part of the likelihood.
            ratios as usize,
            documents,
            // Sums by term.
            slices * topics * terms,
        ]
    } else {
        let inputs = (CountFormat::U8, shape.precision);
        let tile = Tile::by_terms(topics, inputs, true);
        let tiles = terms.div_ceil(UNITS * tile.terms);
        let (_, document_slices) = slices(documents, tile.documents, tiles, TARGET_CUBES);
        let tile = Tile::by_documents(topics, inputs, true);
        let groups = documents.div_ceil(tile.documents);
        let (_, term_slices) = slices(terms, UNITS * tile.terms, groups, MANY_CUBES);
        vec![
            packed(topics, terms),
            packed(documents, topics),
            // Sums by term, and each cube's part of the likelihood.
            document_slices * topics * terms,
            document_slices * tiles,
            // Sums by document.
            topics * term_slices * documents,
        ]
    };
    lengths.iter().map(|length| 4 * *length as u64).collect()
}

/// Bytes of pinned memory: stages for uploads of counts (`documents` at a time; `once` if they stay on the GPU), and
/// downloads of tables. Downloads of rows of L (`rows` at a time, 0 if L is not offloaded) have a stream of their own.
pub fn bytes_pinned(shape: &Shape, (documents, once): (u64, bool), rows: u64) -> u64 {
    // Rows of dense counts are uploaded whole; for sparse counts first the columns, then the values, which have the same size.
    let (row, rows_of_document) = match shape.bytes_of_count {
        Some(_) => (bytes_of_counts(shape, 1), 1),
        None => (4, shape.nonzeros),
    };
    let rows_per_stage = (pinned::stage(shape.largest_page) / row.max(1)).max(1);
    let last_documents = shape.documents % documents.max(1);
    let [uploaded, last] =
        [documents, last_documents].map(|documents| documents * rows_of_document);
    let table = 4 * shape.topics * shape.terms.max(shape.documents);
    // Two stages alternate, and the runtime may still hold a third.
    let stages = match once {
        true => (shape.documents * rows_of_document / rows_per_stage).clamp(1, 3),
        false => 3,
    };
    // The shorter last stage has a slice of its own, and so has the last stage of the last documents.
    let shorter = match uploaded > rows_per_stage {
        true => uploaded % rows_per_stage,
        false => 0,
    };
    let uploads_and_tables = [
        (row * rows_per_stage.min(uploaded), stages),
        (row * shorter, 1),
        (row * (last % rows_per_stage), 1),
        (table.min(4 * MAX_DOWNLOAD as u64), 1),
        (SMALL, 1),
    ];
    // Two batches are in flight; the last batch of an epoch has a size of its own.
    let row_bytes = |rows| 4 * shape.topics * rows;
    let last = shape.documents.checked_rem(rows).unwrap_or(0);
    let rows_of_l = [(row_bytes(rows), 2), (row_bytes(last), 1)];
    pinned::pages(shape.largest_page, &uploads_and_tables)
        + pinned::pages(shape.largest_page, &rows_of_l)
}

/// Name of the pinned memory in a plan.
pub const PINNED: &str = "pinned memory for uploads and downloads, in pages of the GPU runtime";

/// The workspace of the kernels, from the sizes of the buffers of each micro-batch. Buffers of one micro-batch exist at the
/// same time; another micro-batch reuses allocations of the same size.
pub fn sums_workspace(of_each: &[Vec<u64>]) -> Item {
    let mut sizes = of_each.concat();
    sizes.sort_unstable();
    sizes.dedup();
    let most = |size: u64| {
        let times = of_each
            .iter()
            .map(|buffers| buffers.iter().filter(|other| **other == size).count());
        times.max().unwrap_or(0) as u64
    };
    Item::vram(
        Consumer::Activations,
        "workspace: sums",
        Phase::Steps,
        sizes.iter().map(|size| size * most(*size)).sum(),
    )
}

/// Bytes of a table of f32. If `padded`, rows are aligned as by CubeCL's CUDA runtime: to the power of two that is not
/// less than their length, from 16 to 512 bytes.
pub fn table_bytes(rows: u64, columns: u64, padded: bool) -> u64 {
    rows.saturating_mul(row_bytes(columns, 4, padded))
}

/// Bytes of a table of truth values, which take a byte on CUDA (`padded`) and a word elsewhere.
pub fn mask_bytes(rows: u64, columns: u64, padded: bool) -> u64 {
    let value = if padded { 1 } else { 4 };
    rows.saturating_mul(row_bytes(columns, value, padded))
}

fn row_bytes(columns: u64, value: u64, padded: bool) -> u64 {
    let row = value * columns;
    let align = match (padded, columns) {
        (false, _) | (_, 1) => value,
        _ => row.next_power_of_two().clamp(16, 512),
    };
    row.next_multiple_of(align)
}
