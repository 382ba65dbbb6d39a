//! What the ranks report: a line per pass, and how they ended.

use serde::{Deserialize, Serialize};

/// A line that the first rank writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    Pass(PassLine),
    /// L and F of the last pass are written.
    Finished,
}

/// A pass, as all ranks have seen it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassLine {
    /// Passes done, including this one.
    pub pass: usize,
    #[serde(with = "crate::system::serde_f64")]
    pub score: f64,
    pub seconds: f64,
    pub ranks: Vec<RankLine>,
}

impl PassLine {
    /// Seconds until the last rank had passed over its documents. The ranks start a pass at nearly the same time, when they
    /// have F.
    pub fn working(&self) -> f64 {
        let working = self.ranks.iter().map(|rank| rank.working);
        working.fold(0.0, f64::max)
    }

    /// Seconds after that: the first rank receives the sums and updates F, and all ranks receive F.
    pub fn exchange(&self) -> f64 {
        (self.seconds - self.working()).max(0.0)
    }
}

/// A rank's part of a pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankLine {
    pub documents: u64,
    /// Seconds of reading and computing.
    pub working: f64,
    /// Highest anonymous memory of the process so far, in bytes.
    pub memory: u64,
}

/// How a rank's process ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub rank: usize,
    pub host: String,
    pub process: u32,
    /// Milliseconds from its start to its end. The ranks of a job start together.
    pub since_start_ms: u64,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The memory limit of its control group, in bytes, if the system has ended processes there for it.
    pub out_of_memory: Option<u64>,
    /// The last lines that it wrote.
    pub last_lines: String,
}
