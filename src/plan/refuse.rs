//! The message for a fit that no budget of this size allows, with the smallest changes that would make it fit.

use super::choose::Case;
use super::item::{Item, Lives, peak};
use crate::display::bytes;
use crate::error::{Error, ErrorKind};

/// Why there is no plan.
pub(super) struct Refusal {
    /// What the most frugal way takes.
    pub(super) items: Vec<Item>,
    pub(super) lives: Lives,
    pub(super) budget: u64,
    pub(super) least: u64,
}

/// Items that the message names.
const NAMED: usize = 4;

pub(super) fn refuse(case: &Case, refusal: &Refusal, given: bool) -> Error {
    let Refusal {
        items,
        lives,
        budget,
        least,
    } = refusal;
    let mut there: Vec<&Item> = items.iter().filter(|item| item.lives == *lives).collect();
    there.sort_by_key(|item| std::cmp::Reverse(item.bytes));
    let largest: Vec<String> = there
        .iter()
        .take(NAMED)
        .map(|item| format!("{} {}", item.what, bytes(item.bytes)))
        .collect();
    let whose = match given {
        true => "the budget is",
        false => "what is free, less a margin, makes a budget of",
    };
    let (_, when) = peak(items, *lives);
    let mut changes = vec![match (lives, given) {
        (Lives::Card, false) => format!(
            "end what else uses the card, until {} are free",
            up(*least + *least / 9)
        ),
        _ => format!("give a budget of at least {}", up(*least)),
    }];
    changes.extend(smaller(case, |case| match lives {
        Lives::Card => case.peak_vram() <= *budget,
        _ => case.peak() <= *budget,
    }));
    Error::new(
        ErrorKind::Space,
        format!(
            "this fit needs {} of {lives} ({when}), and {whose} {}",
            bytes(*least),
            bytes(*budget)
        ),
    )
    .at(format!("the largest of it: {}", largest.join(", ")))
    .fix(changes.join("; or "))
}

/// Whole MiB, rounded up, so that the budget named is enough.
fn up(size: u64) -> String {
    const MIB: u64 = 1 << 20;
    format!("{} MiB", size.div_ceil(MIB))
}

/// Changes of the settings, each enough by itself.
fn smaller(case: &Case, fits: impl Fn(&Case) -> bool) -> Vec<String> {
    let mut changes = Vec::new();
    let mut try_change = |change: &dyn Fn(&mut Case), text: String| {
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
    if case.counts.held + case.counts.to_read > 0 {
        // Counts in a file are no longer part of the process, once nothing else holds them.
        try_change(
            &|case| {
                case.taken -= case.counts.held.min(case.taken);
                case.counts = Default::default();
            },
            "keep the counts in a file (write_npy, then Counts::open in a new kernel)".into(),
        );
    }
    let fewer = |topics: u64| {
        let mut other = case.clone();
        other.shape.topics = topics;
        fits(&other)
    };
    // The largest number of topics that fits: memory grows with it.
    let (mut enough, mut breaks) = (0, case.shape.topics);
    while breaks - enough > 1 {
        let middle = (enough + breaks) / 2;
        match fewer(middle) {
            true => enough = middle,
            false => breaks = middle,
        }
    }
    if enough > 0 {
        changes.push(format!("use k = {enough} instead of {}", case.shape.topics));
    }
    changes
}
