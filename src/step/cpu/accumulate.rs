//! Loss and gradients of a batch from one range of terms (shard).

use std::ops::Range;

use crate::counts::rows::{append_nonzeros, columns_between, count_nonzeros};
use crate::counts::{DenseRows, Element, View, with_values};
use crate::system::{LANES, Values, exp, lazy_zeroed, simd_dispatch};

use super::dense::{TERMS, TILE, Tile, accumulate_tile};
use super::sparse::{Nonzero, WIDEST, accumulate_document};

/// With fewer cells than this per nonzero count, tiles of [`LANES`] documents are faster than documents one by one.
const CELLS_PER_NONZERO: usize = 4;
/// The slot of a term without counts in the batch.
const NO_SLOT: u32 = u32::MAX;

/// Terms `first..first + terms` of F. Tables are terms x topics, so that the topics of a term are contiguous.
/// Accumulated gradients are those of the sum of x log rate.
pub(crate) struct Accumulator {
    pub(crate) first: usize,
    pub(crate) terms: usize,
    pub(crate) topics: usize,
    /// exp(logit - offset of the topic), with padding so that whole registers can be read past the end.
    padded_exps: Vec<f32>,
    /// Sums of the exponentials over the terms, per topic.
    pub(crate) exp_sums: Vec<f64>,
    /// One row for each term with counts in the batch. Rows are padded to whole registers: if a row that is stored
    /// overlapped the next one that is loaded, the load would wait for the store (store forwarding fails).
    gradient: Values,
    /// Each term's row of `gradient`, or [`NO_SLOT`].
    slots: Vec<u32>,
    slots_used: u32,
    /// These terms' part of the gradients with respect to the batch's weights: documents x width.
    pub(crate) weight_gradients: Vec<f32>,
    /// These terms' part of the batch's sum of x log rate.
    pub(crate) likelihood: f64,
    /// Scratch: for each document of the batch, the range of its sparse row that has these terms.
    ranges: Vec<Range<usize>>,
    /// Scratch: the nonzero counts of one document.
    nonzeros: Vec<Nonzero>,
    columns: Vec<u32>,
    counts: Vec<f32>,
}

/// The weights of a batch's documents: rows of L times the scales of F's exponentials.
pub(crate) struct Weights<'a> {
    /// The documents' rows in the view of the counts.
    pub(crate) rows: &'a [usize],
    /// Documents x width, both padded with zeros to whole registers.
    by_document: Vec<f32>,
    /// The same weights, for each [`LANES`] documents as topics x documents.
    by_topic: Vec<f32>,
    /// Topics, rounded up to whole registers.
    pub(crate) width: usize,
}

impl<'a> Weights<'a> {
    /// From rows of L (documents x topics) and the scales of F's topics.
    pub(crate) fn new(rows: &'a [usize], l: &[f32], scales: &[f64]) -> Self {
        let topics = scales.len();
        let width = topics.next_multiple_of(LANES);
        let documents = rows.len().next_multiple_of(LANES);
        let (mut by_document, mut by_topic) =
            (vec![0.0; documents * width], vec![0.0; documents * topics]);
        for (document, l) in l.chunks_exact(topics).enumerate() {
            let group = &mut by_topic[document / LANES * LANES * topics..];
            let by_document = &mut by_document[document * width..][..topics];
            for (topic, (weight, scale)) in l.iter().zip(scales).enumerate() {
                let scaled = (f64::from(*weight) * scale) as f32;
                by_document[topic] = scaled;
                group[topic * LANES + document % LANES] = scaled;
            }
        }
        Self {
            rows,
            by_document,
            by_topic,
            width,
        }
    }
}

