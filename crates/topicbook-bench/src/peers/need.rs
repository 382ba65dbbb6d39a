//! The work that the formulas need: floating-point operations, and bytes read from and written to memory.

use serde_json::{Value, json};
use topicbook::{Counts, Result};

/// Operations that count for a logarithm with a division, an exponential with an AdamW update, or a drawn count.
const FUNCTION: f64 = 30.0;
/// Batch size.
const BATCH: f64 = 16.0;
/// Rounds of coordinate descent per row.
const ROUNDS: f64 = 4.0;

/// The sizes on which the work depends.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub documents: f64,
    pub terms: f64,
    pub topics: f64,
    pub nonzeros: f64,
    /// Bytes of the counts as stored.
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

    fn nonzeros_times_topics(&self) -> f64 {
        self.nonzeros * self.topics
    }

    /// Updates of single entries of F in an epoch of gradient steps.
    fn f_updates(&self) -> f64 {
        self.documents / BATCH * self.terms * self.topics
    }
}

/// Work by the formulas.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    pub operations: f64,
    pub bytes: f64,
}

impl Need {
    /// An epoch of AdamW. For each nonzero count: three multiply-adds per topic (rate and both gradients), one
    /// function. For each entry of F in each step: one function; its logit and two moments are read and written. The
    /// counts are read once.
    pub fn of_adamw(size: &Size) -> Self {
        Self {
            operations: 6.0 * size.nonzeros_times_topics()
                + FUNCTION * (size.nonzeros + size.f_updates()),
            bytes: 3.0 * 8.0 * size.f_updates() + size.bytes,
        }
    }

    /// An iteration of coordinate descent. For L and for F, per nonzero count and topic: the rate (2 operations), and
    /// in each round two derivatives (5) and an update (2). The rows of the other table are read, and counts and
    /// rates once a round.
    pub fn of_descent(size: &Size) -> Self {
        Self {
            operations: 2.0 * (2.0 + ROUNDS * 7.0) * size.nonzeros_times_topics(),
            bytes: 8.0 * size.nonzeros_times_topics() + 2.0 * size.bytes,
        }
    }

    /// Synthetic counts in memory: for every cell, the rate and a count drawn from it.
    pub fn of_generating(documents: usize, terms: usize, topics: usize) -> Self {
        let cells = documents as f64 * terms as f64;
        Self {
            operations: cells * (2.0 * topics as f64 + FUNCTION),
            bytes: 4.0 * cells,
        }
    }

    /// Adds the work to a JSON object.
    pub fn add_to(self, line: &mut Value) {
        line["operations"] = json!(self.operations);
        line["bytes"] = json!(self.bytes);
    }
}
