//! A range of terms: its part of a batch's loss and gradients.

use std::ops::Range;

use super::dense::{TERMS, TILE, Tile, gather_tile};
use super::sparse::{Place, WIDEST, gather_document};
use super::vector::{LANES, exp};
use crate::counts::{DenseRows, Element, View, with_values};
use crate::place::{Values, untouched};
use crate::simd::simd_dispatch;

/// Lanes for one nonzero count: with more counts than one in so many, whole registers of documents are quicker.
const LANES_FOR_ONE: usize = 4;
/// A term that no count of the batch has touched.
const UNTOUCHED: u32 = u32::MAX;

/// Terms `first..first + terms` of F. Tables are term by term, so that the topics of a term lie side by side.
pub(super) struct Gather {
    pub(super) first: usize,
    pub(super) terms: usize,
    pub(super) topics: usize,
    /// exp(free - offset of the topic), and room to read past the end.
    exp: Vec<f32>,
    /// Sums of `exp` over the terms, per topic.
    pub(super) sums: Vec<f64>,
    /// Gathered over a batch: rows of the terms that it touches. Rows are filled up to whole registers: a row that is
    /// stored must not overlap the next one that is loaded, or the processor waits for the store.
    gradient: Values,
    /// Each term's row of `gradient`.
    slots: Vec<u32>,
    touched: u32,
    /// Documents x width: what these terms contribute to the gradients of the batch's weights.
    pub(super) weight_gradients: Vec<f32>,
    /// What these terms contribute to the batch's sum of x log rate.
    pub(super) likelihood: f64,
    /// For each document of the batch, its part of a sparse row.
    ranges: Vec<Range<usize>>,
    places: Vec<Place>,
    counts: Vec<f32>,
}

/// The weights of a batch's documents: rows of L times what scales F's exponentials.
pub(super) struct Weights<'a> {
    /// Rows in the view.
    pub(super) rows: &'a [usize],
    /// Documents x width (topics in whole registers), both filled up with zeros.
    by_document: Vec<f32>,
    /// The same for every [`LANES`] documents: topics x documents.
    by_topic: Vec<f32>,
    pub(super) width: usize,
}

