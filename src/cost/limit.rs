//! `Limit` stores the budget and the predicted peak of one kind of memory.

use serde::{Deserialize, Serialize};

/// Budget and predicted peak of one kind of memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Limit {
    pub(crate) budget: u64,
    pub(crate) predicted: u64,
}
