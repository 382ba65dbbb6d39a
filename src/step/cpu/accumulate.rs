//! Loss and gradients of a batch from one range of terms (shard).

use std::ops::Range;

use crate::counts::View;
use crate::counts::rows::{NonzeroBuffer, nonzeros_between};
use crate::kernels::{DOCUMENTS, Form, WIDEST, tiled_terms, tiles};
use crate::system::{Aligned, LANES, Values, aligned_zeros, exp, lazy_zeroed, simd_dispatch};

use super::row_gradient::RowGradient;
use super::sparse::{Tables, accumulate_document};
use super::tiles::TileSums;

/// The accumulated gradients of a shard's terms: those of the sum of x log rate.
pub(crate) enum Gradient {
    Rows(RowGradient),
    Tiles {
        /// In the order of [`Form::Tiles`].
        values: Values,
        /// Whether nothing has been added yet; the values are those of an earlier step.
        is_clear: bool,
    },
}

/// A range of terms of F.
pub(crate) struct Accumulator {
    pub(crate) range: Range<usize>,
    pub(crate) topics: usize,
    /// exp(logit - offset of the topic), in the order of the form, with padding so that whole registers can be read past the
    /// end.
    exps: Aligned<f32>,
    /// Sums of the exponentials over the terms, per topic.
    pub(crate) exp_sums: Vec<f64>,
    gradient: Gradient,
    /// These terms' part of the gradients with respect to the batch's weights: documents x width.
    pub(crate) weight_gradients: Vec<f32>,
    /// These terms' part of the batch's sum of x log rate.
    pub(crate) likelihood: f64,
    nonzeros: NonzeroBuffer,
    /// Scratch: the ratios of one document.
    ratios: Vec<f32>,
}

/// The weights of a batch's documents: rows of L times the scales of F's exponentials.
pub(crate) struct Weights<'a> {
    /// The documents' rows in the view of the counts.
    pub(crate) rows: &'a [usize],
    /// Documents x width, both padded with zeros to whole registers.
    padded: Vec<f32>,
    /// Documents x topics, padded with documents of zeros to whole tiles.
    pub(crate) by_document: Vec<f32>,
    pub(crate) topics: usize,
    /// Topics, rounded up to whole registers.
    pub(crate) width: usize,
}

impl<'a> Weights<'a> {
    /// From rows of L (documents x topics) and the scales of F's topics.
    pub(crate) fn new(rows: &'a [usize], l: &[f32], scales: &[f64]) -> Self {
        let topics = scales.len();
        let width = topics.next_multiple_of(LANES);
        let documents = rows.len().next_multiple_of(DOCUMENTS);
        let mut padded = vec![0.0; documents * width];
        let mut by_document = vec![0.0; documents * topics];
        let rows_of_l = l.chunks_exact(topics);
        let tables = padded
            .chunks_exact_mut(width)
            .zip(by_document.chunks_exact_mut(topics));
        for (l, (padded, by_document)) in rows_of_l.zip(tables) {
            for ((value, weight), scale) in by_document.iter_mut().zip(l).zip(scales) {
                *value = (f64::from(*weight) * scale) as f32;
            }
            padded[..topics].copy_from_slice(by_document);
        }
        Self {
            rows,
            padded,
            by_document,
            topics,
            width,
        }
    }
}

impl Accumulator {
    pub(crate) fn new(range: Range<usize>, topics: usize, form: Form) -> Self {
        let terms = range.len();
        Self {
            exps: aligned_zeros(tiled_terms(terms) * topics + WIDEST),
            gradient: Gradient::new(form, terms, topics),
            range,
            topics,
            exp_sums: vec![0.0; topics],
            weight_gradients: Vec::new(),
            likelihood: 0.0,
            nonzeros: NonzeroBuffer::default(),
            ratios: Vec::new(),
        }
    }

    pub(crate) fn form(&self) -> Form {
        match self.gradient {
            Gradient::Rows(_) => Form::Rows,
            Gradient::Tiles { .. } => Form::Tiles,
        }
    }

    /// The faster form for a batch.
    pub(crate) fn best_form(&self, counts: &View<'_>, all_terms: usize, rows: &[usize]) -> Form {
        Form::of(counts, all_terms, rows.iter().copied(), &self.range)
    }

    /// Changes the form. Gradients that were accumulated are lost.
    pub(crate) fn set_form(&mut self, form: Form) {
        let (terms, topics) = (self.range.len(), self.topics);
        let mut exps = aligned_zeros(self.exps.len());
        reorder(&self.exps, &mut exps, self.form(), form, (terms, topics));
        self.exps = exps;
        self.gradient = Gradient::new(form, terms, topics);
    }

    /// The exponential of a term and topic.
    pub(crate) fn exp(&self, term: usize, topic: usize) -> f32 {
        self.exps[self.form().at(self.range.len(), self.topics, term, topic)]
    }

    /// Computes the exponentials and their sums from the logits, which are in the order of the form.
    pub(crate) fn set_logits(&mut self, logits: &[f32], offsets: &[f32]) {
        let (terms, form) = (self.range.len(), self.form());
        exponentials(
            logits,
            offsets,
            terms,
            form,
            &mut self.exps,
            &mut self.exp_sums,
        );
    }

