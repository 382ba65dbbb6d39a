//! The error for a fit that does not fit the limits, with the smallest changes that would make it fit.

use crate::cost::{Item, Memory, peak};
use crate::error::{Error, ErrorKind};
use crate::text::bytes;

use super::candidate::Candidate;

/// The limit that even the smallest candidate exceeds.
pub(super) struct Refusal {
    /// The items of the smallest candidate.
    pub(super) items: Vec<Item>,
    /// The kind of memory whose limit is exceeded.
    pub(super) memory: Memory,
    /// The limit, in bytes.
    pub(super) limit: u64,
    /// Whether the user's budget gives the limit; otherwise it is computed from free memory.
    pub(super) from_budget: bool,
    /// The peak of the smallest candidate, in bytes.
    pub(super) needed: u64,
}

/// Number of items that the message lists.
const LARGEST_ITEMS: usize = 4;

/// The error for a refused fit. `smallest`: the candidate that needs the least memory.
pub(super) fn refuse(smallest: &Candidate, refusal: &Refusal) -> Error {
    let Refusal {
        items,
        memory,
        limit,
        from_budget,
        needed,
    } = refusal;
    let mut in_memory: Vec<&Item> = items.iter().filter(|item| item.memory == *memory).collect();
    in_memory.sort_by_key(|item| std::cmp::Reverse(item.bytes));
    let largest: Vec<String> = in_memory
        .iter()
        .take(LARGEST_ITEMS)
        .map(|item| format!("{} {}", item.what, bytes(item.bytes)))
        .collect();
    let source = match from_budget {
        true => "the budget is",
        false => "the limit (what is free, less a margin) is",
    };
    let (_, phase) = peak(items, *memory);
    let mut changes = vec![match (memory, from_budget) {
        (Memory::Vram, false) => format!(
            "end other processes that use the GPU, until {} are free",
            in_mib(*needed + *needed / 9)
        ),
        _ => format!("give a budget of at least {}", in_mib(*needed)),
    }];
    changes.extend(sufficient_changes(smallest, |case| match memory {
        Memory::Vram => case.peak_vram() <= *limit,
        _ => case.peak() <= *limit,
    }));
    Error::new(
        ErrorKind::Space,
        format!(
            "this fit needs {} of {memory} ({phase}), but {source} {}",
            bytes(*needed),
            bytes(*limit)
        ),
    )
    .at(format!("the largest items: {}", largest.join(", ")))
    .fix(changes.join("; or "))
}

/// Formats a size in MiB, rounded up, so that a budget of that size is enough.
fn in_mib(size: u64) -> String {
    const MIB: u64 = 1 << 20;
    format!("{} MiB", size.div_ceil(MIB))
}

/// Descriptions of changes, each of which is enough by itself.
fn sufficient_changes(case: &Candidate, fits: impl Fn(&Candidate) -> bool) -> Vec<String> {
    let mut changes = Vec::new();
    let mut try_change = |change: &dyn Fn(&mut Candidate), text: String| {
        let mut other = case.clone();
        change(&mut other);
        if fits(&other) {
            changes.push(text);
        }
    };
    if case.checkpoint {
        try_change(
            &|case| case.checkpoint = false,
            "fit without checkpoints".into(),
        );
    }
    if case.counts.loaded + case.counts.to_read > 0 {
        // Counts in a file are no longer part of the process, once nothing else holds them.
        try_change(
            &|case| {
                case.baseline -= case.counts.loaded.min(case.baseline);
                case.counts = Default::default();
            },
            "keep the counts in a file (write_npy, then Counts::open in a new kernel)".into(),
        );
    }
    let shape = &case.shape;
    if !case.solver.is_full_pass() && !shape.l_in_file {
        let size = bytes(shape.l_bytes());
        try_change(
            &|case| (case.shape.l_on_host, case.shape.l_in_file) = (true, true),
            format!(
                "name a folder on a disk for L's logits and optimizer state (Budget::spill_dir, {size})"
            ),
        );
    }
    let fits_with_topics = |topics: u64| {
        let mut other = case.clone();
        other.shape.topics = topics;
        fits(&other)
    };
    // Binary search for the largest number of topics that fits; memory grows with it.
    let (mut fitting, mut too_many) = (0, case.shape.topics);
    while too_many - fitting > 1 {
        let middle = (fitting + too_many) / 2;
        match fits_with_topics(middle) {
            true => fitting = middle,
            false => too_many = middle,
        }
    }
    if fitting > 0 {
        changes.push(format!(
            "use k = {fitting} instead of {}",
            case.shape.topics
        ));
    }
    changes
}
