//! A page that explains a fit: map of topics, relevant terms, representative documents.

mod page;
mod pyldavis;
mod terms;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::charts::save;
use crate::counts::{Counts, Summary};
use crate::data::{OrRef, With};
use crate::error::{Error, Result};
use crate::text::{count, counted, one_line, printable, shorten};

use super::Fit;

/// Documents of each topic in the page.
const DOCUMENTS_SHOWN: usize = 10;
/// Characters of a document's text in the page: 500 documents in four bytes a character then take 1.2 MB.
const TEXT_SHOWN: usize = 600;
/// Characters of a document's label in the page.
const LABEL_SHOWN: usize = 120;
/// Terms of a topic in the page, as in LDAvis.
const TERMS_SHOWN: usize = 30;

/// A page that explains a fit, made by [`Fit::explore`]: shown below a cell, or saved as one HTML file, which needs no network.
///
/// | Part of the page | shows |
/// |---|---|
/// | map | one circle per topic, with its number and [name](Fit::name_topics), at its place in [`Fit::topic_map`]; its area is the topic's share of all tokens |
/// | terms | the most relevant terms of the chosen topic, with a slider for lambda; a term that is clicked shows its topics on the map |
/// | documents | the documents with the largest proportions of the topic, with labels and texts where they were given |
///
/// The relevance of a term in a topic is log(p) - (1 - lambda) log(q), where p is its probability in the topic and q its
/// probability in all documents (Sievert and Shirley 2014). At 1 the most probable terms come first, at 0 those with the
/// largest lift p / q; the page starts at 0.6, which helped people most in their study. The page holds every term that is
/// among the first at some position of the slider, so the order is the same as with all terms.
///
/// Topics keep their numbers, from 0, and their colours. The page can be used with a keyboard and with a screen reader, and it
/// follows the light or dark theme of JupyterLab or of the browser. HTML in terms, names, labels and texts is shown as text.
///
/// ```
/// # let _folder = topicbook::example_folder()?;
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
/// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
/// let explorer = fit.explore().counts(&counts)?.title("Three topics");
/// explorer.save_html("topics.html")?;
/// assert!(explorer.to_html()?.contains("Three topics"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "an explorer is shown by a cell, or saved by `save_html`"]
#[doc(alias("pyLDAvis", "LDAvis"))]
pub struct Explorer {
    fit: Fit,
    title: Option<String>,
    terms_shown: usize,
    /// The documents with the largest proportions of each topic, and these proportions.
    top_documents: Arc<[Vec<(usize, f32)>]>,
    /// Labels and texts of those documents.
    labels: Arc<BTreeMap<usize, String>>,
    texts: Arc<BTreeMap<usize, String>>,
    counted: Option<Arc<Counted>>,
}

/// Totals of the counts.
struct Counted {
    term_totals: Vec<f64>,
    summary: Summary,
}

/// Weights of topics and terms in the page.
struct Weights {
    /// Shares of the topics, which sum to one.
    topics: Vec<f64>,
    /// How often each term occurs; `total` in all.
    terms: Vec<f64>,
    total: f64,
}

impl Fit {
    /// Returns a page that explains the fit: a map of the topics, their most relevant terms and their documents. A cell shows it,
    /// [`Explorer::save_html`] writes it as one file.
    ///
    /// Pass the counts ([`Explorer::counts`]) so that terms and topics are weighed by tokens, the texts
    /// ([`Explorer::documents`]) to read them, and labels ([`Explorer::labels`]) to recognise documents.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// let texts: Vec<String> = (0..60).map(|document| format!("The text of document {document}.")).collect();
    /// let page = fit.explore().counts(&counts)?.documents(&texts)?.to_html()?;
    /// assert!(page.starts_with("<!DOCTYPE html>"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over L for each topic.
    #[doc(alias("pyLDAvis", "prepare", "visualize_topics"))]
    pub fn explore(&self) -> Explorer {
        let top_documents: Arc<[Vec<(usize, f32)>]> = (0..self.topics())
            .map(|topic| self.largest(topic, DOCUMENTS_SHOWN))
            .collect();
        let shown = top_documents.iter().flatten();
        let names = shown.filter_map(|&(document, _)| {
            let name = self.document_name(document)?;
            Some((document, shorten(&name, LABEL_SHOWN)))
        });
        Explorer {
            labels: Arc::new(names.collect()),
            top_documents,
            fit: self.clone(),
            title: None,
            terms_shown: TERMS_SHOWN,
            texts: Arc::default(),
            counted: None,
        }
    }
}

