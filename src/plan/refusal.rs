//! The error for a fit that does not fit the limits, with the smallest changes that would make it fit.

use crate::cost::{Item, Memory, peak};
use crate::error::{Error, Result};
use crate::text::bytes;

use super::candidate::PlanCandidate;
use super::search::Search;

/// Number of items that the message lists.
const LARGEST_ITEMS: usize = 4;

/// Bytes by which the process may grow before the fit is planned again with the budget that the message names: the next
/// cell of a notebook loads its code, and this error is kept.
pub(super) const GROWTH: u64 = 1 << 17;

/// The candidate that needs least of the memory that is too small.
struct Smallest {
    candidate: PlanCandidate,
    memory: Memory,
    /// Bytes of RAM that this candidate needs as well, where the limit of RAM is too small for it.
    ram_needed: Option<u64>,
}

/// The error for a refused fit.
///
/// # Errors
/// When the candidates cannot be enumerated.
pub(super) fn refuse(search: &Search<'_>) -> Result<Error> {
    let limits = &search.limits;
    let Some(smallest) = smallest(search)? else {
        return Ok(Error::space("there is no way to run this fit"));
    };
    let (candidate, memory) = (&smallest.candidate, smallest.memory);
    let (items, limit, from_budget) = match memory {
        Memory::Vram => (candidate.vram(), limits.vram, limits.vram_given),
        _ => (candidate.ram(), Some(limits.ram), limits.ram_given),
    };
    let (needed, phase) = peak(&items, memory);
    let mut in_memory: Vec<&Item> = items.iter().filter(|item| item.memory == memory).collect();
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
    let ram_too = smallest.ram_needed.map_or(String::new(), |ram| {
        format!(" of VRAM and {} of RAM", in_mib(ram.saturating_add(GROWTH)))
    });
    let mut changes = vec![match (memory, from_budget) {
        (Memory::Vram, false) => format!(
            "end other processes that use the GPU, until {} are free",
            in_mib(needed.saturating_add(needed / 9))
        ),
        (Memory::Vram, true) => format!("give a budget of at least {}{ram_too}", in_mib(needed)),
        _ => format!(
            "give a budget of at least {}",
            in_mib(needed.saturating_add(GROWTH))
        ),
    }];
    changes.extend(sufficient_changes(search, candidate)?);
    Ok(Error::space(format!(
        "this fit needs {} of {memory} ({phase}), but {source} {}",
        bytes(needed),
        bytes(limit.unwrap_or_default())
    ))
    .at(format!("the largest items: {}", largest.join(", ")))
    .fix(changes.join("; or ")))
}

/// The candidate that the message is about: the one that needs the least RAM among the candidates that fit VRAM. Where there
/// are none, it is the one that needs the least VRAM, if possible among the candidates that fit RAM.
fn smallest(search: &Search<'_>) -> Result<Option<Smallest>> {
    let fits_vram = |candidate: &PlanCandidate| search.fits_vram(candidate);
    let fits_ram = |candidate: &PlanCandidate| search.fits_ram(candidate);
    let of = |candidate, memory, ram_needed| {
        Some(Smallest {
            candidate,
            memory,
            ram_needed,
        })
    };
    let in_vram = search.candidates()?.filter(fits_vram);
    if let Some(candidate) = in_vram.min_by_key(PlanCandidate::peak) {
        return Ok(of(candidate, Memory::Ram, None));
    }
    let in_ram = search.candidates()?.filter(fits_ram);
    if let Some(candidate) = in_ram.min_by_key(PlanCandidate::peak_vram) {
        return Ok(of(candidate, Memory::Vram, None));
    }
    let least = |candidate: &PlanCandidate| (candidate.peak_vram(), candidate.peak());
    let both = search.candidates()?.min_by_key(least);
    Ok(both.and_then(|candidate| {
        let ram = candidate.peak();
        of(candidate, Memory::Vram, Some(ram))
    }))
}

/// Formats a size in MiB, rounded up, so that a budget of that size is enough.
fn in_mib(size: u64) -> String {
    const MIB: u64 = 1 << 20;
    format!("{} MiB", size.div_ceil(MIB))
}

/// Descriptions of changes, each of which is enough by itself.
fn sufficient_changes(search: &Search<'_>, smallest: &PlanCandidate) -> Result<Vec<String>> {
    let fits_with = |change: &dyn Fn(&mut PlanCandidate)| -> Result<bool> {
        let mut changed = search.clone();
        change(&mut changed.requested);
        Ok(changed.first_that_fits()?.is_some())
    };
    let mut changes = Vec::new();
    let requested = &search.requested;
    if requested.checkpoint && fits_with(&|case| case.checkpoint = false)? {
        changes.push("fit without checkpoints".into());
    }
    // Counts in a file are no longer part of the process, once nothing else holds them.
    let in_file = |case: &mut PlanCandidate| {
        case.before.baseline -= case.before.counts.loaded.min(case.before.baseline);
        case.before.counts = Default::default();
    };
    if smallest.counts_in_memory() > 0 && fits_with(&in_file)? {
        let how = "keep the counts in a file (write_npy, then Counts::open in a new kernel)";
        changes.push(how.into());
    }
    let l_in_file = |case: &mut PlanCandidate| {
        (case.shape.l_on_host, case.shape.l_in_file) = (true, true);
    };
    if search.uses_gradient_steps()
        && search.can_offload()
        && !smallest.shape.l_in_file
        && fits_with(&l_in_file)?
    {
        let size = bytes(smallest.shape.l_bytes());
        changes.push(format!(
            "name a folder on a disk for L's logits and optimizer state (Budget::spill_dir, {size})"
        ));
    }
    // Binary search for the largest number of topics that fits; memory grows with it.
    let (mut fitting, mut too_many) = (0, requested.shape.topics);
    while too_many - fitting > 1 {
        let middle = (fitting + too_many) / 2;
        match fits_with(&|case| case.shape.topics = middle)? {
            true => fitting = middle,
            false => too_many = middle,
        }
    }
    if fitting > 0 {
        changes.push(format!(
            "use k = {fitting} instead of {}",
            requested.shape.topics
        ));
    }
    Ok(changes)
}
