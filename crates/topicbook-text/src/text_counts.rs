//! What a vectorizer gives: counts, terms, documents, and what was dropped.

use std::fmt;

use crate::counts::Counts;
use crate::counts::select_terms::without;
use crate::data::{Documents, OrRef, Terms, or_ref};
use crate::error::Result;
use crate::text::{count, counted};

use super::Vectorizer;
use super::document_texts::DocumentTexts;

/// The counts of the terms of texts; [`Vectorizer::fit_transform`] and [`Vectorizer::transform`] make it. Cheap to clone.
///
/// ```
/// use topicbook::{TopicModel, Vectorizer};
/// let texts = ["spikes of neurons", "neurons spike", "kernels of machines", "machines learn kernels"];
/// let counted = Vectorizer::new().stop_words("english").fit_transform(texts)?;
/// let fit = TopicModel::new(2).terms(counted.terms()).epochs(5).quiet().fit(counted.counts())?;
/// assert_eq!(fit.documents(), counted.documents().len());
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TextCounts {
    pub(super) counts: Counts,
    pub(super) terms: Terms,
    pub(super) documents: Documents,
    pub(super) vectorizer: Vectorizer,
    pub(super) dropped: Dropped,
    pub(super) notes: Vec<String>,
    pub(super) texts: DocumentTexts,
}

impl TextCounts {
    /// The counts: a row per document, a column per term.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().fit_transform(["to be", "or not to be"])?;
    /// assert_eq!(counted.counts().shape(), (2, 4));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// The terms, in the order of the columns: alphabetical, or as in the vocabulary.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().fit_transform(["to be", "or not to be"])?;
    /// assert_eq!(counted.terms().as_slice(), ["be", "not", "or", "to"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "get_feature_names_out")]
    pub fn terms(&self) -> Terms {
        self.terms.clone()
    }

    /// The documents, in the order of the rows: files by their paths, rows of a table with its other columns.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().fit_transform(["to be", "or not to be"])?;
    /// assert_eq!(counted.documents().names(), ["0", "1"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn documents(&self) -> Documents {
        self.documents.clone()
    }

    /// The same without the texts that have none of the terms.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().fit_transform(["to be", "?!", "or not to be"])?;
    /// let filled = counted.drop_empty()?;
    /// assert_eq!(filled.documents().names(), ["0", "2"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no text has one of the terms.
    ///
    /// # Cost
    /// That of [`Counts::drop_empty`].
    pub fn drop_empty(&self) -> Result<Self> {
        let summary = self.counts.summary()?;
        let empty = summary.empty_documents();
        if empty.is_empty() {
            return Ok(self.clone());
        }
        let kept = without(self.counts.documents(), empty);
        Ok(Self {
            counts: self.counts.select(&kept)?,
            documents: self.documents.select(&kept)?,
            texts: DocumentTexts {
                rows: Some(match &self.texts.rows {
                    Some(rows) => kept.iter().map(|&row| rows[row]).collect(),
                    None => kept.into(),
                }),
                ..self.texts.clone()
            },
            ..self.clone()
        })
    }

    /// The vectorizer with these terms as its vocabulary, to count new texts, or to be saved.
    ///
    /// ```
    /// use topicbook::Vectorizer;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// Vectorizer::new().fit_transform(["to be", "or not to be"])?.vectorizer().save("words.json")?;
    /// let new = Vectorizer::open("words.json")?.transform(["to do"])?;
    /// assert_eq!(new.counts().shape(), (1, 4));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn vectorizer(&self) -> Vectorizer {
        self.vectorizer.clone()
    }

    /// The terms of the texts that the counts lack, by reason.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().min_df(2).fit_transform(["to be", "or not to be"])?;
    /// assert_eq!(counted.dropped().rare(), 2); // "or" and "not"
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Sentences on terms and stop words that no text can give, and on scripts that the default pattern damages.
    #[doc(hidden)]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Where the texts are.
    #[doc(hidden)]
    pub fn texts(&self) -> &DocumentTexts {
        &self.texts
    }

    /// The same, in words.
    #[doc(hidden)]
    pub fn source(&self) -> String {
        self.texts.texts.to_string()
    }
}

impl fmt::Display for TextCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (documents, terms) = self.counts.shape();
        write!(
            f,
            "{} × {} of {}",
            counted(documents, "document"),
            counted(terms, "term"),
            self.texts.texts
        )
    }
}

or_ref!(TextCounts);

impl OrRef<Counts> for TextCounts {
    fn value(&self) -> &Counts {
        &self.counts
    }
}

/// The number of terms of the texts that the counts lack, by reason; [`TextCounts::dropped`] gives it.
///
/// ```
/// let counted = topicbook::Vectorizer::new().max_terms(1).fit_transform(["to be", "or not to be"])?;
/// assert_eq!(counted.dropped().to_string(), "3 terms were dropped beyond max_terms, the least frequent ones");
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    pub(super) rare: u64,
    pub(super) frequent: u64,
    pub(super) beyond_max_terms: u64,
    pub(super) pruned: u64,
    pub(super) pruned_documents: u64,
}

impl Dropped {
    /// Terms of fewer documents than [`Vectorizer::min_df`].
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().min_df(2).fit_transform(["to be", "to do"])?;
    /// assert_eq!(counted.dropped().rare(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn rare(&self) -> u64 {
        self.rare
    }

    /// Terms of more documents than [`Vectorizer::max_df`].
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().max_df(1).fit_transform(["to be", "to do"])?;
    /// assert_eq!(counted.dropped().frequent(), 1);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn frequent(&self) -> u64 {
        self.frequent
    }

    /// Terms beyond [`Vectorizer::max_terms`].
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().max_terms(1).fit_transform(["to be", "to do"])?;
    /// assert_eq!(counted.dropped().beyond_max_terms(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn beyond_max_terms(&self) -> u64 {
        self.beyond_max_terms
    }

    /// Terms that were dropped during counting, because the vocabulary had used up its part of the budget: the terms in the
    /// fewest documents by then. A term that comes again later is counted from there on, so that `min_df` can drop it although
    /// more documents contain it; the counts of a term that is kept are complete.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().fit_transform(["to be", "to do"])?;
    /// assert_eq!(counted.dropped().pruned(), 0); // three terms need little memory
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn pruned(&self) -> u64 {
        self.pruned
    }

    /// A sentence for each reason for which terms were dropped.
    #[doc(hidden)]
    pub fn sentences(&self) -> Vec<String> {
        let terms = |n: u64| match n {
            1 => "1 term was".to_string(),
            n => format!("{} terms were", count(n)),
        };
        let pruned = format!(
            "dropped so that the vocabulary fits the budget: each was in at most {} by then",
            counted(self.pruned_documents as usize, "document")
        );
        [
            (self.rare, "dropped by min_df, in too few documents"),
            (self.frequent, "dropped by max_df, in too many documents"),
            (
                self.beyond_max_terms,
                "dropped beyond max_terms, the least frequent ones",
            ),
            (self.pruned, pruned.as_str()),
        ]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, why)| format!("{} {why}", terms(n)))
        .collect()
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sentences().as_slice() {
            [] => f.write_str("no terms were dropped"),
            sentences => f.write_str(&sentences.join("; ")),
        }
    }
}
