//! What the ranks report: a line a pass, and how they ended.

use serde::{Deserialize, Serialize};

/// A line that the first rank writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Event {
    Pass(PassLine),
    /// L and F of the last pass are written.
    Finished,
}

/// A pass, as all ranks have seen it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PassLine {
    /// Passes done, with this one.
    pub(crate) pass: usize,
    #[serde(with = "crate::system::serde_f64")]
    pub(crate) score: f64,
    pub(crate) seconds: f64,
    pub(crate) ranks: Vec<RankLine>,
}

/// A rank's part of a pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankLine {
    pub(crate) documents: u64,
    /// Seconds of reading and computing, and of waiting for other ranks.
    pub(crate) working: f64,
    pub(crate) waiting: f64,
    /// Highest anonymous memory of the process so far, in bytes.
    pub(crate) memory: u64,
}

/// How a rank's process ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) rank: usize,
    pub(crate) host: String,
    pub(crate) process: u32,
    /// Milliseconds from its start to its end. The ranks of a job start together.
    pub(crate) since_start_ms: u64,
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// The last lines that it wrote.
    pub(crate) last_lines: String,
}
