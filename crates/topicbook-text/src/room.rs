//! The memory that counting takes, within a budget.

use crate::data::Budget;
use crate::error::{Error, ErrorKind, Result};
use crate::system::memory::process_memory;
use crate::text::bytes;

/// Bytes of the batches that are read, processed and written at a time.
const BATCHES: u64 = 32 << 20;
/// Bytes of a thread: the terms of a batch whose words are all different, doubled for pairs of words.
const PER_THREAD: u64 = 24 << 20;
/// Smallest vocabulary that is worth a pass.
const SMALLEST_VOCABULARY: u64 = 1 << 20;

/// Bytes for each part of the work.
pub(super) struct Room {
    /// The vocabulary while terms are counted. The selected terms take as much again, and so do the terms of the result.
    pub(super) vocabulary: u64,
    /// Bytes of the process at which the budget is used up.
    limit: u64,
}

impl Room {
    /// # Errors
    /// When the budget is too small to count anything.
    pub(super) fn of(budget: &Budget) -> Result<Self> {
        let used = process_memory().anonymous;
        let limit = budget.ram_bytes(used);
        let fixed = BATCHES + PER_THREAD * rayon::current_num_threads() as u64;
        let needed = fixed + 3 * SMALLEST_VOCABULARY;
        match limit.saturating_sub(used) {
            left if left < needed => Err(Error::new(
                ErrorKind::Space,
                format!(
                    "counting terms needs {} of memory, and the budget leaves {} after the {} in use",
                    bytes(needed),
                    bytes(left),
                    bytes(used)
                ),
            )
            .fix("give it a larger budget, or free some memory")),
            left => Ok(Self {
                vocabulary: (left - fixed) / 3,
                limit,
            }),
        }
    }

    /// Fails if `needed` bytes of counts exceed the limit.
    pub(super) fn check_counts(&self, needed: u64) -> Result<()> {
        let left = self.limit.saturating_sub(process_memory().anonymous);
        if needed <= left {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Space,
            format!(
                "the counts need {} of memory, and the budget leaves {}",
                bytes(needed),
                bytes(left)
            ),
        )
        .fix("write them to a file: out(\"corpus.npz\"); or keep fewer terms: min_df(5)"))
    }
}
