//! Items of memory use: what is allocated, in which memory, in which phase.

use std::fmt;

/// An allocation, or a group of them, in one kind of memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// The description that a plan shows.
    pub(crate) what: String,
    pub(crate) memory: Memory,
    pub(crate) phase: Phase,
    pub(crate) bytes: u64,
}

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Anonymous memory of the process.
    Ram,
    /// Memory of the GPU.
    Vram,
    /// A file. Its pages in RAM belong to the page cache, which the system can reclaim.
    Disk,
}

/// The part of a fit during which an item is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The whole fit, with checking and initialisation.
    Throughout,
    /// From initialisation to the end: the tables.
    Fit,
    /// While counts are read and checked.
    Checking,
    /// While the tables are initialised.
    Starting,
    /// From the first step to the end.
    Steps,
    /// From the first step to the last: the buffers into which batches are read.
    Reading,
    /// During each pass over the documents, but not between passes.
    Pass,
    /// While a checkpoint is written.
    Checkpoint,
    /// While L and F are returned.
    End,
}

impl Item {
    pub(crate) fn new(what: impl Into<String>, memory: Memory, phase: Phase, bytes: u64) -> Self {
        Self {
            what: what.into(),
            memory,
            phase,
            bytes,
        }
    }

    pub(crate) fn ram(what: impl Into<String>, phase: Phase, bytes: u64) -> Self {
        Self::new(what, Memory::Ram, phase, bytes)
    }

    pub(crate) fn vram(what: impl Into<String>, phase: Phase, bytes: u64) -> Self {
        Self::new(what, Memory::Vram, phase, bytes)
    }
}

/// The parts of a fit, one after the other: the phases whose items are allocated at the same time, and the name of the
/// part. The first one lasts longest.
const PARTS: [(&[Phase], Phase); 5] = {
    use self::Phase::*;
    [
        (&[Throughout, Fit, Steps, Reading, Pass], Steps),
        (&[Throughout, Checking], Checking),
        (&[Throughout, Fit, Starting], Starting),
        (&[Throughout, Fit, Steps, Reading, Checkpoint], Checkpoint),
        (&[Throughout, Fit, Steps, End], End),
    ]
};

/// Bytes of all items of these phases in one kind of memory.
fn sum(items: &[Item], memory: Memory, phases: &[Phase]) -> u64 {
    let allocated = items
        .iter()
        .filter(|item| item.memory == memory && phases.contains(&item.phase));
    allocated.fold(0, |sum, item| sum.saturating_add(item.bytes))
}

/// Bytes by which the items of a phase can grow before the peak exceeds `limit`.
pub(crate) fn room(items: &[Item], memory: Memory, phase: Phase, limit: u64) -> u64 {
    let parts = PARTS.iter().filter(|(phases, _)| phases.contains(&phase));
    let largest = parts.map(|(phases, _)| sum(items, memory, phases)).max();
    limit.saturating_sub(largest.unwrap_or_default())
}

/// The peak of one kind of memory in bytes, and the phase in which it occurs.
pub(crate) fn peak(items: &[Item], memory: Memory) -> (u64, Phase) {
    // Ties go to the first part.
    PARTS
        .into_iter()
        .map(|(phases, name)| (sum(items, memory, phases), name))
        .fold(
            (0, Phase::Steps),
            |best, next| if next.0 > best.0 { next } else { best },
        )
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Memory::Ram => "RAM",
            Memory::Vram => "VRAM",
            Memory::Disk => "disk",
        })
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Throughout => "throughout",
            Phase::Fit => "during the fit",
            Phase::Checking => "while checking the counts",
            Phase::Starting => "while initialising",
            Phase::Steps => "during the steps",
            Phase::Reading => "while reading batches",
            Phase::Pass => "during passes over the documents",
            Phase::Checkpoint => "while writing a checkpoint",
            Phase::End => "while returning L and F",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_that_of_the_largest_phase() {
        let items = [
            Item::ram("base", Phase::Throughout, 100),
            Item::ram("start", Phase::Starting, 30),
            Item::ram("batch", Phase::Steps, 20),
            Item::ram("copy", Phase::Checkpoint, 15),
            Item::ram("buffers", Phase::Checking, 25),
            Item::vram("table", Phase::Throughout, 7),
            Item::new("X", Memory::Disk, Phase::Throughout, 1 << 40),
        ];
        assert_eq!(peak(&items, Memory::Ram), (135, Phase::Checkpoint));
        assert_eq!(peak(&items[..3], Memory::Ram), (130, Phase::Starting));
        // The tables are not allocated yet while the counts are checked.
        let tables = [
            Item::ram("table", Phase::Fit, 10),
            Item::ram("buffers", Phase::Checking, 25),
        ];
        assert_eq!(peak(&tables, Memory::Ram), (25, Phase::Checking));
        assert_eq!(peak(&items, Memory::Vram), (7, Phase::Steps));
        // Memory of a pass is freed before L and F are returned.
        let passes = [
            Item::ram("statistics", Phase::Pass, 10),
            Item::ram("L and F", Phase::End, 9),
        ];
        assert_eq!(peak(&passes, Memory::Ram), (10, Phase::Steps));
        // What the buffers of batches leave: a checkpoint comes on top of them, the start does not.
        assert_eq!(room(&items, Memory::Ram, Phase::Reading, 200), 65);
        assert_eq!(room(&items, Memory::Ram, Phase::Checking, 200), 75);
        assert_eq!(room(&items, Memory::Ram, Phase::Reading, 100), 0);
        let huge = [
            Item::ram("a", Phase::Throughout, u64::MAX),
            Item::ram("b", Phase::Steps, 5),
        ];
        assert_eq!(peak(&huge, Memory::Ram).0, u64::MAX);
    }
}
