//! Names that people give to topics.

use std::collections::HashSet;
use std::sync::Arc;

use crate::data::Documents;
use crate::error::{Error, Result};
use crate::text::counted;

use super::Fit;
use super::described::column_names;

/// The names of all topics, or nothing if none has one.
pub(super) type Names = Arc<[Option<String>]>;

/// Columns of the tables of a fit, which no topic and no label of documents must be called.
const COLUMNS: [&str; 8] = [
    "rank",
    "document",
    "dominant",
    "proportion",
    "similarity",
    "topic",
    "term",
    "rate",
];

/// An element of what [`Fit::name_topics`] takes: a name, for one topic after the other, or a pair of a topic and its name.
///
/// ```
/// # let (_, fit) = topicbook::example_fit()?;
/// let all = fit.name_topics(["sports", "politics", "science"])?;
/// let one = fit.name_topics([(2, "science")])?;
/// assert_eq!(all.topic_name(2), one.topic_name(2));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the name of a topic",
    note = "pass one name per topic, as in `[\"sports\", \"politics\"]`, or pairs, as in `[(2, \"sports\")]`"
)]
pub trait TopicName {
    /// The topic, if it is said, and its name.
    fn into_name(self) -> (Option<usize>, String);
}

impl TopicName for &str {
    fn into_name(self) -> (Option<usize>, String) {
        (None, self.into())
    }
}

impl TopicName for String {
    fn into_name(self) -> (Option<usize>, String) {
        (None, self)
    }
}

impl TopicName for &String {
    fn into_name(self) -> (Option<usize>, String) {
        (None, self.clone())
    }
}

impl<N: Into<String>> TopicName for (usize, N) {
    fn into_name(self) -> (Option<usize>, String) {
        (Some(self.0), self.1.into())
    }
}

impl Fit {
    /// Returns the fit with names for its topics: one per topic in their order, or pairs of a topic, counted from 0, and its
    /// name. Charts and tables show the names, [`save`](Self::save) and [`align_to`](Self::align_to) keep them. An empty
    /// name removes the one that a topic had.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let named = fit.name_topics(["sports", "politics", "science"])?;
    /// assert!(named.plot_structure().to_svg()?.contains("politics"));
    /// let renamed = named.name_topics([(2, "physics")])?;
    /// assert_eq!(renamed.topic_names(), ["sports", "politics", "physics"]);
    /// assert_eq!(fit.topic_name(2), "topic 2"); // the fit itself is as it was
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one name per topic, or a pair names a topic that does not exist. When two topics would have the same
    /// name, or one the name of another column of the tables.
    #[doc(alias("set_topic_labels", "rename_topics", "label_topics"))]
    pub fn name_topics<I>(&self, names: I) -> Result<Fit>
    where
        I: IntoIterator,
        I::Item: TopicName,
    {
        let given: Vec<(Option<usize>, String)> =
            names.into_iter().map(TopicName::into_name).collect();
        let in_order = given.iter().all(|(topic, _)| topic.is_none());
        if in_order && given.len() != self.topics() {
            return Err(Error::shape(format!(
                "{} for {}",
                counted(given.len(), "name"),
                counted(self.topics(), "topic")
            ))
            .fix("pass one name per topic, or pairs for some of them, as in `[(2, \"sports\")]`"));
        }
        let mut all = match self.names.is_empty() {
            true => vec![None; self.topics()],
            false => self.names.to_vec(),
        };
        for (index, (topic, name)) in given.into_iter().enumerate() {
            let topic = topic.unwrap_or(index);
            let Some(slot) = all.get_mut(topic) else {
                return Err(Error::shape(format!(
                    "topic {topic} of a fit with {}",
                    counted(self.topics(), "topic")
                ))
                .fix("topics are counted from 0"));
            };
            let name = name.trim().to_string();
            *slot = Some(name).filter(|name| !name.is_empty());
        }
        let mut named = self.clone();
        named.names = all.into();
        named.check_names()?;
        Ok(named)
    }

