//! Questions about documents: their topics, and the documents that resemble them.

use polars::prelude::Column;
use rayon::prelude::*;

use crate::data::{Table, top_n};
use crate::error::Result;

use super::Fit;
use super::topics::largest_first;
use super::which::NameOrNumber;

impl Fit {
    /// Table of the topics of one document: `topic` and its `proportion`, from 0 to 1, the largest first.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let table = fit.topics_of_document(17)?;
    /// let topic = table.column("topic")?.u32()?.get(0).unwrap_or(0) as usize;
    /// assert_eq!(table.column("proportion")?.f32()?.get(0), Some(fit.l().row(17)[topic]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such document.
    #[doc(alias = "get_document_topics")]
    pub fn topics_of_document(&self, document: impl NameOrNumber) -> Result<Table> {
        let document = self.document(document.which())?;
        Ok(largest_first(self.l.row(document), "proportion"))
    }

    /// Table of the `n` documents whose topics are most like the topics of a document, the most similar first, without the
    /// document itself. Its columns are `document` (a row of L) and `similarity`, from 0 (no topic in common) to 1 (the same
    /// proportions).
    ///
    /// The similarity is one minus the Hellinger distance, √(½ Σ (√p - √q)²) over the topics, the usual distance of two
    /// distributions. A small topic that only one of them has counts more than in the cosine.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let table = fit.similar_documents(17, 5)?;
    /// assert_eq!((table.height(), table.width()), (5, 2));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such document.
    ///
    /// # Cost
    /// One pass over L, on all cores.
    #[doc(alias("most_similar", "nearest_neighbors", "hellinger"))]
    pub fn similar_documents(&self, document: impl NameOrNumber, n: usize) -> Result<Table> {
        let document = self.document(document.which())?;
        let roots: Vec<f64> = self
            .l
            .row(document)
            .iter()
            .map(|&p| f64::from(p).sqrt())
            .collect();
        let similarity: Vec<f32> = (0..self.documents())
            .into_par_iter()
            .map(|other| match other == document {
                // The document itself comes last in every order.
                true => f32::NEG_INFINITY,
                false => (1.0 - hellinger(&roots, self.l.row(other))) as f32,
            })
            .collect();
        let found = top_n(&similarity, n.min(self.documents() - 1));
        let similarity: Vec<f32> = found.iter().map(|&other| similarity[other]).collect();
        let mut columns = self.document_columns(&found);
        columns.push(Column::new("similarity".into(), similarity));
        Ok(Table::from_columns(columns))
    }
}

/// The Hellinger distance of a distribution, given by the roots of its probabilities, and another.
fn hellinger(roots: &[f64], other: &[f32]) -> f64 {
    let squares = roots.iter().zip(other).map(|(root, &q)| {
        let difference = root - f64::from(q).sqrt();
        difference * difference
    });
    (squares.sum::<f64>() / 2.0).sqrt()
}
