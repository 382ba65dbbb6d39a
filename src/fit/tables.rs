//! Tables of a fit.

use polars::prelude::Column;

use crate::data::{Table, top_n};

use super::Fit;

impl Fit {
    /// Table of the `n` most probable terms of every topic: one column per topic, called by its [name](Self::topic_name), the
    /// most probable term first. `n` is capped at the number of terms. Below a cell, more than ten topics are shown as rows.
    /// [`top_terms_by`](Self::top_terms_by) ranks the terms by lift, FREX or relevance.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let table = fit.top_terms(4);
    /// assert_eq!((table.height(), table.width()), (4, 4)); // rank and three topics
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over F.
    #[doc(alias("show_topics", "print_topics"))]
    pub fn top_terms(&self, n: usize) -> Table {
        let n = n.min(self.terms());
        let ranks = Column::new("rank".into(), (1..=n as u32).collect::<Vec<_>>());
        let topics = (0..self.topics())
            .map(|topic| Column::new(self.topic_name(topic).into(), self.most_probable(topic, n)));
        Table::from_columns(std::iter::once(ranks).chain(topics).collect())
    }

    /// The names of the `n` most probable terms of a topic.
    pub(crate) fn most_probable(&self, topic: usize, n: usize) -> Vec<String> {
        let terms = top_n(self.f.row(topic), n.min(self.terms())).into_iter();
        terms.map(|term| self.term_name(term)).collect()
    }

    /// Table with one row per document: its dominant topic, that topic's proportion, and the proportions of all topics,
    /// from 0 to 1, in columns called by their [names](Self::topic_name). A document without counts has no dominant topic, and
    /// counts in no mean and no list of documents.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let table = fit.doc_topics();
    /// assert_eq!(table.column("dominant").map(|column| column.len())?, 60);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "get_document_topics")]
    pub fn doc_topics(&self) -> Table {
        let documents = 0..self.documents();
        let dominant: Vec<Option<usize>> = documents
            .clone()
            .map(|document| self.dominant_topic(document))
            .collect();
        let proportions: Vec<Option<f32>> = documents
            .clone()
            .map(|document| dominant[document].map(|topic| self.l.row(document)[topic]))
            .collect();
        let dominant = dominant.iter().map(|topic| topic.map(|topic| topic as u32));
        let mut columns = self.document_columns(&documents.clone().collect::<Vec<_>>());
        columns.extend([
            Column::new("dominant".into(), dominant.collect::<Vec<_>>()),
            Column::new("proportion".into(), proportions),
        ]);
        for topic in 0..self.topics() {
            let proportions: Vec<f32> = documents
                .clone()
                .map(|document| self.l.row(document)[topic])
                .collect();
            columns.push(Column::new(self.topic_name(topic).into(), proportions));
        }
        Table::from_columns(columns)
    }

    /// Table with one row per epoch: loss (mean over batches of a batch's summed loss), log-likelihood per token in nats, learning
    /// rate of the last step, wall time in seconds, and anonymous memory in bytes.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let history = fit.history();
    /// assert_eq!(history.height(), 5);
    /// assert_eq!(history.column("loss")?.f64()?.get(4), fit.loss());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn history(&self) -> Table {
        let of = |value: fn(&crate::data::Epoch) -> f64| -> Vec<f64> {
            self.history.iter().map(value).collect()
        };
        let mut columns = vec![
            Column::new(
                "epoch".into(),
                self.history
                    .iter()
                    .map(|epoch| epoch.epoch as u32)
                    .collect::<Vec<_>>(),
            ),
            Column::new("loss".into(), of(|epoch| epoch.loss)),
            Column::new(
                "log_likelihood_per_token".into(),
                of(|epoch| epoch.log_likelihood_per_token),
            ),
            Column::new("learning_rate".into(), of(|epoch| epoch.learning_rate)),
            Column::new("seconds".into(), of(|epoch| epoch.duration.as_secs_f64())),
            Column::new(
                "memory".into(),
                self.history
                    .iter()
                    .map(|epoch| epoch.memory_bytes)
                    .collect::<Vec<_>>(),
            ),
        ];
        if self.history.iter().any(|epoch| epoch.grad_norm.is_some()) {
            let norms = self.history.iter().map(|epoch| epoch.grad_norm);
            columns.push(Column::new("grad_norm".into(), norms.collect::<Vec<_>>()));
        }
        Table::from_columns(columns)
    }
}