impl<'a> Weights<'a> {
    /// From rows of L (documents x topics) and the scales of F's topics.
    pub(super) fn new(rows: &'a [usize], l: &[f32], scales: &[f64]) -> Self {
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

impl Gather {
    pub(super) fn new(range: Range<usize>, topics: usize) -> Self {
        let terms = range.len();
        let width = topics.next_multiple_of(LANES);
        Self {
            first: range.start,
            terms,
            topics,
            exp: vec![0.0; (terms + TERMS) * topics + WIDEST],
            sums: vec![0.0; topics],
            gradient: untouched(terms.next_multiple_of(TERMS) * width),
            slots: vec![UNTOUCHED; terms],
            touched: 0,
            weight_gradients: Vec::new(),
            likelihood: 0.0,
            ranges: Vec::new(),
            places: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Terms x topics.
    pub(super) fn exps(&self) -> &[f32] {
        &self.exp[..self.terms * self.topics]
    }

    /// Computes `exp` and its sums from the free values (terms x topics).
    pub(super) fn set(&mut self, free: &[f32], offsets: &[f32]) {
        self.sums.fill(0.0);
        exponentials(free, offsets, &mut self.exp, &mut self.sums);
    }

    /// The exponentials, to be changed, with the gathered gradients' rows; [`clear`](Self::clear) afterwards.
    pub(super) fn parts(&mut self) -> (&mut [f32], Gradients<'_>) {
        (
            &mut self.exp[..self.terms * self.topics],
            Gradients {
                rows: &self.gradient,
                slots: &self.slots,
                width: self.topics.next_multiple_of(LANES),
            },
        )
    }

    /// Copies the gradients of these terms' free values into a table of topics x `all_terms`; `totals` are the topics'
    /// shares of the batch's tokens.
    pub(super) fn copy_gradients(
        &self,
        scales: &[f64],
        totals: &[f64],
        all_terms: usize,
        table: &mut [f32],
    ) {
        let width = self.topics.next_multiple_of(LANES);
        let exps = self.exp.chunks_exact(self.topics);
        for (term, (exps, &slot)) in exps.zip(&self.slots).enumerate() {
            for topic in 0..self.topics {
                let pull = match slot {
                    UNTOUCHED => 0.0,
                    slot => f64::from(self.gradient[slot as usize * width + topic]),
                };
                let slope = f64::from(exps[topic]) * (scales[topic] * totals[topic] - pull);
                table[topic * all_terms + self.first + term] = slope as f32;
            }
        }
    }

    /// Forgets the gathered gradients.
    pub(super) fn clear(&mut self) {
        if self.touched > 0 {
            self.slots.fill(UNTOUCHED);
            self.touched = 0;
        }
    }

    /// Loss and gradients of a batch, as far as they come from these terms. Those of the terms are added to what has been
    /// gathered since the last [`clear`](Self::clear).
    pub(super) fn gather(&mut self, counts: &View<'_>, all_terms: usize, weights: &Weights<'_>) {
        self.weight_gradients.clear();
        self.weight_gradients.resize(weights.by_document.len(), 0.0);
        self.likelihood = 0.0;
        let groups = weights.rows.len().div_ceil(LANES);
        let nonzeros = self.nonzeros(counts, all_terms, weights.rows);
        if nonzeros * LANES_FOR_ONE > groups * LANES * self.terms {
            self.gather_tiles(counts, all_terms, weights);
        } else {
            self.gather_documents(counts, all_terms, weights);
        }
    }

    /// How many nonzero counts the batch has in these terms; keeps where they are in sparse rows.
    fn nonzeros(&mut self, counts: &View<'_>, all_terms: usize, rows: &[usize]) -> usize {
        match counts {
            View::Csr(csr) => {
                self.ranges.clear();
                let range = |&row: &usize| part(csr.row(row).0, self.first, self.terms);
                self.ranges.extend(rows.iter().map(range));
                self.ranges.iter().map(Range::len).sum()
            }
            View::Dense(values) => with_values!(DenseRows, values, all => {
                let count = |&row: &usize| count_nonzeros(&all[row * all_terms + self.first..][..self.terms]);
                rows.iter().map(count).sum()
            }),
        }
    }

    fn gather_documents(&mut self, counts: &View<'_>, all_terms: usize, weights: &Weights<'_>) {
        let width = weights.width;
        let mut gradients = std::mem::take(&mut self.weight_gradients);
        let mut places = std::mem::take(&mut self.places);
        let mut values = std::mem::take(&mut self.counts);
        places.resize(self.terms, Place::default());
        values.resize(self.terms, 0.0);
        let tables = weights.by_document.chunks(width);
        let tables = tables.zip(gradients.chunks_mut(width));
        for (document, (weights_of_one, gradients)) in tables.enumerate().take(weights.rows.len()) {
            let row = weights.rows[document];
            let (found, stored) = match counts {
                View::Csr(csr) => {
                    let (columns, values) = csr.row(row);
                    let range = self.ranges[document].clone();
                    let (columns, values) = (&columns[range.clone()], &values[range]);
                    for (place, column) in places.iter_mut().zip(columns) {
                        place.term = column - self.first as u32;
                    }
                    (columns.len(), values)
                }
                View::Dense(rows) => with_values!(DenseRows, rows, all => {
                    let row = &all[row * all_terms + self.first..][..self.terms];
                    (find_nonzeros(row, &mut places, &mut values), &values[..])
                }),
            };
            for place in &mut places[..found] {
                place.slot = self.slots[place.term as usize];
                if place.slot == UNTOUCHED {
                    place.slot = self.touched;
                    self.slots[place.term as usize] = place.slot;
                    self.touched += 1;
                    let row = &mut self.gradient[place.slot as usize * width..][..width];
                    row.as_chunks_mut::<LANES>().0.fill([0.0; LANES]);
                }
            }
            gather_document(
                weights_of_one,
                gradients,
                &places[..found],
                &stored[..found],
                self.topics,
                &self.exp,
                &mut self.gradient,
                &mut self.likelihood,
            );
        }
        (self.weight_gradients, self.places, self.counts) = (gradients, places, values);
    }

    /// Gives every term its own row of the gradients, in order; what has been gathered moves along.
    fn touch_all(&mut self) {
        let mut slots = self.slots.iter().enumerate();
        if slots.all(|(term, &slot)| slot as usize == term) {
            return;
        }
        let width = self.topics.next_multiple_of(LANES);
        if self.touched == 0 {
            self.gradient.fill(0.0);
        } else {
            let fresh = untouched(self.gradient.len());
            let gathered = std::mem::replace(&mut self.gradient, fresh);
            let rows = self.gradient.chunks_exact_mut(width);
            for (row, &slot) in rows.zip(&self.slots) {
                if slot != UNTOUCHED {
                    row.copy_from_slice(&gathered[slot as usize * width..][..width]);
                }
            }
        }
        for (term, slot) in self.slots.iter_mut().enumerate() {
            *slot = term as u32;
        }
        self.touched = self.terms as u32;
    }

    fn gather_tiles(&mut self, counts: &View<'_>, all_terms: usize, weights: &Weights<'_>) {
        let (topics, width) = (self.topics, weights.width);
        self.touch_all();
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
                gather_tile(
                    &Tile {
                        topics,
                        by_topic: &weights.by_topic[group * LANES * topics..][..LANES * topics],
                        by_document: &weights.by_document[group * LANES * width..][..LANES * width],
                        exps: &self.exp[first * topics..],
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

/// The gathered gradients of a shard's terms.
pub(super) struct Gradients<'a> {
    rows: &'a [f32],
    slots: &'a [u32],
    width: usize,
}

impl Gradients<'_> {
    /// The rows of `terms`, side by side (topics each) in `packed`, which has room for one register more; `clean` says
    /// whether all of it is zero already.
    #[inline(always)]
    pub(super) fn pack(
        &self,
        terms: Range<usize>,
        topics: usize,
        packed: &mut [f32],
        clean: &mut bool,
    ) {
        let slots = &self.slots[terms];
        if slots.iter().all(|&slot| slot == UNTOUCHED) {
            if !*clean {
                packed.fill(0.0);
                *clean = true;
            }
            return;
        }
        *clean = false;
        for (term, &slot) in slots.iter().enumerate() {
            // Whole registers: what lies past a row's end is written over by the next.
            for block in (0..topics).step_by(LANES) {
                let (out, _) = packed[term * topics + block..].as_chunks_mut::<LANES>();
                out[0] = match slot {
                    UNTOUCHED => [0.0; LANES],
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
    /// exp(free - offset) of rows of topics, and their sums.
    fn exponentials(free: &[f32], offsets: &[f32], exps: &mut [f32], sums: &mut [f64]) {
        let rows = free.chunks_exact(offsets.len());
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

/// Where a sparse row has columns in `first..first + terms`.
fn part(columns: &[u32], first: usize, terms: usize) -> Range<usize> {
    let start = columns.partition_point(|&column| (column as usize) < first);
    let length = columns[start..].partition_point(|&column| (column as usize) < first + terms);
    start..start + length
}

fn count_nonzeros<T: Element>(row: &[T]) -> usize {
    row.iter().filter(|value| **value != T::default()).count()
}

/// Writes the nonzero counts of a row and their terms, and returns how many there are. Without a branch: where counts
/// are zero is not to be foreseen.
fn find_nonzeros<T: Element>(row: &[T], places: &mut [Place], counts: &mut [f32]) -> usize {
    let mut found = 0;
    for (term, value) in row.iter().enumerate() {
        places[found].term = term as u32;
        counts[found] = value.to_f32();
        found += usize::from(*value != T::default());
    }
    found
}

/// The counts of `terms` terms from `first` on, of up to [`LANES`] documents side by side; zero where there are none.
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
                let range = part(columns, first, terms);
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
