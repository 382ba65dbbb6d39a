//! The update of a term shard in tiles, topic by topic.

use crate::kernels::{BLOCK_TERMS, TERMS, TableShape};
use crate::step::update::Rule;
use crate::system::{Vector, exp};

use super::update_pass::{Constants, Tables, advance, raise, state_tables};

/// Updates the logits of a shard, and replaces their exponentials before the step by the ones after it. `None` stands for
/// gradients of zero.
#[inline(always)]
pub(super) fn update_tiles<V: Vector, const S: usize>(
    rule: impl Rule<S>,
    tables: Tables<'_>,
    exps: &mut [f32],
    gradient: Option<&[f32]>,
    shape: &TableShape,
    constants: &Constants,
) {
    let zeros = [0.0; TERMS];
    let topics = constants.topics();
    for (tile, values) in shape.tiles() {
        for topic in 0..topics {
            let (total, offset) = constants.of(topic);
            let row = values.start + topic * tile.width;
            let at = row..row + tile.terms.len();
            let gradient = gradient.map_or(&zeros[..], |values| &values[at.clone()]);
            let logits = &mut tables.logits[at.clone()];
            let (first, second) = state_tables(tables.state, at.clone());
            let exps = &mut exps[at];
            advance(rule, logits, first, second, exps, gradient, |_| total);
            let lanes = topic * BLOCK_TERMS..(topic + 1) * BLOCK_TERMS;
            let sums = &mut tables.lanes.sums[lanes.clone()];
            let largest = &mut tables.lanes.largest[lanes];
            for (logits, exps) in logits.chunks(BLOCK_TERMS).zip(exps.chunks_mut(BLOCK_TERMS)) {
                replace_exponentials(logits, offset, exps, sums);
                raise::<V>(largest, logits);
            }
        }
    }
}

/// Recomputes the exponentials from logits after a step, and adds them to the sums of their lanes.
#[inline(always)]
fn replace_exponentials(logits: &[f32], offset: f32, exps: &mut [f32], sums: &mut [f32]) {
    // Slices of equal lengths let the compiler drop the bounds checks.
    let (exps, sums) = (&mut exps[..logits.len()], &mut sums[..logits.len()]);
    for i in 0..logits.len() {
        exps[i] = exp(logits[i] - offset);
        sums[i] += exps[i];
    }
}
