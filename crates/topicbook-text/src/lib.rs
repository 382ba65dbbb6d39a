//! Counts of the terms of texts: [`Vectorizer`].
//!
//! Users import `topicbook`, which shows the items of this crate. With the feature `polars`, texts can be columns of tables.

mod beginnings;
mod document_texts;
mod impossible;
mod interner;
mod languages;
mod pass;
mod phrases;
mod room;
mod rows;
mod run;
mod saved;
mod scripts;
#[cfg_attr(not(feature = "languages"), path = "no_segment.rs")]
mod segment;
mod settings;
mod show;
mod stop_words;
mod term_counts;
mod text_counts;
mod texts;
mod tokenizer;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

use crate::counts::DocumentFrequency;
use crate::counts::select_terms::sealed::Bounded;

#[doc(hidden)]
pub use topicbook_base::{Error, ErrorKind, Result};
#[doc(hidden)]
pub use topicbook_counts::Counts;
#[doc(hidden)]
pub use topicbook_data::{Budget, Documents, OrRef, Terms};

pub(crate) use topicbook_base::{error, evcxr, system, text};
pub(crate) use topicbook_counts as counts;
pub(crate) use topicbook_data as data;

#[doc(hidden)]
pub use document_texts::{DocumentTexts, LocatedTerm, TermFinder};
pub use stop_words::StopWords;
pub use text_counts::{Dropped, TextCounts};
pub use texts::{TextItem, TextSource, Texts};

use interner::{Hashes, Interner};
use phrases::PhraseRule;
#[doc(hidden)]
pub use settings::WordSettings;

/// Counts the terms of texts: one row per text, one column per term, as scikit-learn's `CountVectorizer` does, with its names
/// of settings and its defaults.
///
/// A term is a word of two or more letters, digits or underscores, in lower case; [`stop_words`](Self::stop_words),
/// [`strip_accents`](Self::strip_accents), [`stem`](Self::stem), [`ngram_range`](Self::ngram_range),
/// [`phrases`](Self::phrases) and [`token_pattern`](Self::token_pattern) change that. [`language`](Self::language) finds the
/// words of languages that this rule damages, such as Chinese and Hindi, and [`tokenizer`](Self::tokenizer) takes a function.
/// [`min_df`](Self::min_df), [`max_df`](Self::max_df) and [`max_terms`](Self::max_terms) choose among the terms, which are in
/// alphabetical order. Settings are checked when texts are counted.
///
/// The texts are read twice: once for the terms, once for the counts. With [`out`](Self::out) the counts go straight into a
/// file, so that texts larger than memory are counted. Memory holds the vocabulary, within a [`budget`](Self::budget). A
/// vocabulary that exceeds it loses the terms in the fewest documents so far, and the result says how many were dropped.
///
/// ```
/// use topicbook::Vectorizer;
/// let vectorizer = Vectorizer::new().stop_words("english").min_df(2);
/// let letters = vectorizer.fit_transform(["Dear Cassandra, dear sister", "My dear Cassandra", "Sir"])?;
/// assert_eq!(letters.terms().as_slice(), ["cassandra", "dear"]);
/// assert_eq!(letters.counts().shape(), (3, 2));
/// let new = letters.vectorizer().transform(["Dear, dear, dear"])?; // counts of the same terms
/// assert_eq!(new.counts().summary()?.total(), 3.0);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is counted before `fit_transform` or `transform` is called"]
#[doc(alias = "CountVectorizer")]
#[doc(alias = "tokenizer")]
#[doc(alias = "bag_of_words")]
pub struct Vectorizer {
    words: WordSettings,
    min_df: Bounded,
    max_df: Bounded,
    max_terms: Option<usize>,
    /// The phrases that are looked for; `None` once they are found.
    phrases: Option<PhraseRule>,
    /// The terms that are counted; `None`: those that the texts have.
    vocabulary: Option<Arc<Interner>>,
    budget: Budget,
    out: Option<PathBuf>,
    /// The first setting that was refused.
    refused: Option<Error>,
}

