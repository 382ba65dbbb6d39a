//! Topics and documents by their numbers or by their names.

use crate::data::remedy_by_nearest;
use crate::error::{Error, Result};
use crate::text::{count, counted};

use super::Fit;

/// A topic or a document: its number from 0, or the name that it has been given.
///
/// ```
/// # let (_, fit) = topicbook::example_fit()?;
/// let fit = fit.name_topics(["sports", "politics", "science"])?;
/// let by_name = fit.documents_of_topic("science", 5)?;
/// assert_eq!(by_name.texts("document").ok(), fit.documents_of_topic(2, 5)?.texts("document").ok());
/// assert!(fit.terms_of_topic("sience", 5).unwrap_err().to_string().contains("the nearest is `science`"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a number nor a name",
    note = "pass a number from 0, of type `usize`, or a name, as in `\"sports\"`"
)]
pub trait NameOrNumber {
    #[doc(hidden)]
    fn which(&self) -> Which<'_>;
}

/// What a [`NameOrNumber`] is.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Which<'a> {
    Number(usize),
    Name(&'a str),
}

impl NameOrNumber for usize {
    fn which(&self) -> Which<'_> {
        Which::Number(*self)
    }
}

impl NameOrNumber for str {
    fn which(&self) -> Which<'_> {
        Which::Name(self)
    }
}

impl NameOrNumber for String {
    fn which(&self) -> Which<'_> {
        Which::Name(self)
    }
}

impl<T: NameOrNumber + ?Sized> NameOrNumber for &T {
    fn which(&self) -> Which<'_> {
        T::which(self)
    }
}

impl Fit {
    /// The number of a topic.
    pub(super) fn topic(&self, which: Which<'_>) -> Result<usize> {
        find_topic(which, &self.topic_names())
    }

    /// The numbers of topics, each of which may be there once.
    pub(super) fn distinct_topics<I>(&self, topics: I, fix: &str) -> Result<Vec<usize>>
    where
        I: IntoIterator<Item: NameOrNumber>,
    {
        let mut found = Vec::new();
        for topic in topics {
            let topic = self.topic(topic.which())?;
            if found.contains(&topic) {
                let what = format!("topic {topic} comes twice");
                return Err(Error::value(what).fix(fix));
            }
            found.push(topic);
        }
        Ok(found)
    }

    /// The row of a document.
    pub(super) fn document(&self, which: Which<'_>) -> Result<usize> {
        let name = match which {
            Which::Number(document) if document < self.documents() => return Ok(document),
            Which::Number(document) => {
                let documents = count(self.documents() as u64);
                let what = format!("document {document} of a fit to {documents} documents");
                return Err(Error::shape(what).fix("documents are counted from 0"));
            }
            Which::Name(name) => name,
        };
        let Some(documents) = self.documents.as_ref().filter(|all| all.has_names()) else {
            let what = format!("document `{name}` of a fit whose documents have no names");
            return Err(Error::value(what)
                .fix("give its number, or the names first: fit.with_documents(..)"));
        };
        let names = documents.names();
        let mut rows = (0..names.len()).filter(|&row| names[row] == name);
        match (rows.next(), rows.next()) {
            (Some(row), None) => Ok(row),
            (Some(row), Some(other)) => {
                let what = format!("documents {row} and {other} are both called `{name}`");
                Err(Error::value(what).fix("give the number of one of them"))
            }
            (None, _) => {
                let what = format!("no document is called `{name}`");
                let remedy = remedy_by_nearest(names.iter().map(String::as_str), name);
                Err(Error::value(what)
                    .fix(remedy.unwrap_or("the names are in fit.document_names()".into())))
            }
        }
    }
}

/// The number of a topic among topics with these names.
pub(super) fn find_topic(which: Which<'_>, names: &[String]) -> Result<usize> {
    match which {
        Which::Number(topic) if topic < names.len() => Ok(topic),
        Which::Number(topic) => {
            let what = format!(
                "topic {topic} of a fit with {}",
                counted(names.len(), "topic")
            );
            Err(Error::shape(what).fix("topics are counted from 0"))
        }
        Which::Name(name) => names.iter().position(|known| known == name).ok_or_else(|| {
            let remedy = remedy_by_nearest(names.iter().map(String::as_str), name);
            Error::value(format!("no topic is called `{name}`"))
                .fix(remedy.unwrap_or_else(|| format!("the topics are `{}`", names.join("`, `"))))
        }),
    }
}
