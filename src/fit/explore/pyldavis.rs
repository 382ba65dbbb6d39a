//! The inputs of pyLDAvis as a JSON file.

use std::path::Path;

use serde::{Serialize, Serializer};

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::system::write_atomic;

use super::Explorer;

/// The arguments of `pyLDAvis.prepare`.
#[derive(Serialize)]
struct Inputs<'a> {
    topic_term_dists: Rows<'a>,
    doc_topic_dists: Rows<'a>,
    doc_lengths: &'a [f64],
    vocab: Vec<String>,
    term_frequency: &'a [f64],
}

/// A matrix as a list of rows.
struct Rows<'a>(&'a Matrix);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.0.rows()).map(|row| self.0.row(row)))
    }
}

impl Explorer {
    /// Writes what pyLDAvis needs to draw the fit, as a JSON file with the arguments of its `prepare`: `topic_term_dists` (F),
    /// `doc_topic_dists` (L), `doc_lengths`, `vocab` and `term_frequency`.
    ///
    /// In Python, `pyLDAvis.prepare(**json.load(open("pyldavis.json")), sort_topics=False, start_index=0)` keeps the numbers of
    /// the topics; by default pyLDAvis sorts them and counts from 1.
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// fit.explore().counts(&counts)?.write_pyldavis_json("pyldavis.json")?;
    /// assert!(std::fs::read_to_string("pyldavis.json").unwrap().starts_with("{\"topic_term_dists\":[["));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// Without [`counts`](Self::counts), which have the lengths of documents and the frequencies of terms; when L or F
    /// contains NaN or infinite values; when the file cannot be written.
    ///
    /// # Cost
    /// About 14 bytes in the file for each value of L and F, written as they are converted.
    #[doc(alias = "prepare")]
    pub fn write_pyldavis_json(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        self.check_finite()?;
        let Some(counted) = &self.counted else {
            return Err(Error::value(
                "pyLDAvis needs the lengths of the documents and the frequencies of the terms",
            )
            .fix("give the counts first: `fit.explore().counts(&counts)?`"));
        };
        let inputs = Inputs {
            topic_term_dists: Rows(&self.fit.f),
            doc_topic_dists: Rows(&self.fit.l),
            doc_lengths: counted.summary.document_lengths(),
            vocab: (0..self.fit.terms())
                .map(|term| self.fit.term_name(term))
                .collect(),
            term_frequency: &counted.term_totals,
        };
        write_atomic(path, |out| {
            serde_json::to_writer(out, &inputs)
                .map_err(|error| Error::io("write", path, error.into()))
        })
    }
}