impl Explorer {
    /// Weighs topics and terms by the counts that the model was fitted to: a topic's share is its share of the tokens, and the
    /// page shows how often a term occurs.
    ///
    /// Without counts every document weighs alike. A topic's share is the mean of its proportions, and a term's probability in
    /// all documents is the mean over the topics, weighted by their shares. The page shows frequencies per 1,000 tokens.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// let explorer = fit.explore().counts(&counts)?;
    /// assert!(fit.explore().counts(counts.select([0, 1])?).is_err()); // not what was fitted
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When these are not the counts that the model was fitted to, when they cannot be read, and when all of them are zero.
    ///
    /// # Cost
    /// As [`Counts::term_totals`].
    pub fn counts(&self, counts: impl OrRef<Counts>) -> Result<Explorer> {
        let counts = counts.value();
        if !self.fit.is_fitted_to(counts)? {
            return Err(Error::shape(format!(
                    "the counts of {} documents and {} terms are not those that the model was fitted to",
                    count(counts.documents() as u64),
                    count(counts.terms() as u64)
                ))
            .fix(format!(
                "pass the counts of the {} documents in the rows of L",
                count(self.fit.documents() as u64)
            )));
        }
        let counted = Counted {
            term_totals: counts.term_totals()?,
            summary: counts.summary()?,
        };
        if counted.summary.total() == 0.0 {
            return Err(Error::value("all counts are zero")
                .fix("leave the counts out: they have nothing to weigh by"));
        }
        Ok(self.with(|changed| changed.counted = Some(Arc::new(counted))))
    }

    /// Shows the texts of the documents: one per document, in the order of the rows of L. The page has the first 600 characters
    /// of those that it shows, ten of each topic.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let texts: Vec<String> = (0..60).map(|document| format!("The text of document {document}.")).collect();
    /// assert!(fit.explore().documents(&texts)?.to_html()?.contains("The text of document"));
    /// assert!(fit.explore().documents(["one text"]).is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one text per document.
    ///
    /// # Cost
    /// Goes through all texts once, and keeps those that the page shows.
    pub fn documents<I>(&self, texts: I) -> Result<Explorer>
    where
        I: IntoIterator,
        I::Item: ToString,
    {
        let texts = self.of_top_documents(texts, "text", TEXT_SHOWN)?;
        Ok(self.with(|changed| changed.texts = Arc::new(texts)))
    }

    /// Shows a label next to the number of each document: a title, an author, a year. There is one label per document, in the
    /// order of the rows of L: a text, a number, or anything with `to_string`. The page has the first 120 characters.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let years: Vec<u32> = (0..60).map(|document| 1960 + document).collect();
    /// let explorer = fit.explore().labels(&years)?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one label per document.
    #[doc(alias = "titles")]
    pub fn labels<I>(&self, labels: I) -> Result<Explorer>
    where
        I: IntoIterator,
        I::Item: ToString,
    {
        let labels = self.of_top_documents(labels, "label", LABEL_SHOWN)?;
        Ok(self.with(|changed| changed.labels = Arc::new(labels)))
    }

