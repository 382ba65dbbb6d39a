//! What a piece of work needs at least, by its formulas: floating-point operations and bytes of memory.

use serde_json::{Value, json};
use topicbook::{Counts, Result};

/// Operations that a logarithm with a division, an exponential with an update of AdamW, or a drawn count stand for.
const FUNCTION: f64 = 30.0;
/// Documents of a batch.
const BATCH: f64 = 16.0;
/// Rounds of coordinate descent over a row.
const ROUNDS: f64 = 4.0;

/// What work grows with.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub documents: f64,
    pub terms: f64,
    pub topics: f64,
    pub nonzeros: f64,
    /// Of the counts as they are kept.
    pub bytes: f64,
}

impl Size {
    pub fn of(counts: &Counts, topics: usize) -> Result<Self> {
        let (documents, terms) = counts.shape();
        Ok(Self {
            documents: documents as f64,
            terms: terms as f64,
            topics: topics as f64,
            nonzeros: counts.summary()?.nonzeros() as f64,
            bytes: counts.bytes_stored() as f64,
        })
    }

    fn shares(&self) -> f64 {
        self.nonzeros * self.topics
    }

    /// Entries of F that an epoch of gradient steps moves.
    pub fn moved(&self) -> f64 {
        self.documents / BATCH * self.terms * self.topics
    }

    /// Entries of both tables.
    pub fn entries(&self) -> f64 {
        (self.documents + self.terms) * self.topics
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Need {
    pub operations: f64,
    pub bytes: f64,
}

impl Need {
    /// An epoch of AdamW. A nonzero count: three multiply-adds a topic (rate, both gradients) and one function. An entry
    /// of F, once a step: one function; its table, two moments and exponentials are read and written. The counts are
    /// read once.
    pub fn of_adamw(size: &Size) -> Self {
        Self {
            operations: 6.0 * size.shares() + FUNCTION * (size.nonzeros + size.moved()),
            bytes: 4.0 * 8.0 * size.moved() + size.bytes,
        }
    }

    /// A pass of expectation-maximisation. A nonzero count: rate, a document's shares and a term's statistics, a
    /// multiply-add a topic each, and one function; F is read twice, statistics are read and written.
    pub fn of_em(size: &Size) -> Self {
        Self {
            operations: 6.0 * size.shares() + FUNCTION * size.nonzeros,
            bytes: 16.0 * size.shares() + size.bytes,
        }
    }

    /// An iteration of coordinate descent. Of each side: rates (2), and in every round two slopes (5) and an update (2)
    /// a topic of a nonzero count; its rows of the other table are read, the counts and rates once a round.
    pub fn of_descent(size: &Size) -> Self {
        Self {
            operations: 2.0 * (2.0 + ROUNDS * 7.0) * size.shares(),
            bytes: 8.0 * size.shares() + 2.0 * size.bytes,
        }
    }

    /// Counts from a known L and F, into memory: the rate of every cell, and a count drawn from it.
    pub fn of_generating(documents: usize, terms: usize, topics: usize) -> Self {
        let cells = documents as f64 * terms as f64;
        Self {
            operations: cells * (2.0 * topics as f64 + FUNCTION),
            bytes: 4.0 * cells,
        }
    }

    pub fn tell(self, line: &mut Value) {
        line["operations"] = json!(self.operations);
        line["bytes"] = json!(self.bytes);
    }
}
