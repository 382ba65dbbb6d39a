//! Items of memory use: what is allocated, in which memory, in which phase.

use std::fmt;

/// An allocation, or a group of them, in one kind of memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The purpose of the memory.
    pub consumer: Consumer,
    /// The description that a plan shows.
    pub what: String,
    pub memory: Memory,
    pub phase: Phase,
    pub bytes: u64,
}

/// What memory is for: the five consumers of training, the process before the fit, and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consumer {
    /// L and F, or their logits.
    Parameters,
    /// Gradients, and the sums of solvers that have none.
    Gradients,
    /// The optimizer's state, such as AdamW's moments.
    OptimizerStates,
    /// Values that the forward pass keeps for the backward pass.
    Activations,
    /// The counts, and the batches that are made from them.
    Counts,
    /// The process before the fit.
    Process,
    /// Threads and scratch.
    Rest,
}

impl Consumer {
    /// All of them, in the order of tables and charts.
    pub const ALL: [Self; 7] = [
        Self::Parameters,
        Self::Gradients,
        Self::OptimizerStates,
        Self::Activations,
        Self::Counts,
        Self::Process,
        Self::Rest,
    ];
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::OptimizerStates => "optimizer states",
            Self::Activations => "activations",
            Self::Counts => "counts and batches",
            Self::Process => "process before the fit",
            Self::Rest => "threads and scratch",
        })
    }
}

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Anonymous memory of the process.
    Ram,
    /// Memory of the GPU.
    Vram,
    /// A file. Its pages in RAM belong to the page cache, which the system can reclaim.
    Disk,
}

/// The part of a fit during which an item is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
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
    /// In each step on tensors, while the loss of a batch and its gradients are computed.
    Gradients,
    /// In each step on tensors, while the optimizer updates the tables.
    Update,
    /// While a checkpoint is written.
    Checkpoint,
    /// While L and F are returned.
    End,
}

impl Item {
    pub fn new(
        consumer: Consumer,
        what: impl Into<String>,
        memory: Memory,
        phase: Phase,
        bytes: u64,
    ) -> Self {
        Self {
            consumer,
            what: what.into(),
            memory,
            phase,
            bytes,
        }
    }

    pub fn ram(consumer: Consumer, what: impl Into<String>, phase: Phase, bytes: u64) -> Self {
        Self::new(consumer, what, Memory::Ram, phase, bytes)
    }

    pub fn vram(consumer: Consumer, what: impl Into<String>, phase: Phase, bytes: u64) -> Self {
        Self::new(consumer, what, Memory::Vram, phase, bytes)
    }
}

/// The parts of a fit, one after the other: the phases whose items are allocated at the same time, and the name of the part.
/// The first part lasts longest.
const PARTS: [(&[Phase], Phase); 7] = {
    use self::Phase::*;
    [
        (&[Throughout, Fit, Steps, Reading, Pass], Steps),
        (
            &[Throughout, Fit, Steps, Reading, Pass, Gradients],
            Gradients,
        ),
        (&[Throughout, Fit, Steps, Reading, Pass, Update], Update),
        (&[Throughout, Checking], Checking),
        (&[Throughout, Fit, Starting], Starting),
        (&[Throughout, Fit, Steps, Reading, Checkpoint], Checkpoint),
        (&[Throughout, Fit, Steps, End], End),
    ]
};

/// The bytes that are allocated at once in the part of a fit with this name; `None` for a phase that belongs to several
/// parts.
pub fn in_part(items: &[Item], memory: Memory, name: Phase) -> Option<u64> {
    let part = PARTS.iter().find(|(_, part)| *part == name);
    part.map(|(phases, _)| sum(items, memory, phases))
}

/// Bytes of all items of these phases in one kind of memory.
fn sum(items: &[Item], memory: Memory, phases: &[Phase]) -> u64 {
    let allocated = items
        .iter()
        .filter(|item| item.memory == memory && phases.contains(&item.phase));
    allocated.fold(0, |sum, item| sum.saturating_add(item.bytes))
}

