//! Notes of a plan about placements that do not fit the limits.

use crate::config::Solver;
use crate::text::{bytes, count};

use super::candidate::PlanCandidate;
use super::limits::Limits;

/// One note for each difference between the candidate found and the requested one. `all_resident`: bytes of VRAM with
/// all counts resident, if that is possible. `in_place_preferred`: whether the file is small enough to be read in place.
pub(super) fn notes(
    requested: &PlanCandidate,
    found: &PlanCandidate,
    limits: &Limits,
    (all_resident, in_place_preferred): (Option<u64>, bool),
) -> Vec<String> {
    let batch = requested.shape.micro_batch;
    let mut notes = Vec::new();
    if let (Some(all_resident), Some(vram)) = (all_resident, limits.vram)
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
    if found.stream.is_some() && in_place_preferred {
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
