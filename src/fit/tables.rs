//! The tables of a fit.

use polars::prelude::{Column, DataFrame};

use super::Fit;
use crate::table::Table;

impl Fit {
    /// The `n` most probable terms of every topic: one column per topic, the most probable term first.
    pub fn top_terms(&self, n: usize) -> Table {
        let n = n.min(self.terms());
        let ranks = Column::new("rank".into(), (1..=n as u32).collect::<Vec<_>>());
        let topics = (0..self.topics()).map(|topic| {
            let names: Vec<String> = top(self.f.row(topic), n)
                .into_iter()
                .map(|term| self.term_name(term))
                .collect();
            Column::new(format!("topic {topic}").into(), names)
        });
        table(std::iter::once(ranks).chain(topics).collect())
    }

    /// One row per document: its dominant topic, that topic's proportion, and the proportions of all topics.
    pub fn doc_topics(&self) -> Table {
        let documents = 0..self.documents();
        let dominant: Vec<usize> = documents
            .clone()
            .map(|document| top(self.l.row(document), 1)[0])
            .collect();
        let proportions: Vec<f32> = documents
            .clone()
            .map(|document| self.l.row(document)[dominant[document]])
            .collect();
        let mut columns = vec![
            Column::new(
                "document".into(),
                documents
                    .clone()
                    .map(|document| document as u64)
                    .collect::<Vec<_>>(),
            ),
            Column::new(
                "dominant".into(),
                dominant
                    .iter()
                    .map(|&topic| topic as u32)
                    .collect::<Vec<_>>(),
            ),
            Column::new("proportion".into(), proportions),
        ];
        for topic in 0..self.topics() {
            let proportions: Vec<f32> = documents
                .clone()
                .map(|document| self.l.row(document)[topic])
                .collect();
            columns.push(Column::new(format!("topic {topic}").into(), proportions));
        }
        table(columns)
    }

    /// One row per epoch: loss (mean over batches of batch sums), log-likelihood per token (nats), the learning rate of
    /// its last step, seconds, and the process's anonymous memory in bytes.
    pub fn history(&self) -> Table {
        let of = |value: fn(&crate::model::Epoch) -> f64| -> Vec<f64> {
            self.history.iter().map(value).collect()
        };
        table(vec![
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
            Column::new("seconds".into(), of(|epoch| epoch.seconds)),
            Column::new(
                "memory".into(),
                self.history
                    .iter()
                    .map(|epoch| epoch.memory)
                    .collect::<Vec<_>>(),
            ),
        ])
    }
}

/// The indices of the `n` largest values, largest first; ties by index.
fn top(values: &[f32], n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by_value = |a: &usize, b: &usize| values[*b].total_cmp(&values[*a]).then(a.cmp(b));
    if n < order.len() {
        order.select_nth_unstable_by(n, by_value);
        order.truncate(n);
    }
    order.sort_unstable_by(by_value);
    order
}

/// Columns of one length make a table; Polars has no other reason to refuse them.
fn table(columns: Vec<Column>) -> Table {
    Table::from(DataFrame::new_infer_height(columns).unwrap_or_default())
}
