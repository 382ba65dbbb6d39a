//! What the rows and columns of a fit stand for: its documents, and how texts become its terms.

use std::borrow::Cow;

use crate::data::{Documents, OrRef, Terms, With};
use crate::error::{Error, Result};
use crate::text::counted;
use crate::vectorizer::{DocumentTexts, TextCounts, Vectorizer, WordSettings};

use super::Fit;
use super::names::{check_columns, default_name};

impl Fit {
    /// Returns the fit with the names and labels of its documents, one for each row of L and in their order. Tables of documents
    /// then have a column `name` and one for each label; [`by`](Self::by) and [`Chart::by`](crate::Chart::by) take the name of a
    /// label; [`explore`](Self::explore) shows names. [`save`](Self::save) keeps them.
    ///
    /// ```
    /// use topicbook::{Counts, Documents, TopicModel};
    /// let counts = Counts::dense(3, 3, vec![3u8, 1, 0, 0, 1, 4, 2, 2, 0])?;
    /// let documents = Documents::new(["a.txt", "b.txt", "c.txt"])?.with_labels("book", ["Letters", "Poems", "Letters"])?;
    /// let fit = TopicModel::new(2).epochs(3).quiet().fit(&counts)?.with_documents(&documents)?;
    /// assert_eq!(fit.documents_of_topic(0, 3)?.column_names(), ["rank", "document", "name", "book", "proportion"]);
    /// assert_eq!(fit.by("book")?.labels(), ["Letters", "Poems"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one for each row of L; when a column has the name of another column of the tables.
    #[doc(alias("metadata", "obs"))]
    pub fn with_documents(&self, documents: impl OrRef<Documents>) -> Result<Fit> {
        let documents = documents.value();
        documents.check_rows(self.documents(), "the fit")?;
        let mut described = self.clone();
        described.documents = Some(documents.clone());
        described.check_names()?;
        Ok(described)
    }

    /// The names and labels of the documents, in the order of L's rows; `None` unless the fit was
    /// [given them](Self::with_documents).
    ///
    /// ```
    /// # use topicbook::Documents;
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.document_names().is_none());
    /// let named = fit.with_documents(Documents::numbered(60)?)?;
    /// assert_eq!(named.document_names().map(|documents| documents.len()), Some(60));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn document_names(&self) -> Option<Documents> {
        self.documents.clone()
    }

    /// Returns the fit with the names of its terms, one for each column of F and in their order: for a fit whose
    /// [model](crate::TopicModel::terms) was not given them.
    ///
    /// ```
    /// use topicbook::Terms;
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let named = fit.with_terms(Terms::new((0..30).map(|term| format!("term {term}")))?)?;
    /// assert_eq!(named.term_names().map(|terms| terms.len()), Some(30));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one for each column of F.
    #[doc(alias = "vocabulary")]
    pub fn with_terms(&self, terms: impl OrRef<Terms>) -> Result<Fit> {
        let terms = terms.value();
        if terms.len() != self.terms() {
            return Err(Error::shape(format!(
                "there are names for {}, and the fit has {}",
                counted(terms.len(), "term"),
                counted(self.terms(), "term")
            ))
            .fix("pass the terms, or the texts, whose counts were fitted"));
        }
        Ok(self.with(|changed| changed.terms = Some(terms.clone())))
    }

    /// Returns the fit with what is known of the texts that it was fitted to: the names of the terms, the names and labels of
    /// the documents, and the [`Vectorizer`]. A saved fit can then be asked about new texts.
    ///
    /// ```
    /// use topicbook::{Fit, TopicModel, Vectorizer};
    /// # let _folder = topicbook::example_folder()?;
    /// let texts = ["spikes of neurons", "neurons spike", "kernels of machines", "machines learn kernels"];
    /// let counted = Vectorizer::new().stop_words("english").fit_transform(texts)?;
    /// // A fit to `&counted` knows all of it; one to the counts alone has to be told.
    /// let fit = TopicModel::new(2).epochs(5).quiet().fit(counted.counts())?.with_texts(&counted)?;
    /// fit.save("fit.safetensors")?;
    ///
    /// let fit = Fit::load("fit.safetensors")?; // in another notebook
    /// let topics = fit.transform(["a neuron and its spikes", "a kernel machine"])?;
    /// assert_eq!(topics.height(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`with_documents`](Self::with_documents), and when there is not one term for each column of F.
    pub fn with_texts(&self, texts: impl OrRef<TextCounts>) -> Result<Fit> {
        let texts = texts.value();
        let described = self.with_terms(texts.terms())?;
        let mut described = described.with_documents(texts.documents())?;
        described.words = Some(texts.vectorizer().words());
        described.texts = Some(texts.texts().clone());
        Ok(described)
    }

    /// The vectorizer that counts the terms of this fit in new texts, for [`transform`](Self::transform) and
    /// [`evaluate`](Self::evaluate); [`with_texts`](Self::with_texts) has an example.
    ///
    /// # Errors
    /// Unless the fit has been given its [texts](Self::with_texts).
    #[doc(alias = "tokenizer")]
    pub fn vectorizer(&self) -> Result<Vectorizer> {
        match (&self.words, &self.terms) {
            (Some(words), Some(terms)) => Vectorizer::with_words(words.clone(), terms),
            _ => Err(Error::value("the fit has no vectorizer that counts its terms in texts")
                .fix(
                "give it the texts before it is saved: fit.with_texts(&counted)?, where `counted` is what \
                 Vectorizer::fit_transform returned; a function of tokenizer(..) is in no file",
            )),
        }
    }

    /// The name of a document, where documents have names.
    pub(super) fn document_name(&self, document: usize) -> Option<String> {
        let named = self
            .documents
            .as_ref()
            .filter(|documents| documents.has_names());
        named.and_then(|documents| documents.name(document))
    }

    /// The columns that tables of documents have for the names and labels.
    pub(super) fn document_column_names(&self) -> Vec<Cow<'static, str>> {
        self.documents
            .as_ref()
            .map(column_names)
            .unwrap_or_default()
    }

    /// The fit with what its counts came with. Terms that the model was given stay.
    pub(crate) fn named(mut self, names: &CountNames) -> Self {
        self.terms = self.terms.or_else(|| names.terms.clone());
        self.documents = names.documents.clone();
        self.words = names.words.clone();
        self.texts = names.texts.clone();
        self
    }
}

