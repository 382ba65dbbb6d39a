//! `Limit` stores the budget and the predicted peak of one kind of memory.

use serde::{Deserialize, Serialize};

/// Budget and predicted peak of one kind of memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub budget: u64,
    pub predicted: u64,
}