    /// The name of a topic; `topic 2` for one without a name.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.topic_name(2), "topic 2");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn topic_name(&self, topic: usize) -> String {
        match self.names.get(topic) {
            Some(Some(name)) => name.clone(),
            _ => default_name(topic),
        }
    }

    /// The names of all topics, in their order; `topic 2` for one without a name.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.topic_names(), ["topic 0", "topic 1", "topic 2"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn topic_names(&self) -> Vec<String> {
        (0..self.topics())
            .map(|topic| self.topic_name(topic))
            .collect()
    }

    /// The fit with the topic names and the vectorizer's words of another one.
    pub(crate) fn with_names_of(mut self, other: &Fit) -> Fit {
        self.names = other.names.clone();
        self.words = other.words.clone();
        self
    }

    /// Fails if tables could not have a column for each topic and for each label of the documents.
    pub(super) fn check_names(&self) -> Result<()> {
        check_columns(self.topic_names(), self.documents.as_ref())
    }
}

/// The name of a topic that has been given none.
pub(super) fn default_name(topic: usize) -> String {
    format!("topic {topic}")
}

/// Fails if a table could not have a column for each topic and for the names and labels of the documents.
pub(super) fn check_columns(topics: Vec<String>, documents: Option<&Documents>) -> Result<()> {
    let mut seen: HashSet<String> = COLUMNS.iter().map(|column| column.to_string()).collect();
    for (topic, name) in topics.into_iter().enumerate() {
        if seen.contains(&name) {
            let taken = match COLUMNS.contains(&name.as_str()) {
                true => "is the name of another column of the tables",
                false => "is the name of two topics",
            };
            return Err(Error::value(format!("`{name}` {taken}"))
                .at(format!("topic {topic}"))
                .fix(format!("choose another name, such as `{name} {topic}`")));
        }
        seen.insert(name);
    }
    for column in documents.map(column_names).unwrap_or_default() {
        if !seen.insert(column.clone().into_owned()) {
            return Err(Error::value(format!(
                "`{column}` is a column of the documents and another column of the tables"
            ))
            .fix("call the column of the documents, or the topic, something else"));
        }
    }
    Ok(())
}

/// The names of topics in another order.
pub(super) fn permuted(names: &Names, order: &[usize]) -> Names {
    match names.is_empty() {
        true => names.clone(),
        false => order.iter().map(|&topic| names[topic].clone()).collect(),
    }
}

/// The names after `merged` topics have become the one at `place`; `kept` are the topics that remain.
pub(super) fn merged(names: &Names, merged: &[usize], kept: &[usize], place: usize) -> Names {
    if names.is_empty() {
        return names.clone();
    }
    let name = merged.iter().find_map(|&topic| names[topic].clone());
    let of = |&topic: &usize| match topic == place {
        true => name.clone(),
        false => names[topic].clone(),
    };
    kept.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn fit() -> Fit {
        use crate::{Synthetic, TopicModel};
        let corpus = Synthetic::new(20, 12, 3).seed(1).generate().unwrap();
        let model = TopicModel::new(3).epochs(2).quiet();
        model.fit(corpus.counts()).unwrap()
    }

    #[test]
    fn names_are_kept_in_files_and_through_alignment() {
        let named = fit().name_topics([(1, "one"), (2, "two")]).unwrap();
        let (_folder, path) = testkit::temp_path("fit.safetensors");
        named.save(&path).unwrap();
        let loaded = Fit::load(&path).unwrap();
        assert_eq!(loaded.topic_names(), ["topic 0", "one", "two"]);
        let order = named.f().select_rows([2, 0, 1]).unwrap();
        let aligned = loaded.align_to(order).unwrap();
        assert_eq!(aligned.topic_names(), ["two", "topic 1", "one"]);
    }

    #[test]
    fn names_that_tables_cannot_show_are_refused() {
        let fit = fit();
        testkit::refused! {
            fit.name_topics(["a", "b"]) => Shape, "2 names for 3 topics";
            fit.name_topics([(3, "a")]) => Shape, "topic 3 of a fit with 3 topics";
            fit.name_topics(["a", "b", "a"]) => Value, "`a` is the name of two topics";
            fit.name_topics([(0, "topic 2")]) => Value, "two topics";
            fit.name_topics([(0, "rank")]) => Value, "another column";
        }
        let named = fit
            .name_topics(vec!["a".to_string(), "b".into(), "c".into()])
            .unwrap();
        assert_eq!(
            named.name_topics([(1, " ")]).unwrap().topic_name(1),
            "topic 1"
        );
    }
}
