//! Synthetic counts together with the truth they were drawn from.

use super::Synthetic;
use crate::charts::Chart;
use crate::counts::Counts;
use crate::display::{Card, bytes, count, percent};
use crate::error::Result;
use crate::matrix::Matrix;

/// Counts and the true L and F they were drawn from.
#[derive(Debug, Clone)]
pub struct Corpus {
    recipe: Synthetic,
    counts: Counts,
    true_l: Matrix,
    true_f: Matrix,
}

impl Corpus {
    pub(super) fn new(recipe: Synthetic, counts: Counts, true_l: Matrix, true_f: Matrix) -> Self {
        Self {
            recipe,
            counts,
            true_l,
            true_f,
        }
    }

    /// The counts: documents x terms. A handle, not a copy.
    pub fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// The true L: documents x topics, rows summing to one.
    pub fn true_l(&self) -> Matrix {
        self.true_l.clone()
    }

    /// The true F: topics x terms, rows summing to one.
    pub fn true_f(&self) -> Matrix {
        self.true_f.clone()
    }

    /// The structure plot of the true L.
    pub fn plot_structure(&self) -> Chart {
        Chart::structure(&self.true_l)
    }

    /// Shows the corpus as a card with a histogram of the documents' lengths. Reads all counts once.
    pub fn evcxr_display(&self) {
        match self.card() {
            Ok(card) => card.show(),
            Err(error) => println!("{error}"),
        }
    }

    fn card(&self) -> Result<Card> {
        let (documents, terms) = self.counts.shape();
        let summary = self.counts.summary()?;
        Ok(Card::new(format!(
            "Synthetic corpus: {} documents x {} terms",
            count(documents as u64),
            count(terms as u64)
        ))
        .row("topics", self.true_f.rows().to_string())
        .row("total count", count(summary.total() as u64))
        .row("nonzero", percent(summary.density()))
        .row(
            "in memory",
            format!(
                "{} as {} {}",
                bytes(self.counts.bytes_stored()),
                self.counts.layout(),
                self.counts.dtype()
            ),
        )
        .row("as dense f32", bytes(self.counts.bytes_dense_f32()))
        .row("seed", self.recipe.seed.to_string())
        .picture(Chart::histogram(
            summary.document_lengths(),
            "tokens",
            "documents",
        )))
    }
}
