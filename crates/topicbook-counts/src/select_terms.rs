//! Counts over some of their terms: by column, by name, or by the number of documents that contain them.

use std::collections::HashSet;

use crate::data::{Indices, OrRef, Terms};
use crate::error::{Error, Result};
use crate::text::{count, counted, percent};

use super::Counts;
use super::copy::{Columns, Copy, check_copy};
use super::pass::for_each_stored_block;

/// How many documents contain a term: a number of them as a whole number, or a share of all documents as a number with a
/// decimal point. As in scikit-learn, `1` is one document and `1.0` all of them. No other crate can implement it.
///
/// ```
/// use topicbook::{Counts, Terms};
/// let counts = Counts::dense(3, 3, vec![1u8, 1, 0, 1, 0, 0, 1, 1, 2])?;
/// let terms = Terms::new(["the", "spike", "neuron"])?;
/// let (_, kept) = counts.filter_terms(&terms, 2, 0.9)?; // in at least two documents, and in at most 90% of them
/// assert_eq!(kept.as_slice(), ["spike"]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a number nor a share of documents",
    label = "write a whole number such as `5`, or a share such as `0.5`"
)]
pub trait DocumentFrequency: sealed::Bound {}

pub mod sealed {
    pub trait Bound {
        fn bound(&self) -> crate::error::Result<Bounded>;
    }

    /// What a [`DocumentFrequency`](super::DocumentFrequency) stands for.
    #[derive(Debug, Clone, Copy)]
    pub enum Bounded {
        Documents(u64),
        Share(f64),
    }
}

use sealed::Bounded;

macro_rules! whole_number {
    ($($T:ty),*) => {$(
        impl DocumentFrequency for $T {}

        impl sealed::Bound for $T {
            fn bound(&self) -> Result<Bounded> {
                let documents = u64::try_from(*self);
                documents.map(Bounded::Documents).map_err(|_| out_of_range(f64::from(*self as i32)))
            }
        }
    )*};
}

whole_number!(i32, u32, u64, usize);

impl DocumentFrequency for f64 {}

impl sealed::Bound for f64 {
    fn bound(&self) -> Result<Bounded> {
        match (0.0..=1.0).contains(self) {
            true => Ok(Bounded::Share(*self)),
            false => Err(out_of_range(*self)),
        }
    }
}

fn out_of_range(given: f64) -> Error {
    Error::setting(format!("terms in {given:?} documents"))
        .fix("pass a number of documents such as 5, or a share of them from 0.0 to 1.0")
}

impl Bounded {
    /// How the number of documents with a term compares with the bound. A share is compared as a quotient, so that 3 of 30
    /// documents are exactly 0.1.
    pub fn compare(self, with_term: u64, documents: usize) -> std::cmp::Ordering {
        match self {
            Bounded::Documents(bound) => with_term.cmp(&bound),
            Bounded::Share(share) => (with_term as f64 / documents as f64).total_cmp(&share),
        }
    }
}

impl std::fmt::Display for Bounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bounded::Documents(documents) => f.write_str(&counted(*documents as usize, "document")),
            Bounded::Share(share) => write!(f, "{} of the documents", percent(*share)),
        }
    }
}

/// The numbers below `all` that are not in `left_out`, which rises.
#[doc(hidden)]
pub fn without(all: usize, left_out: &[usize]) -> Vec<usize> {
    (0..all)
        .filter(|number| left_out.binary_search(number).is_err())
        .collect()
}

impl Counts {
    /// Copies the documents that have counts into memory, in their order. [`Summary::empty_documents`](crate::Summary::empty_documents)
    /// numbers those that are left out.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(3, 2, vec![1u8, 0, 0, 0, 4, 0])?;
    /// assert_eq!(counts.drop_empty()?.documents(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`select`](Self::select); when no document has counts.
    ///
    /// # Cost
    /// That of [`summary`](Self::summary) and of [`select`](Self::select); nothing is copied where no document is empty.
    pub fn drop_empty(&self) -> Result<Self> {
        let summary = self.summary()?;
        let empty = summary.empty_documents();
        match empty.is_empty() {
            true => Ok(self.clone()),
            false => self.select(without(self.documents(), empty)),
        }
    }

    /// Copies terms into memory, in the order given: the counts of these columns, each at most once.
    ///
    /// ```
    /// use topicbook::{Counts, Dtype, Location};
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// let two = counts.select_terms([2, 0])?;
    /// let mut rows = [0.0; 4];
    /// two.fill_rows(&[0, 1], &mut rows)?;
    /// assert_eq!(rows, [2.0, 1.0, 0.0, 0.0]);
    /// assert_eq!((two.dtype(), two.location()), (Dtype::U8, Location::Memory));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `columns` is empty, or a column does not exist or comes twice. If the copy does not fit into the free memory
    /// (checked before it is allocated). If the counts' file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// One pass over the counts; a file is read in blocks of bounded size. The copy keeps layout and dtype: sparse counts
    /// stay sparse.
    #[doc(alias = "select_columns")]
    pub fn select_terms(&self, columns: impl Indices) -> Result<Self> {
        let columns = Columns::picked(self, columns.to_indices())?;
        self.copy_columns(&columns, || self.nonzeros_of(&columns))
    }