    /// Sets the title of the page; `3 topics of 60 documents` by default.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!(fit.explore().title("Letters of 1848").to_html()?.contains("Letters of 1848"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn title(&self, title: impl Into<String>) -> Explorer {
        self.with(|changed| changed.title = Some(title.into()))
    }

    /// Sets how many terms of a topic the page shows, from 1; 30 by default. `n` is capped at the number of terms.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let explorer = fit.explore().terms_shown(10)?; // larger bars, for a lecture
    /// assert!(fit.explore().terms_shown(0).is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `n` is 0.
    pub fn terms_shown(&self, n: usize) -> Result<Explorer> {
        if n == 0 {
            return Err(Error::value("a page that shows 0 terms")
                .fix("show at least one; 30 is the default"));
        }
        Ok(self.with(|changed| changed.terms_shown = n.min(self.fit.terms())))
    }

    /// The page as HTML. Its style, script and data are in it, and it loads nothing.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let page = fit.explore().to_html()?;
    /// assert!(!page.contains("https://"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When L or F contains NaN or infinite values.
    ///
    /// # Cost
    /// As [`Fit::topic_map`], and O(k x terms x log(terms)) operations.
    pub fn to_html(&self) -> Result<String> {
        self.check_finite()?;
        page::html(self)
    }

    /// Writes the page as one HTML file, which a browser opens without a network. The write is atomic: on an error, an existing
    /// file stays unchanged.
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
    /// # let (_, fit) = topicbook::example_fit()?;
    /// fit.explore().save_html("topics.html")?;
    /// assert_eq!(std::fs::read_to_string("topics.html").unwrap(), fit.explore().to_html()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_html`](Self::to_html), and when the file cannot be written.
    pub fn save_html(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), self.to_html()?.as_bytes())
    }

    /// The title of the page.
    pub(crate) fn heading(&self) -> String {
        let default = || {
            format!(
                "{} of {}",
                counted(self.fit.topics(), "topic"),
                counted(self.fit.documents(), "document")
            )
        };
        let title = self.title.clone().unwrap_or_else(default);
        one_line(&title).into_owned()
    }

    /// The labels or texts of the documents that the page shows, at most `longest` characters of each.
    fn of_top_documents<I>(
        &self,
        values: I,
        what: &str,
        longest: usize,
    ) -> Result<BTreeMap<usize, String>>
    where
        I: IntoIterator,
        I::Item: ToString,
    {
        let pairs = self.top_documents.iter().flatten();
        let mut found: BTreeMap<usize, String> =
            pairs.map(|pair| (pair.0, String::new())).collect();
        let mut given = 0;
        for (document, value) in values.into_iter().enumerate() {
            given = document + 1;
            if let Some(text) = found.get_mut(&document) {
                *text = shorten(printable(value.to_string().trim()).as_ref(), longest);
            }
        }
        match given == self.fit.documents() {
            true => Ok(found),
            false => Err(Error::shape(format!(
                "{} for {}",
                counted(given, what),
                counted(self.fit.documents(), "document")
            ))
            .fix(format!(
                "pass one {what} per document, in the order of the rows of L"
            ))),
        }
    }

    fn check_finite(&self) -> Result<()> {
        let matrices = [("L", &self.fit.l, "document"), ("F", &self.fit.f, "topic")];
        for (name, matrix, row) in matrices {
            if let Some(position) = matrix.values().iter().position(|value| !value.is_finite()) {
                return Err(Error::value(format!(
                    "cannot explore the fit: its {name} has {}",
                    matrix.values()[position]
                ))
                .at(format!(
                    "{row} {} (counted from 0)",
                    position / matrix.columns()
                ))
                .fix("check that the fit has not diverged; a smaller learning rate helps"));
            }
        }
        Ok(())
    }

    /// Weights by tokens with counts, by documents without.
    fn weights(&self) -> Weights {
        let (k, documents) = (self.fit.topics(), self.fit.documents());
        let mut topics = vec![0.0; k];
        for document in 0..documents {
            let length = match &self.counted {
                Some(counted) => counted.summary.document_lengths()[document],
                None => 1.0,
            };
            for (topic, &proportion) in topics.iter_mut().zip(self.fit.l.row(document)) {
                *topic += length * f64::from(proportion);
            }
        }
        let all: f64 = topics.iter().sum();
        topics.iter_mut().for_each(|topic| *topic /= all);
        match &self.counted {
            Some(counted) => Weights {
                topics,
                terms: counted.term_totals.clone(),
                total: counted.summary.total(),
            },
            None => Weights {
                terms: self.mean_probabilities(&topics),
                topics,
                total: 1.0,
            },
        }
    }

    /// The probabilities of the terms in all topics, weighed by the topics' shares. They are rounded to single precision, so that
    /// they are short in the page; the page and the choice of terms use the same numbers.
    fn mean_probabilities(&self, shares: &[f64]) -> Vec<f64> {
        let means = self.fit.weighted_terms(shares);
        let rounded = |mean: f64| (mean as f32).to_string().parse().unwrap_or(mean);
        means.into_iter().map(rounded).collect()
    }
}

impl fmt::Debug for Explorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Explorer")
            .field("title", &self.heading())
            .field("terms_shown", &self.terms_shown)
            .field("counted", &self.counted.is_some())
            .field("labels", &!self.labels.is_empty())
            .field("texts", &!self.texts.is_empty())
            .finish()
    }
}
