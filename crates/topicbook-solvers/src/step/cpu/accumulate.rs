//! Loss and gradients of a batch from one term shard.

use std::ops::Range;

use crate::counts::View;
use crate::kernels::{DOCUMENTS, TermLayout, tiled_terms};
use crate::system::{LANES, Values, lazy_zeroed};

use super::kept::Kept;
use super::row_gradient::RowGradient;
use super::sparse::RowSums;
use super::tiles::TileSums;

/// The accumulated gradients of the sum of x log rate, for the terms of a shard.
pub enum Gradient {
    Rows {
        /// Nonzero counts of the last micro-batch, whose gradients are still to be added.
        kept: Kept,
        /// The gradients that were added since the last update.
        table: RowGradient,
    },
    Tiles {
        /// In the order of [`TermLayout::Tiles`].
        values: Values,
        /// Whether nothing has been added yet. The values are then left over from an earlier step.
        is_clear: bool,
    },
}

/// The sums over a range of terms of F.
pub struct Accumulator {
    pub range: Range<usize>,
    pub topics: usize,
    /// Sums of the exponentials over the terms, per topic.
    pub exp_sums: Vec<f64>,
    gradient: Gradient,
    /// These terms' contribution to the gradients with respect to the batch's weights: documents x width.
    pub weight_gradients: Vec<f32>,
    /// These terms' contribution to the batch's sum of x log rate.
    pub likelihood: f64,
}

/// The weights of a batch's documents: rows of L times the scales of F's exponentials.
pub struct Weights<'a> {
    /// The documents' rows in the view of the counts.
    pub rows: &'a [usize],
    /// Documents x width, both padded with zeros: to whole tiles and to whole registers.
    pub padded: Vec<f32>,
    /// Documents x topics, padded with documents of zeros to whole tiles.
    pub by_document: Vec<f32>,
    pub topics: usize,
    /// Topics, rounded up to whole registers.
    pub width: usize,
    /// For each topic, the offset that is subtracted from F's logits before the exponential; padded to whole registers.
    pub offsets: Vec<f32>,
}

impl<'a> Weights<'a> {
    /// From rows of L (documents x topics), and the scales and offsets of F's topics.
    pub fn new(rows: &'a [usize], l: &[f32], scales: &[f64], offsets: &[f32]) -> Self {
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
        let mut offsets = offsets.to_vec();
        offsets.resize(width, 0.0);
        Self {
            rows,
            padded,
            by_document,
            topics,
            width,
            offsets,
        }
    }
}

impl Accumulator {
    pub fn new(range: Range<usize>, topics: usize, form: TermLayout) -> Self {
        let terms = range.len();
        Self {
            gradient: Gradient::new(form, terms, topics),
            range,
            topics,
            exp_sums: vec![0.0; topics],
            weight_gradients: Vec::new(),
            likelihood: 0.0,
        }
    }

    pub fn form(&self) -> TermLayout {
        match self.gradient {
            Gradient::Rows { .. } => TermLayout::Rows,
            Gradient::Tiles { .. } => TermLayout::Tiles,
        }
    }

    /// The faster layout for a batch.
    pub fn best_form(&self, counts: &View<'_>, all_terms: usize, rows: &[usize]) -> TermLayout {
        TermLayout::of(counts, all_terms, rows.iter().copied(), &self.range)
    }

    /// Changes the layout. Accumulated gradients are lost.
    pub fn set_form(&mut self, form: TermLayout) {
        self.gradient = Gradient::new(form, self.range.len(), self.topics);
    }

    /// The accumulated gradient of a term and topic, without the nonzero counts that are kept.
    pub fn gradient(&self, term: usize, topic: usize) -> f32 {
        self.gradient
            .value(self.range.len(), self.topics, term, topic)
    }

    /// The gradients of the terms, which an update clears.
    pub fn gradient_mut(&mut self) -> &mut Gradient {
        &mut self.gradient
    }

    /// Multiplies the accumulated gradients of the terms by a factor.
    pub fn scale_gradient(&mut self, factor: f32) {
        match &mut self.gradient {
            Gradient::Rows { table, .. } => table.scale(factor),
            Gradient::Tiles { is_clear: true, .. } => {}
            Gradient::Tiles { values, .. } => values.iter_mut().for_each(|value| *value *= factor),
        }
    }

    /// Computes these terms' contribution to a batch's likelihood and weight gradients. Adds the gradients of the terms to the
    /// accumulated ones, or keeps the nonzero counts that they are computed from. `values` are the exponentials of the terms
    /// in tiles, or their logits in rows, with one register of padding.
    pub fn accumulate(
        &mut self,
        values: &[f32],
        counts: &View<'_>,
        all_terms: usize,
        weights: &Weights<'_>,
    ) {
        let sums = &mut self.weight_gradients;
        sums.clear();
        sums.resize(weights.padded.len(), 0.0);
        self.likelihood = 0.0;
        match &mut self.gradient {
            Gradient::Tiles {
                values: gradient,
                is_clear,
            } => {
                let sums = TileSums {
                    weights,
                    exps: values,
                    gradient,
                    weight_gradients: sums,
                    likelihood: &mut self.likelihood,
                };
                sums.accumulate(counts, all_terms, &self.range, is_clear);
            }
            Gradient::Rows { kept, table } => {
                let sums = RowSums {
                    weights,
                    logits: values,
                    kept,
                    gradient: table,
                    weight_gradients: sums,
                    likelihood: &mut self.likelihood,
                };
                sums.accumulate(counts, all_terms, &self.range);
            }
        }
    }

    /// Adds the kept nonzero counts of the last batch, which had these padded weights, to the gradients of the terms.
    pub fn add_kept(&mut self, weights: &[f32]) {
        if let Gradient::Rows { kept, table } = &mut self.gradient {
            kept.add_to(table, weights);
        }
    }
}

impl Gradient {
    fn new(form: TermLayout, terms: usize, topics: usize) -> Self {
        match form {
            TermLayout::Rows => Self::Rows {
                kept: Kept::default(),
                table: RowGradient::new(terms, topics),
            },
            TermLayout::Tiles => Self::Tiles {
                values: lazy_zeroed(tiled_terms(terms) * topics),
                is_clear: true,
            },
        }
    }

    /// The accumulated gradient of a term and topic.
    fn value(&self, terms: usize, topics: usize, term: usize, topic: usize) -> f32 {
        match self {
            Self::Rows { table, .. } => table.value(term, topic),
            Self::Tiles { is_clear: true, .. } => 0.0,
            Self::Tiles { values, .. } => values[TermLayout::Tiles.at(terms, topics, term, topic)],
        }
    }
}

/// Copies a table of terms x topics from one layout to another.
pub(super) fn reorder(
    from: &[f32],
    to: &mut [f32],
    from_form: TermLayout,
    to_form: TermLayout,
    (terms, topics): (usize, usize),
) {
    for term in 0..terms {
        for topic in 0..topics {
            let at = |form: TermLayout| form.at(terms, topics, term, topic);
            to[at(to_form)] = from[at(from_form)];
        }
    }
}