/// Bytes by which the items of a phase can grow before the peak exceeds `limit`.
pub fn room(items: &[Item], memory: Memory, phase: Phase, limit: u64) -> u64 {
    let parts = PARTS.iter().filter(|(phases, _)| phases.contains(&phase));
    let largest = parts.map(|(phases, _)| sum(items, memory, phases)).max();
    limit.saturating_sub(largest.unwrap_or_default())
}

/// The peak of one kind of memory in bytes, and the phase in which it occurs.
pub fn peak(items: &[Item], memory: Memory) -> (u64, Phase) {
    let (bytes, (_, name)) = largest_part(items, memory);
    (bytes, name)
}

/// The items that are allocated at the peak of one kind of memory.
pub fn at_peak(items: &[Item], memory: Memory) -> impl Iterator<Item = &Item> {
    let (_, (phases, _)) = largest_part(items, memory);
    items
        .iter()
        .filter(move |item| item.memory == memory && phases.contains(&item.phase))
}

/// The part that needs most of one kind of memory, and its bytes. Ties go to the first part.
fn largest_part(items: &[Item], memory: Memory) -> (u64, (&'static [Phase], Phase)) {
    let sums = PARTS
        .into_iter()
        .map(|part| (sum(items, memory, part.0), part));
    sums.reduce(|best, next| if next.0 > best.0 { next } else { best })
        .unwrap_or((0, PARTS[0]))
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
            Phase::Gradients => "while gradients are computed",
            Phase::Update => "while the tables are updated",
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
            Item::ram(Consumer::Rest, "base", Phase::Throughout, 100),
            Item::ram(Consumer::Rest, "start", Phase::Starting, 30),
            Item::ram(Consumer::Rest, "batch", Phase::Steps, 20),
            Item::ram(Consumer::Rest, "copy", Phase::Checkpoint, 15),
            Item::ram(Consumer::Rest, "buffers", Phase::Checking, 25),
            Item::vram(Consumer::Rest, "table", Phase::Throughout, 7),
            Item::new(
                Consumer::Rest,
                "X",
                Memory::Disk,
                Phase::Throughout,
                1 << 40,
            ),
        ];
        assert_eq!(peak(&items, Memory::Ram), (135, Phase::Checkpoint));
        assert_eq!(peak(&items[..3], Memory::Ram), (130, Phase::Starting));
        // The tables are not allocated yet while the counts are checked.
        let tables = [
            Item::ram(Consumer::Rest, "table", Phase::Fit, 10),
            Item::ram(Consumer::Rest, "buffers", Phase::Checking, 25),
        ];
        assert_eq!(peak(&tables, Memory::Ram), (25, Phase::Checking));
        assert_eq!(peak(&items, Memory::Vram), (7, Phase::Steps));
        // Memory of a pass is freed before L and F are returned.
        let passes = [
            Item::ram(Consumer::Rest, "statistics", Phase::Pass, 10),
            Item::ram(Consumer::Rest, "L and F", Phase::End, 9),
        ];
        assert_eq!(peak(&passes, Memory::Ram), (10, Phase::Steps));
        // The gradients of a step on tensors are computed before its update.
        let tensors = [
            Item::ram(Consumer::Rest, "tables", Phase::Fit, 5),
            Item::ram(Consumer::Activations, "activations", Phase::Gradients, 7),
            Item::ram(Consumer::Gradients, "gradients", Phase::Update, 9),
        ];
        assert_eq!(peak(&tensors, Memory::Ram), (14, Phase::Update));
        assert_eq!(in_part(&tensors, Memory::Ram, Phase::Gradients), Some(12));
        assert_eq!(in_part(&tensors, Memory::Ram, Phase::Fit), None);
        // The room that the buffers of batches leave: a checkpoint is allocated while they are, the start is not.
        assert_eq!(room(&items, Memory::Ram, Phase::Reading, 200), 65);
        assert_eq!(room(&items, Memory::Ram, Phase::Checking, 200), 75);
        assert_eq!(room(&items, Memory::Ram, Phase::Reading, 100), 0);
        let huge = [
            Item::ram(Consumer::Rest, "a", Phase::Throughout, u64::MAX),
            Item::ram(Consumer::Rest, "b", Phase::Steps, 5),
        ];
        assert_eq!(peak(&huge, Memory::Ram).0, u64::MAX);
    }
}