impl Accumulator {
    pub(crate) fn new(range: Range<usize>, topics: usize) -> Self {
        let terms = range.len();
        let width = topics.next_multiple_of(LANES);
        Self {
            first: range.start,
            terms,
            topics,
            padded_exps: vec![0.0; (terms + TERMS) * topics + WIDEST],
            exp_sums: vec![0.0; topics],
            gradient: lazy_zeroed(terms.next_multiple_of(TERMS) * width),
            slots: vec![NO_SLOT; terms],
            slots_used: 0,
            weight_gradients: Vec::new(),
            likelihood: 0.0,
            ranges: Vec::new(),
            nonzeros: Vec::new(),
            columns: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// The exponentials: terms x topics.
    pub(crate) fn exps(&self) -> &[f32] {
        &self.padded_exps[..self.terms * self.topics]
    }

    /// Computes the exponentials and their sums from the logits (terms x topics).
    pub(crate) fn set_logits(&mut self, logits: &[f32], offsets: &[f32]) {
        self.exp_sums.fill(0.0);
        exponentials(logits, offsets, &mut self.padded_exps, &mut self.exp_sums);
    }

    /// The exponentials, mutable, and the accumulated gradients of the terms. Call
    /// [`clear_gradients`](Self::clear_gradients) afterwards.
    pub(crate) fn exps_and_gradients(&mut self) -> (&mut [f32], TermGradients<'_>) {
        (
            &mut self.padded_exps[..self.terms * self.topics],
            TermGradients {
                rows: &self.gradient,
                slots: &self.slots,
                width: self.topics.next_multiple_of(LANES),
            },
        )
    }

    /// Copies the gradients with respect to these terms' logits into a table of topics x `all_terms`; `totals` is each
    /// topic's expected number of the batch's tokens.
    pub(crate) fn copy_gradients(
        &self,
        scales: &[f64],
        totals: &[f64],
        all_terms: usize,
        table: &mut [f32],
    ) {
        let width = self.topics.next_multiple_of(LANES);
        let exps = self.padded_exps.chunks_exact(self.topics);
        for (term, (exps, &slot)) in exps.zip(&self.slots).enumerate() {
            for topic in 0..self.topics {
                let accumulated = match slot {
                    NO_SLOT => 0.0,
                    slot => f64::from(self.gradient[slot as usize * width + topic]),
                };
                let gradient =
                    f64::from(exps[topic]) * (scales[topic] * totals[topic] - accumulated);
                table[topic * all_terms + self.first + term] = gradient as f32;
            }
        }
    }

    /// Clears the accumulated gradients of the terms.
    pub(crate) fn clear_gradients(&mut self) {
        if self.slots_used > 0 {
            self.slots.fill(NO_SLOT);
            self.slots_used = 0;
        }
    }

    /// Computes these terms' part of a batch's likelihood and weight gradients, and adds the gradients of the terms to
    /// those accumulated since the last [`clear_gradients`](Self::clear_gradients).
    pub(crate) fn accumulate(
        &mut self,
        counts: &View<'_>,
        all_terms: usize,
        weights: &Weights<'_>,
    ) {
        self.weight_gradients.clear();
        self.weight_gradients.resize(weights.by_document.len(), 0.0);
        self.likelihood = 0.0;
        let groups = weights.rows.len().div_ceil(LANES);
        let nonzeros = self.locate_nonzeros(counts, all_terms, weights.rows);
        if nonzeros * CELLS_PER_NONZERO > groups * LANES * self.terms {
            self.accumulate_tiles(counts, all_terms, weights);
        } else {
            self.accumulate_documents(counts, all_terms, weights);
        }
    }

    /// Returns how many nonzero counts the batch has in these terms; fills `ranges` if the counts are sparse.
    fn locate_nonzeros(&mut self, counts: &View<'_>, all_terms: usize, rows: &[usize]) -> usize {
        match counts {
            View::Csr(csr) => {
                self.ranges.clear();
                let range = |&row: &usize| {
                    columns_between(csr.row(row).0, &(self.first..self.first + self.terms))
                };
                self.ranges.extend(rows.iter().map(range));
                self.ranges.iter().map(Range::len).sum()
            }
            View::Dense(values) => with_values!(DenseRows, values, all => {
                let count = |&row: &usize| count_nonzeros(&all[row * all_terms + self.first..][..self.terms]);
                rows.iter().map(count).sum()
            }),
        }
    }

    /// Documents one by one, for batches with few nonzero counts.
    fn accumulate_documents(&mut self, counts: &View<'_>, all_terms: usize, weights: &Weights<'_>) {
        let width = weights.width;
        let first = self.first as u32;
        let mut gradients = std::mem::take(&mut self.weight_gradients);
        let mut nonzeros = std::mem::take(&mut self.nonzeros);
        let (mut columns, mut values) = (
            std::mem::take(&mut self.columns),
            std::mem::take(&mut self.counts),
        );
        nonzeros.resize(self.terms, Nonzero::default());
        let tables = weights.by_document.chunks(width);
        let tables = tables.zip(gradients.chunks_mut(width));
        for (document, (document_weights, gradients)) in tables.enumerate().take(weights.rows.len())
        {
            let row = weights.rows[document];
            let (columns, counts) = match counts {
                View::Csr(csr) => {
                    let (columns, values) = csr.row(row);
                    let range = self.ranges[document].clone();
                    (&columns[range.clone()], &values[range])
                }
                View::Dense(rows) => {
                    columns.clear();
                    values.clear();
                    with_values!(DenseRows, rows, all => {
                        let row = &all[row * all_terms + self.first..][..self.terms];
                        append_nonzeros(row, first, &mut columns, &mut values);
                    });
                    (&columns[..], &values[..])
                }
            };
            for (nonzero, column) in nonzeros.iter_mut().zip(columns) {
                nonzero.term = column - first;
            }
            let nonzeros = &mut nonzeros[..columns.len()];
            self.assign_slots(nonzeros, width);
            accumulate_document(
                document_weights,
                gradients,
                nonzeros,
                counts,
                self.topics,
                &self.padded_exps,
                &mut self.gradient,
                &mut self.likelihood,
            );
        }
        (self.weight_gradients, self.nonzeros) = (gradients, nonzeros);
        (self.columns, self.counts) = (columns, values);
    }

    /// Looks up the slots of nonzero counts; terms without one get the next free slot, with a gradient of zero.
    fn assign_slots(&mut self, nonzeros: &mut [Nonzero], width: usize) {
        for nonzero in nonzeros {
            nonzero.slot = self.slots[nonzero.term as usize];
            if nonzero.slot == NO_SLOT {
                nonzero.slot = self.slots_used;
                self.slots[nonzero.term as usize] = nonzero.slot;
                self.slots_used += 1;
                let row = &mut self.gradient[nonzero.slot as usize * width..][..width];
                row.as_chunks_mut::<LANES>().0.fill([0.0; LANES]);
            }
        }
    }

    /// Gives every term a slot, in the order of the terms, and moves the accumulated gradients there.
    fn assign_all_slots(&mut self) {
        let mut slots = self.slots.iter().enumerate();
        if slots.all(|(term, &slot)| slot as usize == term) {
            return;
        }
        let width = self.topics.next_multiple_of(LANES);
        if self.slots_used == 0 {
            self.gradient.fill(0.0);
        } else {
            let zeros = lazy_zeroed(self.gradient.len());
            let accumulated = std::mem::replace(&mut self.gradient, zeros);
            let rows = self.gradient.chunks_exact_mut(width);
            for (row, &slot) in rows.zip(&self.slots) {
                if slot != NO_SLOT {
                    row.copy_from_slice(&accumulated[slot as usize * width..][..width]);
                }
            }
        }
        for (term, slot) in self.slots.iter_mut().enumerate() {
            *slot = term as u32;
        }
        self.slots_used = self.terms as u32;
    }

    /// [`LANES`] documents at a time, for batches with many nonzero counts.
    fn accumulate_tiles(&mut self, counts: &View<'_>, all_terms: usize, weights: &Weights<'_>) {
        let (topics, width) = (self.topics, weights.width);
        self.assign_all_slots();
        let mut tile = [[0.0f32; LANES]; TILE];
        let mut sums = vec![0.0; topics * LANES];
        for (group, rows) in weights.rows.chunks(LANES).enumerate() {
            sums.fill(0.0);
            for first in (0..self.terms).step_by(TILE) {
                let terms = TILE.min(self.terms - first);
                fill_tile(
                    counts,
                    all_terms,
                    rows,
                    self.first + first,
                    terms,
                    &mut tile,
                );
                accumulate_tile(
                    &Tile {
                        topics,
                        by_topic: &weights.by_topic[group * LANES * topics..][..LANES * topics],
                        by_document: &weights.by_document[group * LANES * width..][..LANES * width],
                        exps: &self.padded_exps[first * topics..],
                        terms,
                    },
                    &mut tile,
                    &mut sums,
                    &mut self.gradient[first * width..],
                    &mut self.likelihood,
                );
            }
            let gradients = self.weight_gradients[group * LANES * width..].chunks_exact_mut(width);
            for (document, gradients) in gradients.enumerate().take(rows.len()) {
                for (topic, gradient) in gradients[..topics].iter_mut().enumerate() {
                    *gradient = sums[topic * LANES + document];
                }
            }
        }
    }
}

/// The accumulated gradients of a shard's terms.
pub(crate) struct TermGradients<'a> {
    rows: &'a [f32],
    slots: &'a [u32],
    width: usize,
}

impl TermGradients<'_> {
    /// Copies the rows of `terms` into `packed` without padding between them (terms x topics). `packed` needs one
    /// register more than that. `clean`: whether all of `packed` is zero; updated here.
    #[inline(always)]
    pub(crate) fn pack(
        &self,
        terms: Range<usize>,
        topics: usize,
        packed: &mut [f32],
        clean: &mut bool,
    ) {
        let slots = &self.slots[terms];
        if slots.iter().all(|&slot| slot == NO_SLOT) {
            if !*clean {
                packed.fill(0.0);
                *clean = true;
            }
            return;
        }
        *clean = false;
        for (term, &slot) in slots.iter().enumerate() {
            // Whole registers: the next row overwrites the padding of this one.
            for block in (0..topics).step_by(LANES) {
                let (out, _) = packed[term * topics + block..].as_chunks_mut::<LANES>();
                out[0] = match slot {
                    NO_SLOT => [0.0; LANES],
                    slot => {
                        self.rows[slot as usize * self.width + block..]
                            .as_chunks::<LANES>()
                            .0[0]
                    }
                };
            }
        }
    }
}