    /// The exponentials, mutable, and the accumulated gradients of the terms. Call
    /// [`clear_gradients`](Self::clear_gradients) afterwards.
    pub(crate) fn exps_and_gradients(&mut self) -> (&mut [f32], &Gradient) {
        (&mut self.exps, &self.gradient)
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
        let (terms, topics) = (self.range.len(), self.topics);
        for term in 0..terms {
            for topic in 0..topics {
                let accumulated = f64::from(self.gradient.value(terms, topics, term, topic));
                let exp = f64::from(self.exp(term, topic));
                let gradient = exp * (scales[topic] * totals[topic] - accumulated);
                table[topic * all_terms + self.range.start + term] = gradient as f32;
            }
        }
    }

    /// The sum of the squared gradients with respect to these terms' logits; `scaled_totals` is each topic's expected number
    /// of the batch's tokens times its scale.
    pub(crate) fn squared_gradient(&self, scaled_totals: &[f64]) -> f64 {
        let (terms, topics) = (self.range.len(), self.topics);
        let mut squares = 0.0;
        for term in 0..terms {
            for (topic, total) in scaled_totals.iter().enumerate() {
                let accumulated = self.gradient.value(terms, topics, term, topic);
                let gradient = f64::from(self.exp(term, topic)) * (total - f64::from(accumulated));
                squares += gradient * gradient;
            }
        }
        squares
    }

    /// Multiplies the accumulated gradients of the terms by a factor.
    pub(crate) fn scale_gradient(&mut self, factor: f32) {
        match &mut self.gradient {
            Gradient::Rows(gradient) => gradient.scale(factor),
            Gradient::Tiles { is_clear: true, .. } => {}
            Gradient::Tiles { values, .. } => values.iter_mut().for_each(|value| *value *= factor),
        }
    }

    /// Clears the accumulated gradients of the terms.
    pub(crate) fn clear_gradients(&mut self) {
        match &mut self.gradient {
            Gradient::Rows(gradient) => gradient.clear(),
            Gradient::Tiles { is_clear, .. } => *is_clear = true,
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
        let sums = &mut self.weight_gradients;
        sums.clear();
        sums.resize(weights.padded.len(), 0.0);
        self.likelihood = 0.0;
        match &mut self.gradient {
            Gradient::Tiles { values, is_clear } => {
                let sums = TileSums {
                    weights,
                    exps: &self.exps,
                    gradient: values,
                    weight_gradients: sums,
                    likelihood: &mut self.likelihood,
                };
                sums.accumulate(counts, all_terms, &self.range, is_clear);
            }
            Gradient::Rows(gradient) => {
                let tables = weights.padded.chunks(weights.width);
                let tables = tables.zip(sums.chunks_mut(weights.width));
                for (&row, (weights, sums)) in weights.rows.iter().zip(tables) {
                    let (columns, counts) =
                        nonzeros_between(counts, all_terms, row, &self.range, &mut self.nonzeros);
                    let (nonzeros, gradient) = gradient.slots_of(columns, self.range.start);
                    let tables = Tables {
                        weights,
                        weight_gradients: sums,
                        topics: self.topics,
                        exps: &self.exps,
                        term_gradients: gradient,
                        ratios: &mut self.ratios,
                        likelihood: &mut self.likelihood,
                    };
                    accumulate_document(tables, nonzeros, counts);
                }
            }
        }
    }
}

impl Gradient {
    fn new(form: Form, terms: usize, topics: usize) -> Self {
        match form {
            Form::Rows => Self::Rows(RowGradient::new(terms, topics)),
            Form::Tiles => Self::Tiles {
                values: lazy_zeroed(tiled_terms(terms) * topics),
                is_clear: true,
            },
        }
    }

    /// The accumulated gradient of a term and topic.
    fn value(&self, terms: usize, topics: usize, term: usize, topic: usize) -> f32 {
        match self {
            Self::Rows(gradient) => gradient.value(term, topic),
            Self::Tiles { is_clear: true, .. } => 0.0,
            Self::Tiles { values, .. } => values[Form::Tiles.at(terms, topics, term, topic)],
        }
    }
}

/// Copies a table of terms x topics from the order of one form to that of another.
pub(super) fn reorder(
    from: &[f32],
    to: &mut [f32],
    from_form: Form,
    to_form: Form,
    (terms, topics): (usize, usize),
) {
    for term in 0..terms {
        for topic in 0..topics {
            let at = |form: Form| form.at(terms, topics, term, topic);
            to[at(to_form)] = from[at(from_form)];
        }
    }
}

simd_dispatch! {
    /// Writes exp(logit - offset), and each topic's sum of the exponentials.
    fn exponentials(
        logits: &[f32],
        offsets: &[f32],
        terms: usize,
        form: Form,
        exps: &mut [f32],
        sums: &mut [f64],
    ) {
        let topics = offsets.len();
        sums.fill(0.0);
        match form {
            Form::Rows => {
                let rows = logits[..terms * topics].chunks_exact(topics);
                for (row, exps) in rows.zip(exps.chunks_exact_mut(topics)) {
                    for ((value, power), offset) in row.iter().zip(&mut *exps).zip(offsets) {
                        *power = exp(value - offset);
                    }
                    for (sum, power) in sums.iter_mut().zip(exps) {
                        *sum += f64::from(*power);
                    }
                }
            }
            Form::Tiles => {
                for tile in tiles(0..terms) {
                    for (topic, offset) in offsets.iter().enumerate() {
                        let row = tile.terms.start * topics + topic * tile.width;
                        let row = row..row + tile.terms.len();
                        for (value, power) in logits[row.clone()].iter().zip(&mut exps[row.clone()]) {
                            *power = exp(value - offset);
                        }
                        for power in &exps[row] {
                            sums[topic] += f64::from(*power);
                        }
                    }
                }
            }
        }
    }
}
