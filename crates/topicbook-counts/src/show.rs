//! Notebook display of counts, their properties, and synthetic corpora.

#[cfg(feature = "polars")]
use crate::CountTable;
use crate::batches::{Batches, CountBatch, Reading};
use crate::error::Result;
use crate::evcxr::{Picture, show_card, shown};
use crate::synthetic::{Corpus, Synthetic};
use crate::text::{Card, bytes, count, counted, listed, percent, shown_path};
use crate::{Cells, Counts, CountsWriter, Dtype, Layout, Location, Resample, Summary};

impl Counts {
    /// Shows shape, layout and sizes below a cell, without a pass over the counts.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let mut card = Card::new("Counts")
            .row("documents", count(self.documents() as u64))
            .row("terms", count(self.terms() as u64))
            .row("layout", self.layout().to_string())
            .row("dtype", self.dtype().to_string())
            .row("location", self.location_text());
        if let Some(stored) = self.stored_counts() {
            card = card.row("stored counts", count(stored));
        }
        if let Some(total) = self.known_total() {
            card = card.row("total count", count(total as u64));
        }
        card = card
            .row("bytes as stored", bytes(self.bytes_stored()))
            .row("bytes as dense f32", bytes(self.bytes_dense_f32()));
        if let Some(note) = self.note() {
            card = card.note(note);
        }
        card.show();
    }
}

shown! {
    Batches: |batches| Card::new("Batches").note(batches.to_string());
    Layout: |layout| layout.to_string();
    Dtype: |dtype| dtype.to_string();
    Location: |location| Card::new("Location").row("counts are in", location.to_string());
    Reading: |reading| Card::new("Reading").row("counts are read", reading.describe());
}

impl CountBatch {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        self.rows().evcxr_display();
    }
}

impl Cells {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let title = self.to_string();
        let mut card = Card::new(title.lines().next().unwrap_or_default());
        match self.layers() {
            Ok(layers) if layers.is_empty() => card = card.row("layers", "none"),
            Ok(layers) => card = card.row("layers", layers.join(", ")),
            Err(error) => card = card.row("layers", error.to_string()),
        }
        for note in self.notes() {
            card = card.note(note);
        }
        card.show();
    }
}

#[cfg(feature = "polars")]
impl CountTable {
    /// Reads the table, and shows below a cell what its columns were read as.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let counts = match self.counts() {
            Ok(counts) => counts,
            Err(error) => return error.evcxr_display(),
        };
        let title = self.to_string();
        let title = title.lines().next().unwrap_or_default();
        let mut card = Card::new(title).row("counts", counts.to_string());
        for (what, found) in self.described() {
            card = card.row(what, found);
        }
        card.show();
    }
}

impl Summary {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let lengths = self.document_lengths().iter().copied();
        let shortest = lengths.clone().fold(f64::MAX, f64::min);
        let longest = lengths.clone().fold(0.0, f64::max);
        let mean = self.total() / lengths.len() as f64;
        Card::new("Summary of counts")
            .row("total count", count(self.total() as u64))
            .row(
                "nonzeros",
                format!(
                    "{} ({:.2}%)",
                    count(self.nonzeros()),
                    100.0 * self.density()
                ),
            )
            .row("largest count", count(self.largest() as u64))
            .row(
                "document lengths",
                format!(
                    "{} to {}, mean {mean:.1}",
                    count(shortest as u64),
                    count(longest as u64)
                ),
            )
            .row("empty documents", listed(self.empty_documents()))
            .row("empty terms", listed(self.empty_terms()))
            .show();
    }
}

impl CountsWriter {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        Card::new("Writer of counts")
            .row("file", shown_path(self.path()))
            .row("documents", count(self.documents() as u64))
            .row("terms", count(self.terms() as u64))
            .note("The file is written when finish is called.")
            .show();
    }
}

impl Resample {
    /// Shows the resampling, which is not carried out yet, below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        Card::new("Documents drawn with replacement")
            .row("documents", count(self.documents as u64))
            .row("from", self.counts.to_string())
            .row("seed", self.seed.to_string())
            .note(
                "Documents are drawn when they are written: call write_npy, write_npy_narrow or write_npz.",
            ).show();
    }
}

impl Synthetic {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        Card::new("Parameters of synthetic counts")
            .row("documents", count(self.documents as u64))
            .row("terms", count(self.terms as u64))
            .row("topics", count(self.topics as u64))
            .row("mean length", counted(self.avg_doc_length, "token"))
            .row("seed", self.seed.to_string())
            .show();
    }
}

impl Corpus {
    /// Shows the corpus below a cell, with a histogram of document lengths. Reads all counts once.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        match self.card() {
            Ok((card, picture)) => show_card(&card, picture),
            Err(error) => error.evcxr_display(),
        }
    }

    fn card(&self) -> Result<(Card, Option<Picture>)> {
        let counts = self.counts();
        let (documents, terms) = counts.shape();
        let summary = counts.summary()?;
        let card = Card::new(format!(
            "Synthetic corpus: {} documents × {} terms",
            count(documents as u64),
            count(terms as u64)
        ))
        .row("topics", self.true_f().rows().to_string())
        .row("total count", count(summary.total() as u64))
        .row("nonzero", percent(summary.density()))
        .row(
            "in memory",
            format!(
                "{} as {} {}",
                bytes(counts.bytes_stored()),
                counts.layout(),
                counts.dtype()
            ),
        )
        .row("as dense f32", bytes(counts.bytes_dense_f32()))
        .row("seed", self.recipe.seed.to_string());
        Ok((card, document_lengths(summary.document_lengths())))
    }
}

/// A small histogram of the lengths of documents, in tokens.
#[cfg(feature = "charts")]
fn document_lengths(lengths: &[f64]) -> Option<Picture> {
    crate::charts::Chart::histogram(lengths)
        .title("")
        .x_label("tokens")
        .y_label("documents")
        .size(450, 230)
        .picture()
}

#[cfg(not(feature = "charts"))]
fn document_lengths(_: &[f64]) -> Option<Picture> {
    None
}