    /// Counts and terms without these words, such as stop words. Words that are not among the terms are ignored. Case
    /// matters.
    ///
    /// ```
    /// use topicbook::{Counts, Terms};
    /// let counts = Counts::dense(2, 3, vec![9u8, 0, 2, 7, 4, 0])?;
    /// let terms = Terms::new(["the", "spike", "neuron"])?;
    /// let (counts, terms) = counts.drop_terms(&terms, ["the", "a", "of"])?;
    /// assert_eq!((counts.shape(), terms.as_slice()), ((2, 2), ["spike".to_string(), "neuron".into()].as_slice()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one term for each column, no term is left, or as [`select_terms`](Self::select_terms).
    ///
    /// # Cost
    /// As [`select_terms`](Self::select_terms).
    #[doc(alias("stop_words", "remove_stopwords"))]
    pub fn drop_terms<I>(&self, terms: impl OrRef<Terms>, words: I) -> Result<(Self, Terms)>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let words = set_of(words);
        self.keep_where(terms.value(), |_, term| !words.contains(term))
    }

    /// Counts and terms with these words alone, in the order of the columns. Case matters.
    ///
    /// ```
    /// use topicbook::{Counts, Terms};
    /// let counts = Counts::dense(2, 3, vec![9u8, 0, 2, 7, 4, 0])?;
    /// let terms = Terms::new(["the", "spike", "neuron"])?;
    /// let (counts, terms) = counts.keep_terms(&terms, ["neuron", "spike"])?;
    /// assert_eq!((counts.shape(), &terms[0]), ((2, 2), "spike"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a word is not among the terms (the message names the nearest ones), there is not one term for each column, or as
    /// [`select_terms`](Self::select_terms).
    ///
    /// # Cost
    /// As [`select_terms`](Self::select_terms).
    pub fn keep_terms<I>(&self, terms: impl OrRef<Terms>, words: I) -> Result<(Self, Terms)>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let (terms, words) = (terms.value(), set_of(words));
        let known: HashSet<&str> = terms.iter().collect();
        if let Some(unknown) = words.iter().find(|word| !known.contains(word.as_str())) {
            terms.find(unknown)?;
        }
        self.keep_where(terms, |_, term| words.contains(term))
    }

    /// Counts and terms without rare and without frequent terms: those are kept that at least `min_df` and at most `max_df`
    /// documents contain. Each is a number of documents (`5`) or a share of them (`0.5`), as in scikit-learn's
    /// `CountVectorizer`.
    ///
    /// ```
    /// use topicbook::{Counts, Terms};
    /// let counts = Counts::dense(3, 3, vec![1u8, 1, 0, 1, 0, 0, 1, 1, 2])?;
    /// let terms = Terms::new(["the", "spike", "neuron"])?;
    /// let (counts, terms) = counts.filter_terms(&terms, 2, 1.0)?;
    /// assert_eq!((counts.shape(), terms.as_slice()), ((3, 2), ["the".to_string(), "spike".into()].as_slice()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a share is not from 0 to 1, a number is negative, there is not one term for each column, no term is left, or as
    /// [`select_terms`](Self::select_terms).
    ///
    /// # Cost
    /// Two passes over the counts, the first to count documents; otherwise as [`select_terms`](Self::select_terms).
    #[doc(alias("min_df", "max_df", "filter_extremes"))]
    pub fn filter_terms(
        &self,
        terms: impl OrRef<Terms>,
        min_df: impl DocumentFrequency,
        max_df: impl DocumentFrequency,
    ) -> Result<(Self, Terms)> {
        let (min, max) = (min_df.bound()?, max_df.bound()?);
        self.check_terms(terms.value())?;
        let frequencies = self.document_frequencies()?;
        self.keep_where(terms.value(), |column, _| {
            let with_term = frequencies[column];
            min.compare(with_term, self.documents()).is_ge()
                && max.compare(with_term, self.documents()).is_le()
        })
    }

    fn keep_where(
        &self,
        terms: &Terms,
        keep: impl Fn(usize, &str) -> bool,
    ) -> Result<(Self, Terms)> {
        self.check_terms(terms)?;
        let order: Vec<usize> = (0..self.terms())
            .filter(|&column| keep(column, &terms[column]))
            .collect();
        let counts = self.select_terms(&order)?;
        Ok((counts, terms.select(&order)?))
    }

    /// # Errors
    /// When there is not one term for each column.
    #[doc(hidden)]
    pub fn check_terms(&self, terms: &Terms) -> Result<()> {
        match terms.len() == self.terms() {
            true => Ok(()),
            false => Err(Error::shape(format!(
                "{} for counts of {} terms",
                terms,
                count(self.terms() as u64)
            ))
            .fix("pass the terms that belong to these counts, one for each column")),
        }
    }

    fn copy_columns(
        &self,
        columns: &Columns,
        nonzeros: impl FnOnce() -> Result<u64>,
    ) -> Result<Self> {
        check_copy(self, columns, "a copy of these terms", nonzeros)?;
        let mut copy = Copy::of(self);
        for_each_stored_block(self, false, &mut |block| {
            for row in block.rows {
                copy.append(&block.view, row, columns);
            }
            Ok(())
        })?;
        copy.finish(columns)
    }

    fn nonzeros_of(&self, columns: &Columns) -> Result<u64> {
        let frequencies = self.document_frequencies()?;
        Ok(match columns {
            Columns::All => frequencies.iter().sum(),
            Columns::Picked { order, .. } => order.iter().map(|&column| frequencies[column]).sum(),
        })
    }
}

fn set_of<I>(words: I) -> HashSet<String>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    words
        .into_iter()
        .map(|word| word.as_ref().to_owned())
        .collect()
}
