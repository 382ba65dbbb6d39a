//! Questions about topics: their documents, terms, sizes and correlations.

use polars::prelude::Column;

use crate::data::{Table, top_n};
use crate::error::{Error, Result};

use super::Fit;
use super::which::NameOrNumber;

/// Terms that name a topic in [`Fit::topic_sizes`].
const NAMING_TERMS: usize = 5;

impl Fit {
    /// Table of the `n` documents with the largest proportion of each topic: `topic`, `rank` from 1, `document` (a row of L)
    /// and `proportion`, from 0 to 1. `n` is capped at the number of documents.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let table = fit.top_documents(4);
    /// assert_eq!((table.height(), table.width()), (12, 4)); // four documents of each of three topics
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over L for each topic.
    #[doc(alias("representative_docs", "findThoughts"))]
    pub fn top_documents(&self, n: usize) -> Table {
        let n = n.min(self.with_counts());
        let mut topics = Vec::with_capacity(n * self.topics());
        let mut found = Vec::with_capacity(n * self.topics());
        for topic in 0..self.topics() {
            topics.extend(std::iter::repeat_n(topic as u32, n));
            found.extend(self.largest(topic, n));
        }
        let ranks: Vec<u32> = (0..self.topics()).flat_map(|_| 1..=n as u32).collect();
        let mut columns = vec![
            Column::new("topic".into(), topics),
            Column::new("rank".into(), ranks),
        ];
        columns.extend(self.documents_and_proportions(&found));
        Table::from_columns(columns)
    }

    /// Table of the `n` documents with the largest proportion of one topic: `rank` from 1, `document` (a row of L) and
    /// `proportion`, from 0 to 1. `n` is capped at the number of documents.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let table = fit.documents_of_topic(2, 5)?;
    /// let best = table.column("document")?.u64()?.get(0).unwrap_or(0) as usize;
    /// assert!((0..60).all(|document| fit.l().row(document)[2] <= fit.l().row(best)[2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such topic.
    ///
    /// # Cost
    /// One pass over L.
    pub fn documents_of_topic(&self, topic: impl NameOrNumber, n: usize) -> Result<Table> {
        let topic = self.topic(topic.which())?;
        let found = self.largest(topic, n);
        let mut columns = vec![ranks(found.len())];
        columns.extend(self.documents_and_proportions(&found));
        Ok(Table::from_columns(columns))
    }

    /// Table of the `n` most probable terms of one topic: `rank` from 1, `term` and `probability`. `n` is capped at the number
    /// of terms. [`terms_of_topic_by`](Self::terms_of_topic_by) ranks them in other ways.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let table = fit.terms_of_topic(2, 5)?;
    /// let largest = fit.f().row(2).iter().copied().fold(0.0, f32::max);
    /// assert_eq!(table.column("probability")?.f32()?.get(0), Some(largest));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such topic.
    ///
    /// # Cost
    /// One pass over a row of F.
    #[doc(alias("show_topic", "get_topic_terms"))]
    pub fn terms_of_topic(&self, topic: impl NameOrNumber, n: usize) -> Result<Table> {
        let topic = self.topic(topic.which())?;
        let row = self.f.row(topic);
        let terms = top_n(row, n);
        let names: Vec<String> = terms.iter().map(|&term| self.term_name(term)).collect();
        let probabilities: Vec<f32> = terms.iter().map(|&term| row[term]).collect();
        Ok(Table::from_columns(vec![
            ranks(terms.len()),
            Column::new("term".into(), names),
            Column::new("probability".into(), probabilities),
        ]))
    }

