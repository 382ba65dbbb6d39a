//! Notes of a plan about placements that do not fit the limits.

use crate::config::Solver;
use crate::text::{bytes, count};

use super::candidate::PlanCandidate;
use super::search::Search;

/// One note for each difference between the candidate found and the requested one.
pub(super) fn notes(search: &Search, found: &PlanCandidate) -> Vec<String> {
    let (requested, limits) = (&search.requested, &search.limits);
    let batch = requested.shape.micro_batch;
    let mut notes = Vec::new();
    let mut all_resident = requested.clone();
    all_resident.resident = true;
    let all_resident = all_resident.peak_vram();
    if let Some(vram) = limits.vram
        && search.can_be_resident(found)
        && all_resident > vram
    {
        notes.push(format!(
            "Keeping all counts on the GPU would need {} of VRAM, {} more than the limit{}.",
            bytes(all_resident),
            bytes(all_resident - vram),
            match found.resident {
                true => "",
                false => ": X is uploaded part by part in every epoch",
            }
        ));
    }
    if found.stream.is_some() && !search.prefers_stream() {
        let mut in_place = found.clone();
        in_place.stream = None;
        if in_place.peak() > limits.ram {
            notes.push(format!(
                "Read in place, the counts would take the fit to {} of RAM: they are streamed from their file.{}",
                bytes(in_place.peak()),
                match found.solver {
                    Solver::CoordinateDescent(_) | Solver::Auto(_) =>
                        " Streamed, L is fitted by coordinate descent and F by expectation-maximisation.",
                    _ => "",
                }
            ));
        }
    }
    let gradient_steps = !found.solver.is_full_pass();
    if limits.gpu() && gradient_steps && found.shape.l_on_host && !requested.shape.l_on_host {
        let mut whole = found.with_micro_batch(batch);
        whole.shape.l_on_host = false;
        notes.push(format!(
            "With L's logits and their optimizer state on the GPU a step would need {} of VRAM: they are offloaded to host memory; the rows of a batch are uploaded and their gradients downloaded. The result is the same up to rounding.",
            bytes(whole.peak_vram())
        ));
    }
    if found.shape.micro_batch < batch {
        let (whole, micro_batch) = (found.with_micro_batch(batch), found.shape.micro_batch);
        let (memory, needs) = match limits.vram {
            Some(vram) if whole.peak_vram() > vram => ("VRAM", whole.peak_vram()),
            _ => ("RAM", whole.peak()),
        };
        notes.push(format!(
            "Gradients of {} documents at once would need {} of {memory}: they are accumulated over micro-batches of {}. The result is the same up to rounding.",
            count(batch),
            bytes(needs),
            count(micro_batch)
        ));
    }
    if found.shape.l_in_file && !requested.shape.l_in_file {
        notes.push(format!(
            "L's logits and their optimizer state ({}) do not fit the RAM budget: they are kept in memory-mapped files in the spill folder. The result is the same. Optimizer::RowwiseAdamW is faster with mapped files, keeps a third less, and learns as much from the same number of epochs.",
            bytes(found.shape.l_bytes())
        ));
    }
    notes
}
