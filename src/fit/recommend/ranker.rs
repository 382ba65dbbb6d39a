//! The terms that a document has no count of, ranked by the rates of L F.

use std::ops::Range;

use rayon::prelude::*;

use crate::counts::View;
use crate::counts::rows::{NonzeroBuffer, columns_between, nonzeros_of_row};
use crate::data::{Matrix, TopN};
use crate::kernels::{DOCUMENTS, TERMS, TableShape, TermLayout, tile_rates, tiled_terms};
use crate::system::{Aligned, aligned_zeros};

/// Ranks terms: F, cut into tiles.
///
/// The rates of [`DOCUMENTS`] documents are computed tile by tile, and only the candidates for the n terms of each document
/// are kept. A rate is a sum over the topics in their order, each product fused with its addition, so that it depends neither
/// on the other documents nor on the number of threads.
pub(super) struct Ranker {
    f: Aligned<f32>,
    shape: TableShape,
    n: usize,
}

/// A document whose terms have been ranked.
pub(super) struct RankedDocument<'a> {
    /// Its row in the block.
    pub(super) offset: usize,
    /// Terms that it has counts of, by increasing column.
    pub(super) seen: &'a [u32],
    /// The n other terms with the largest rates, and the rates: the largest first, ties by column. There are fewer where the
    /// document has counts of almost all terms.
    pub(super) best: Vec<(usize, f32)>,
}

/// What a thread needs for a group of documents.
struct Scratch {
    weights: Aligned<f32>,
    rates: Aligned<f32>,
    nonzeros: NonzeroBuffer,
    seen: Vec<Vec<u32>>,
}

impl Ranker {
    /// Ranks the `n` best terms by F (topics x terms).
    pub(super) fn new(f: &Matrix, n: usize) -> Self {
        let (topics, terms) = f.shape();
        let shape = TableShape::packed(0..terms, topics, TermLayout::Tiles);
        let f = shape.cut(f);
        Self { f, shape, n }
    }

    /// Bytes of F, and of what each thread needs.
    pub(super) fn bytes((topics, terms): (usize, usize), n: usize) -> u64 {
        let f_values = (topics as u64).saturating_mul(tiled_terms(terms) as u64);
        // A vector that grows has up to twice its length, and its old half for a moment.
        let candidates =
            3 * TopN::most_candidates(n, terms) as u64 * size_of::<(usize, f32)>() as u64;
        let seen = 2 * terms as u64 * size_of::<u32>() as u64;
        let threads = (rayon::current_num_threads() * DOCUMENTS) as u64;
        let per_document =
            (candidates + seen).saturating_add(4 * (topics + tiled_terms(terms)) as u64);
        f_values
            .saturating_mul(4)
            .saturating_add(threads.saturating_mul(per_document))
    }

    /// Ranks the terms for the documents `rows` of a view, whose rows of L are `l` (documents x topics), on all cores. Returns
    /// what `judge` makes of each document, in their order.
    pub(super) fn rank<T: Send>(
        &self,
        view: &View<'_>,
        rows: Range<usize>,
        l: &[f32],
        judge: impl Fn(RankedDocument<'_>) -> T + Sync,
    ) -> Vec<T> {
        let topics = self.shape.topics;
        let groups = l.par_chunks(DOCUMENTS * topics).enumerate();
        let judged = groups.with_max_len(1).map_init(
            || Scratch::new(topics),
            |scratch, (group, l)| {
                let first = group * DOCUMENTS;
                let documents = first..first + l.len() / topics;
                scratch.find_seen(
                    view,
                    self.shape.terms.len(),
                    documents.clone().map(|d| rows.start + d),
                );
                let lists = self.best_of_group(scratch, l);
                let judged = documents.zip(lists).zip(&scratch.seen);
                judged
                    .map(|((offset, list), seen)| {
                        let mut best = list.sorted();
                        // Rows of L sum to one up to rounding, and so do the rates.
                        best.iter_mut().for_each(|(_, rate)| *rate = rate.min(1.0));
                        judge(RankedDocument { offset, seen, best })
                    })
                    .collect::<Vec<T>>()
            },
        );
        judged.flatten_iter().collect()
    }

    /// The candidates of up to [`DOCUMENTS`] documents, whose terms are in `scratch`.
    fn best_of_group(&self, scratch: &mut Scratch, l: &[f32]) -> Vec<TopN> {
        let topics = self.shape.topics;
        let documents = l.len() / topics;
        scratch.weights[..l.len()].copy_from_slice(l);
        scratch.weights[l.len()..].fill(0.0);
        let mut lists: Vec<TopN> = (0..documents).map(|_| TopN::new(self.n)).collect();
        for (tile, at) in self.shape.tiles() {
            let (terms, rates) = (&tile.terms, &mut scratch.rates[..DOCUMENTS * tile.width]);
            tile_rates(&scratch.weights, &self.f[at], topics, rates);
            let rows = rates.chunks(tile.width).zip(&scratch.seen);
            for (list, (rates, seen)) in lists.iter_mut().zip(rows) {
                let rates = &rates[..terms.len()];
                add_unseen(list, terms, rates, &seen[columns_between(seen, terms)]);
            }
        }
        lists
    }
}

impl Scratch {
    fn new(topics: usize) -> Self {
        Self {
            weights: aligned_zeros(DOCUMENTS * topics),
            rates: aligned_zeros(DOCUMENTS * TERMS),
            nonzeros: NonzeroBuffer::default(),
            seen: vec![Vec::new(); DOCUMENTS],
        }
    }

    /// Finds the terms of rows of a view.
    fn find_seen(&mut self, view: &View<'_>, terms: usize, rows: impl Iterator<Item = usize>) {
        for (seen, row) in self.seen.iter_mut().zip(rows) {
            seen.clear();
            seen.extend(terms_of_row(view, terms, row, &mut self.nonzeros));
        }
    }
}

/// The terms that a row of a view has counts of, by increasing column. Stored zeros are no counts.
pub(super) fn terms_of_row<'a>(
    view: &View<'a>,
    terms: usize,
    row: usize,
    buffer: &'a mut NonzeroBuffer,
) -> impl Iterator<Item = u32> {
    let (columns, counts) = nonzeros_of_row(view, terms, row, buffer);
    let cells = columns.iter().zip(counts);
    cells
        .filter(|(_, count)| **count != 0.0)
        .map(|(column, _)| *column)
}

/// Adds the rates of a range of terms, except the terms `seen`.
fn add_unseen(list: &mut TopN, terms: &Range<usize>, rates: &[f32], seen: &[u32]) {
    let mut next = terms.start;
    for end in seen.iter().map(|&term| term as usize).chain([terms.end]) {
        list.add(next, &rates[next - terms.start..end - terms.start]);
        next = end + 1;
    }
}