simd_dispatch! {
    /// Writes exp(logit - offset) of rows of topics, and adds each topic's exponentials to `sums`.
    fn exponentials(logits: &[f32], offsets: &[f32], exps: &mut [f32], sums: &mut [f64]) {
        let rows = logits.chunks_exact(offsets.len());
        for (row, exps) in rows.zip(exps.chunks_exact_mut(offsets.len())) {
            for ((value, power), offset) in row.iter().zip(&mut *exps).zip(offsets) {
                *power = exp(value - offset);
            }
            for (sum, power) in sums.iter_mut().zip(exps) {
                *sum += f64::from(*power);
            }
        }
    }
}

/// Fills `tile` with the counts of `terms` terms from `first` on of up to [`LANES`] documents; the rest is zero.
fn fill_tile(
    counts: &View<'_>,
    all_terms: usize,
    rows: &[usize],
    first: usize,
    terms: usize,
    tile: &mut [[f32; LANES]; TILE],
) {
    if rows.len() < LANES || terms < TILE || matches!(counts, View::Csr(_)) {
        tile.as_flattened_mut().fill(0.0);
    }
    for (lane, &row) in rows.iter().enumerate() {
        match counts {
            View::Csr(csr) => {
                let (columns, values) = csr.row(row);
                let range = columns_between(columns, &(first..first + terms));
                for (column, value) in columns[range.clone()].iter().zip(&values[range]) {
                    tile[*column as usize - first][lane] = *value;
                }
            }
            View::Dense(values) => with_values!(DenseRows, values, all => {
                let row = &all[row * all_terms + first..][..terms];
                for (counts, value) in tile.iter_mut().zip(row) {
                    counts[lane] = value.to_f32();
                }
            }),
        }
    }
}