/// The column of names in tables of documents.
const NAME: &str = "name";

/// The columns that tables of documents have for these names and labels.
pub(super) fn column_names(documents: &Documents) -> Vec<Cow<'static, str>> {
    let labels = documents.column_names().into_iter().map(Cow::from);
    let name = documents.has_names().then_some(Cow::from(NAME));
    name.into_iter().chain(labels).collect()
}

/// What counts came with: the names of their columns and rows, and how texts become their terms.
#[derive(Debug, Clone, Default)]
pub struct CountNames {
    pub(crate) terms: Option<Terms>,
    documents: Option<Documents>,
    words: Option<WordSettings>,
    texts: Option<DocumentTexts>,
}

impl CountNames {
    pub(crate) fn of_table(terms: Terms, documents: Documents) -> Self {
        Self {
            terms: Some(terms),
            documents: Some(documents),
            words: None,
            texts: None,
        }
    }

    pub(crate) fn of_texts(texts: &TextCounts) -> Self {
        Self {
            words: Some(texts.vectorizer().words()),
            texts: Some(texts.texts().clone()),
            ..Self::of_table(texts.terms(), texts.documents())
        }
    }

    /// Fails if the tables of a fit of `topics` could not show them.
    pub(crate) fn check(&self, topics: usize) -> Result<()> {
        // Of the topics, only those that a column could be called as: there may be more than fit into memory.
        let columns = self.documents.as_ref().map(column_names);
        let columns = columns.unwrap_or_default();
        let numbers = columns
            .iter()
            .filter_map(|name| name.strip_prefix("topic ")?.parse().ok());
        let names = numbers.filter(|&topic| topic < topics).map(default_name);
        check_columns(names.collect(), self.documents.as_ref()).map_err(|error| {
            error.fix("call the column something else, or fit the counts alone: fit(docs.counts())")
        })
    }
}

