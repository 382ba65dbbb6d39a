//! What a model is fitted to: counts alone, or counts with the names that they came with.

use crate::counts::{Cells, Corpus, Counts};
use crate::error::Result;
use crate::fit::CountNames;
use crate::vectorizer::TextCounts;

/// Counts for a model: [`Counts`] alone, or what knows more of them and passes it on to the fit. [`TextCounts`] know terms,
/// documents and the vectorizer, [`CountTable`](crate::CountTable) and [`Cells`] terms and documents; a
/// [`Corpus`] has counts alone. All of them by value or by reference.
///
/// ```
/// use topicbook::{TopicModel, Vectorizer};
/// let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
/// let model = TopicModel::new(2).epochs(3).quiet();
/// assert_eq!(model.fit(&docs)?.term_names(), Some(docs.terms()));
/// assert_eq!(model.fit(docs.counts())?.term_names(), None);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a model is fitted to counts, and `{Self}` has none",
    label = "no counts: if it is a `Result`, write `?` after the call that made it; texts become counts by `Vectorizer::new().fit_transform(texts)?`",
    note = "`Counts`, what `Vectorizer::fit_transform` returned, a `CountTable` or `Cells` is expected"
)]
pub trait CountSource {
    #[doc(hidden)]
    fn named_counts(&self) -> Result<(Counts, CountNames)>;
}

impl<S: CountSource + ?Sized> CountSource for &S {
    fn named_counts(&self) -> Result<(Counts, CountNames)> {
        S::named_counts(self)
    }
}

impl CountSource for Counts {
    fn named_counts(&self) -> Result<(Counts, CountNames)> {
        Ok((self.clone(), CountNames::default()))
    }
}

impl CountSource for Corpus {
    fn named_counts(&self) -> Result<(Counts, CountNames)> {
        Ok((self.counts(), CountNames::default()))
    }
}

impl CountSource for TextCounts {
    fn named_counts(&self) -> Result<(Counts, CountNames)> {
        Ok((self.counts(), CountNames::of_texts(self)))
    }
}

impl CountSource for Cells {
    fn named_counts(&self) -> Result<(Counts, CountNames)> {
        let names = CountNames::of_table(self.terms()?, self.documents()?);
        Ok((self.counts()?, names))
    }
}

#[cfg(feature = "polars")]
impl CountSource for crate::counts::CountTable {
    fn named_counts(&self) -> Result<(Counts, CountNames)> {
        let names = CountNames::of_table(self.terms()?, self.documents()?);
        Ok((self.counts()?, names))
    }
}
