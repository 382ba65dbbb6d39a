//! Topics of new documents, with F fixed.

use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::Result;
use crate::solvers::{fold_in, fold_in_bytes};
use crate::system::memory::check_free;

use super::Fit;

impl Fit {
    /// Computes the topics of new documents with F fixed: for counts over the same terms L, a [`Matrix`] (documents x topics,
    /// rows summing to one); for texts, where the fit knows their [`vectorizer`](Self::vectorizer), the table that
    /// [`doc_topics`](Self::doc_topics) gives of the fit's own documents. [`NewDocuments`] says what it takes.
    ///
    /// Each document's proportions maximise its likelihood, a concave problem, with the coordinate descent of
    /// [`Solver::CoordinateDescent`](crate::Solver::CoordinateDescent). A document has converged when a step of
    /// expectation-maximisation (Hofmann 1999, folding in) would move at most one millionth of its tokens. A document
    /// without counts gets equal proportions.
    ///
    /// ```
    /// use topicbook::{Counts, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// let new = Counts::dense(2, 30, [vec![1u8; 30], vec![0; 30]].concat())?;
    /// let l = fit.transform(&new)?;
    /// assert_eq!(l.shape(), (2, 3));
    /// assert_eq!(l.row(1), [1.0 / 3.0; 3]); // a document without counts
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the counts have another number of terms, cannot be read or hold something that is not a count, or when
    /// memory is too small for what the conversion allocates. The memory is checked before anything is allocated.
    ///
    /// # Cost
    /// O(nonzeros x k) operations per round, on all cores; memory for L twice, F once, and the counts if they are read
    /// into memory.
    #[doc(alias("predict", "fold_in", "infer_vector"))]
    pub fn transform<D: NewDocuments>(&self, documents: D) -> Result<D::Topics> {
        documents.topics_by(self)
    }

    fn transform_counts(&self, counts: &Counts) -> Result<Matrix> {
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, "transform"));
        }
        let needed =
            fold_in_bytes(counts.shape(), self.f.rows()).saturating_add(counts.in_memory().to_read);
        check_free(needed, "the topics of these documents")?;
        counts.summary()?;
        fold_in(counts, &self.f)
    }
}

/// What [`Fit::transform`] takes: [`Counts`], whose topics are a [`Matrix`]; or texts and their counts
/// ([`TextCounts`](crate::TextCounts)), whose topics are a [`Table`](crate::Table) with the names of topics and documents.
///
/// ```
/// use topicbook::{TopicModel, Vectorizer};
/// let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
/// let fit = TopicModel::new(2).epochs(5).quiet().fit(&docs)?.name_topics(["brains", "machines"])?;
/// let topics = fit.transform(["a kernel"])?;
/// assert_eq!(topics.column_names(), ["document", "dominant", "proportion", "brains", "machines"]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither counts nor a list of texts",
    label = "`Counts`, or texts as `[\"to be\", \"or not to be\"]`, are expected: if it is a `Result`, write `?` after the call that made it",
    note = "for texts in files write `Texts::open(path)?`"
)]
pub trait NewDocuments {
    /// What their topics are.
    type Topics;

    #[doc(hidden)]
    fn topics_by(self, fit: &Fit) -> Result<Self::Topics>;
}

impl NewDocuments for Counts {
    type Topics = Matrix;

    fn topics_by(self, fit: &Fit) -> Result<Matrix> {
        fit.transform_counts(&self)
    }
}

impl NewDocuments for &Counts {
    type Topics = Matrix;

    fn topics_by(self, fit: &Fit) -> Result<Matrix> {
        fit.transform_counts(self)
    }
}

#[cfg(feature = "polars")]
mod texts {
    use crate::data::Table;
    use crate::error::{Error, Result};
    use crate::vectorizer::{TextCounts, TextItem, Texts};

    use super::{Fit, NewDocuments};

    impl Fit {
        /// Their topics, as the table of a fit to them.
        fn transform_texts(&self, texts: &TextCounts) -> Result<Table> {
            if self
                .terms
                .as_ref()
                .is_some_and(|terms| *terms != texts.terms())
            {
                return Err(Error::value("the texts were counted by other terms than the fit's")
                    .fix("pass the texts themselves, as in `fit.transform(texts)`, or count them by fit.vectorizer()?"));
            }
            let mut new = self.clone();
            new.l = self.transform_counts(&texts.counts())?;
            let summary = texts.counts().summary()?;
            new = new.with_empty(summary.empty_documents());
            Ok(new.with_documents(texts.documents())?.doc_topics())
        }
    }

    impl NewDocuments for &TextCounts {
        type Topics = Table;

        fn topics_by(self, fit: &Fit) -> Result<Table> {
            fit.transform_texts(self)
        }
    }

    macro_rules! texts {
        ($([$($of:tt)*] $T:ty $(where $item:ty)?),* $(,)?) => {$(
            impl<$($of)*> NewDocuments for $T
            $(where
                $item: TextItem)?
            {
                type Topics = Table;

                fn topics_by(self, fit: &Fit) -> Result<Table> {
                    fit.transform_texts(&fit.vectorizer()?.transform(self)?)
                }
            }
        )*};
    }

    texts!(
        [T: TextItem, const N: usize] [T; N],
        [T: TextItem] Vec<T>,
        ['a, T] &'a [T] where &'a T,
        ['a, T] &'a Vec<T> where &'a T,
        [] Texts,
        [] &Texts,
    );
}