#[cfg(feature = "polars")]
impl Fit {
    /// Columns for rows of L: `document`, their numbers, and names and labels where they are known.
    pub(super) fn document_columns(&self, rows: &[usize]) -> Vec<polars::prelude::Column> {
        use polars::prelude::Column;
        let numbers: Vec<u64> = rows.iter().map(|&row| row as u64).collect();
        let mut columns = vec![Column::new("document".into(), numbers)];
        // The rows exist, so that nothing is refused.
        let documents = self.documents.as_ref();
        // Those without names get their numbers as names when they are selected.
        let named = documents.is_some_and(Documents::has_names);
        if let Some(documents) = documents.and_then(|all| all.select(rows).ok()) {
            let table = documents.table();
            let (names, labels) = table.columns().split_at(1);
            let names = names.iter().filter(|_| named);
            columns.extend(names.map(|names| names.clone().with_name(NAME.into())));
            columns.extend(labels.iter().cloned());
        }
        columns
    }
}

#[cfg(all(test, feature = "polars"))]
mod tests {
    use crate::{Documents, ErrorKind, Fit, Synthetic, TopicModel, Vectorizer};

    fn fit(documents: usize) -> Fit {
        let corpus = Synthetic::new(documents, 12, 3).seed(1).generate().unwrap();
        let model = TopicModel::new(3).epochs(2).quiet();
        model.fit(corpus.counts()).unwrap()
    }

    fn letters() -> Documents {
        Documents::new(["a", "b", "c", "d"])
            .unwrap()
            .with_labels("book", ["x", "y", "x", "y"])
            .unwrap()
            .with_numbers("year", [1811.0, 1813.0, 1811.0, f64::NAN])
            .unwrap()
            .with_dates("sent", ["1813-01-28", "1811-10-30", "1813-01-28", ""])
            .unwrap()
    }

    #[test]
    fn documents_are_kept_in_files_and_shown_in_tables() {
        let described = fit(4).with_documents(letters()).unwrap();
        let (_folder, path) = testkit::temp_path("fit.safetensors");
        described.save(&path).unwrap();
        let loaded = Fit::load(&path).unwrap();
        for fit in [&described, &loaded] {
            assert_eq!(
                fit.top_documents(2).column_names(),
                [
                    "topic",
                    "rank",
                    "document",
                    "name",
                    "book",
                    "year",
                    "sent",
                    "proportion"
                ]
            );
            let table = fit.doc_topics();
            assert_eq!(table.texts("name").unwrap(), ["a", "b", "c", "d"]);
            assert_eq!(fit.similar_documents(0, 2).unwrap().width(), 6);
            // Texts in the order in which they occur, numbers and dates in rising order.
            assert_eq!(fit.by("book").unwrap().labels(), ["x", "y"]);
            assert_eq!(fit.by("year").unwrap().labels(), ["1811", "1813"]);
            let sent = fit.by("sent").unwrap().labels();
            assert_eq!(sent, ["1811-10-30", "1813-01-28"]);
            let later = fit.by(polars::prelude::col("year").gt(1812)).unwrap();
            assert_eq!(later.labels(), ["false", "true"]);
            let svg = fit.plot_structure().by("book").to_svg().unwrap();
            assert!(svg.contains(">x<"), "{svg}");
            let map = fit.plot_document_map().by("book").to_svg().unwrap();
            assert!(map.contains(">y<"), "{map}");
        }
        let page = loaded.explore().to_html().unwrap();
        assert!(page.contains("\"a\""));
    }

    #[test]
    fn what_does_not_belong_to_the_fit_is_refused() {
        let fit = fit(4);
        let reserved = letters().with_labels("rank", ["1", "2", "3", "4"]).unwrap();
        let topic = letters().with_labels("topic 1", ["1"; 4]).unwrap();
        let counted = Vectorizer::new().fit_transform(["a letter", "two letters"]);
        let book = letters().select([0]).unwrap();
        let with_letters = fit.with_documents(letters()).unwrap();
        testkit::refused! {
            fit.with_documents(book) => Shape, "1 document for the fit of 4 rows";
            fit.with_documents(reserved) => Value, "`rank` is a column";
            fit.with_documents(topic) => Value, "`topic 1` is a column";
            fit.with_texts(counted.unwrap()) => Shape, "names for 3 terms";
            with_letters.name_topics([(0, "book")]) => Value, "`book` is a column";
        }
        let error = fit.by("book").unwrap_err();
        assert!(
            error.remedy().unwrap().contains("with_documents"),
            "{error}"
        );
        let error = fit.plot_structure().by("book").to_svg().unwrap_err();
        assert!(error.to_string().contains("book"), "{error}");
        assert!(fit.vectorizer().is_err());
    }
}