impl Vectorizer {
    /// The settings of scikit-learn's `CountVectorizer`: lower case, single words of two or more characters, all of them.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().fit_transform(["To be or not to be", "I am"])?;
    /// assert_eq!(counted.terms().as_slice(), ["am", "be", "not", "or", "to"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn new() -> Self {
        Self {
            words: WordSettings::default(),
            min_df: Bounded::Documents(1),
            max_df: Bounded::Share(1.0),
            max_terms: None,
            phrases: None,
            vocabulary: None,
            budget: Budget::new(),
            out: None,
            refused: None,
        }
    }

    /// The settings that a saved vocabulary needs.
    #[doc(hidden)]
    pub fn words(&self) -> WordSettings {
        self.words.clone()
    }

    /// A vectorizer that counts these terms.
    ///
    /// # Errors
    /// When the settings are out of their range, or a term is there twice.
    #[doc(hidden)]
    pub fn with_words(words: WordSettings, terms: &Terms) -> Result<Self> {
        tokenizer::Tokenizer::new(&words)?;
        let mut vectorizer = Self::new().vocabulary(terms);
        vectorizer.words = words;
        match vectorizer.refused.take() {
            Some(error) => Err(error),
            None => Ok(vectorizer),
        }
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        changed
    }

    fn try_with(&self, change: impl FnOnce(&mut Self) -> Result<()>) -> Self {
        self.with(|changed| {
            if let Err(error) = change(changed) {
                changed.refused.get_or_insert(error);
            }
        })
    }

    /// Keeps the terms of at least this many documents: a number (`5`) or a share of the documents (`0.01`). 1 by default.
    ///
    /// A share is compared as a quotient: 7 of 100 documents are 0.07 of them. (scikit-learn compares with a product,
    /// `0.07 * 100 = 7.000000000000001`, and drops such a term.)
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().min_df(2).fit_transform(["to be", "to do"])?;
    /// assert_eq!(counted.terms().as_slice(), ["to"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "min_document_frequency")]
    pub fn min_df(&self, documents: impl DocumentFrequency) -> Self {
        let bound = documents.bound();
        self.try_with(|changed| {
            changed.min_df = bound?;
            Ok(())
        })
    }

    /// Keeps the terms of at most this many documents: a number (`1_000`) or a share of them (`0.5`). All by default.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().max_df(0.5).fit_transform(["to be", "to do"])?;
    /// assert_eq!(counted.terms().as_slice(), ["be", "do"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "max_document_frequency")]
    pub fn max_df(&self, documents: impl DocumentFrequency) -> Self {
        let bound = documents.bound();
        self.try_with(|changed| {
            changed.max_df = bound?;
            Ok(())
        })
    }

    /// Keeps at most `n` terms (at least 1): those that occur most often in all documents, of equal ones the alphabetically
    /// first. All by default.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().max_terms(2).fit_transform(["to be or not to be"])?;
    /// assert_eq!(counted.terms().as_slice(), ["be", "to"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "max_features")]
    pub fn max_terms(&self, n: usize) -> Self {
        self.try_with(|changed| {
            changed.max_terms = Some(n);
            match n {
                0 => Err(Error::setting("at most 0 terms").fix("keep at least one")),
                _ => Ok(()),
            }
        })
    }

    /// Counts these terms, in this order, whatever the texts have. By default the texts decide.
    ///
    /// ```
    /// use topicbook::{Terms, Vectorizer};
    /// let vectorizer = Vectorizer::new().vocabulary(Terms::new(["spike", "neuron"])?);
    /// let counted = vectorizer.transform(["A neuron is a neuron"])?;
    /// assert_eq!((counted.counts().terms(), counted.counts().summary()?.total()), (2, 2.0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn vocabulary(&self, terms: impl OrRef<Terms>) -> Self {
        let terms = terms.value();
        self.try_with(|changed| {
            if let Some(twice) = terms.duplicates().first() {
                return Err(Error::setting(format!("the term {twice:?} is there twice"))
                    .fix("pass each term once"));
            }
            let hashes = Hashes::default();
            let mut vocabulary = Interner::new(hashes.clone());
            for term in terms.iter() {
                vocabulary.number(hashes.of(term), term);
            }
            changed.vocabulary = Some(Arc::new(vocabulary));
            Ok(())
        })
    }

    /// The memory that counting may take. By default what is free, less a margin (see [`Budget`]).
    ///
    /// ```
    /// use topicbook::{Budget, Vectorizer};
    /// let vectorizer = Vectorizer::new().budget(Budget::new().ram("4 GiB")?);
    /// assert_eq!(vectorizer.fit_transform(["to be"])?.terms().len(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "max_memory")]
    pub fn budget(&self, budget: impl OrRef<Budget>) -> Self {
        self.with(|changed| changed.budget = budget.value().clone())
    }

    /// Writes the counts to this file, a `.npz` or a packed `.tbc`, and next to it the terms (`letters_terms.txt` for
    /// `letters.npz`) and any names and labels of documents (`letters_documents.csv`). By default all of these stay in memory.
    ///
    /// ```
    /// use topicbook::{Counts, Documents, Terms, Vectorizer};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// Vectorizer::new().out("letters.npz").fit_transform(["Dear Cassandra", "Dear Moore"])?;
    /// let (counts, terms) = (Counts::open("letters.npz")?, Terms::open("letters_terms.txt")?);
    /// assert_eq!((counts.documents(), terms.len()), (2, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "save_npz")]
    pub fn out(&self, path: impl Into<PathBuf>) -> Self {
        self.with(|changed| changed.out = Some(path.into()))
    }

    /// Counts the terms of texts: of a folder, a file, a column of a table, or a list (see [`TextSource`]). The texts and the
    /// settings decide which terms are counted, or the [`vocabulary`](Self::vocabulary), if there is one.
    ///
    /// ```
    /// use topicbook::Vectorizer;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// std::fs::write("letters.txt", "Dear Cassandra\nDear Moore\n").unwrap(); // a document per line
    /// let letters = Vectorizer::new().fit_transform("letters.txt")?;
    /// assert_eq!(letters.counts().shape(), (2, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a setting is out of its range, no document or no term is left, or the budget is too small. When a file cannot be
    /// read, is not UTF-8 (the message has the byte), or is malformed (the line). When the file of the counts cannot be
    /// written; nothing is half-written then.
    ///
    /// # Cost
    /// Two passes over the texts, on all cores: some 100 MB per second and core. Prints progress if it takes longer than two
    /// seconds, unless `show_progress` is off.
    #[doc(alias = "fit")]
    pub fn fit_transform(&self, texts: impl TextSource) -> Result<TextCounts> {
        run::fit_transform(self, &texts.into_texts()?)
    }

    /// Counts the terms of the [`vocabulary`](Self::vocabulary), and no others, in new texts.
    ///
    /// ```
    /// use topicbook::Vectorizer;
    /// let old = Vectorizer::new().fit_transform(["to be", "or not to be"])?;
    /// let new = old.vectorizer().transform(["to do or not to do"])?;
    /// assert_eq!(new.terms(), old.terms());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no vocabulary yet, or as [`fit_transform`](Self::fit_transform).
    ///
    /// # Cost
    /// As [`fit_transform`](Self::fit_transform).
    pub fn transform(&self, texts: impl TextSource) -> Result<TextCounts> {
        self.known_vocabulary()?;
        run::fit_transform(self, &texts.into_texts()?)
    }

    /// # Errors
    /// When there is none.
    fn known_vocabulary(&self) -> Result<&Arc<Interner>> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        self.vocabulary.as_ref().ok_or_else(|| {
            Error::setting("the vectorizer has no vocabulary yet")
                .fix("call fit_transform(texts)?.vectorizer(), set vocabulary(terms), or open a saved one")
        })
    }
}

impl Default for Vectorizer {
    fn default() -> Self {
        Self::new()
    }
}