    /// Table of the topics of a term: `topic` and the `probability` of the term in it, the largest first. Without term
    /// names, a term is the number of its column, as in all tables: `"17"`.
    ///
    /// ```
    /// use topicbook::{Counts, Terms, TopicModel};
    /// let counts = Counts::dense(2, 3, vec![3u8, 1, 0, 0, 1, 4])?;
    /// let terms = Terms::new(["apple", "pear", "plum"])?;
    /// let fit = TopicModel::new(2).terms(&terms).epochs(3).quiet().fit(&counts)?;
    /// assert_eq!(fit.topics_of_term("plum")?.height(), 2);
    /// assert!(fit.topics_of_term("plums").unwrap_err().to_string().contains("the nearest is `plum`"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is not among the terms: the message names the nearest ones.
    ///
    /// # Cost
    /// O(terms + k).
    #[doc(alias = "get_term_topics")]
    pub fn topics_of_term(&self, term: &str) -> Result<Table> {
        let column = self.find_term(term)?;
        let probabilities: Vec<f32> = (0..self.topics())
            .map(|topic| self.f.row(topic)[column])
            .collect();
        Ok(largest_first(&probabilities, "probability"))
    }

    /// Table with one row per topic. `share` is the mean of its proportions in all documents (the shares sum to one, and every
    /// document counts alike, long or short). `documents` is the number of documents in which it is the largest, and
    /// `top_terms` are its five most probable terms.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// use topicbook::polars::prelude::*;
    /// let table = fit.topic_sizes();
    /// assert!((table.column("share")?.f64()?.sum().unwrap_or(0.0) - 1.0).abs() < 1e-5);
    /// assert_eq!(table.column("documents")?.u64()?.sum(), Some(60));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// One pass over L and one over F.
    #[doc(alias("get_topic_freq", "topic_prevalence"))]
    pub fn topic_sizes(&self) -> Table {
        let mut largest_in = vec![0u64; self.topics()];
        for topic in (0..self.documents()).filter_map(|document| self.dominant_topic(document)) {
            largest_in[topic] += 1;
        }
        let top_terms: Vec<String> = (0..self.topics())
            .map(|topic| {
                let terms = top_n(self.f.row(topic), NAMING_TERMS);
                let names: Vec<String> = terms.iter().map(|&term| self.term_name(term)).collect();
                names.join(", ")
            })
            .collect();
        Table::from_columns(vec![
            Column::new(
                "topic".into(),
                (0..self.topics() as u32).collect::<Vec<_>>(),
            ),
            Column::new("share".into(), self.topic_shares()),
            Column::new("documents".into(), largest_in),
            Column::new("top_terms".into(), top_terms),
        ])
    }

    /// The column of a term, by name, or by number where the fit has no names.
    pub(super) fn find_term(&self, term: &str) -> Result<usize> {
        match &self.terms {
            Some(terms) => terms.find(term),
            None => term
                .parse()
                .ok()
                .filter(|&column| column < self.terms())
                .ok_or_else(|| {
                    let what = format!("`{term}` is not a term: the fit has no term names");
                    Error::value(what).fix(format!(
                        "give the model names (TopicModel::terms), or pass a column from \"0\" to \"{}\"",
                        self.terms() - 1
                    ))
                }),
        }
    }

    fn documents_and_proportions(&self, found: &[(usize, f32)]) -> Vec<Column> {
        let rows: Vec<usize> = found.iter().map(|pair| pair.0).collect();
        let proportions: Vec<f32> = found.iter().map(|pair| pair.1).collect();
        let mut columns = self.document_columns(&rows);
        columns.push(Column::new("proportion".into(), proportions));
        columns
    }
}

/// A column of ranks from 1 to `n`.
pub(super) fn ranks(n: usize) -> Column {
    Column::new("rank".into(), (1..=n as u32).collect::<Vec<_>>())
}

/// A table of all topics and a value of each, the largest first.
pub(super) fn largest_first(values: &[f32], name: &str) -> Table {
    let order = top_n(values, values.len());
    let topics: Vec<u32> = order.iter().map(|&topic| topic as u32).collect();
    let sorted: Vec<f32> = order.iter().map(|&topic| values[topic]).collect();
    Table::from_columns(vec![
        Column::new("topic".into(), topics),
        Column::new(name.into(), sorted),
    ])
}
