//! The nonzero counts of a batch in a term shard whose contribution to F's gradient is still to be added.
//!
//! With e the exponentials of F's logits (terms x topics) and `weights` the documents' rows of L times the scales of the topics
//! (documents x topics), the plain loop of a step is:
//!
//! ```text
//! for each document d of the batch, for each nonzero count x of a term j:
//!     rate = weights[d] . e[j]
//!     ratio = x / rate, or 0 for a rate below SMALLEST_RATE
//!     weight_gradients[d] += ratio * e[j]
//!     G[j] += ratio * weights[d]
//! for each term j: update the logits with G[j] (update_pass.rs); G[j] = 0
//! ```
//!
//! G is as large as F. A step would write it to RAM and read it again, so the code defers the last line of the first loop:
//!
//! 1. `sparse.rs` keeps term and ratio of each nonzero count (8 bytes), document by document.
//! 2. The update of a shard calls [`add_kept`] for a table of that shard's terms, and reads the table at once. The table belongs
//!    to the thread (`scratch.rs`) and stays in its caches.
//! 3. Three cases do not wait for the update, and add to a table that belongs to the shard. There may be more than [`KEPT_PER_TERM`]
//!    counts for each term; the next micro-batch has other weights; clipping needs the norm of the gradient.
//! 4. A document's weights stay in registers, 64 topics at a time. Rows of G are written in whole registers: the last one reaches
//!    into the next term's row, and adds the zeros there that pad the weights.
//!
//! The plain loop gives the same bits: each entry of G gets the same fused multiply-adds, in the order of the documents.

use crate::kernels::{DocumentNonzeros, WIDEST, registers, with_registers};
use crate::system::{LANES, Vector, simd_dispatch};

use super::row_gradient::RowGradient;

/// Upper limit on kept nonzero counts, per term of the shard. A batch with more adds them to the shard's own table, so that memory
/// does not grow with the batch.
pub(super) const KEPT_PER_TERM: usize = 4;

/// Adds kept ratios times the weights of their documents to the gradients, and forgets them. Terms are counted from the shard's first
/// one, documents from the batch's. `weights` has the whole batch, in rows of whole registers.
pub(super) fn add_kept(kept: &mut DocumentNonzeros, gradient: &mut RowGradient, weights: &[f32]) {
    let width = gradient.topics().next_multiple_of(LANES);
    let (topics, gradients) = (gradient.topics(), gradient.values_of(&kept.columns));
    let documents = weights.chunks_exact(width).skip(kept.first);
    for (at, weights) in kept.ranges().zip(documents) {
        let nonzeros = (&kept.columns[at.clone()], &kept.values[at]);
        scatter(weights, nonzeros, gradients, topics);
    }
    kept.restart(kept.first + kept.ends.len());
}

simd_dispatch! {
    /// Adds each ratio times a document's weights to its term's gradient, in whole registers.
    fn scatter<V: Vector>(
        weights: &[f32],
        nonzeros: (&[u32], &[f32]),
        gradients: &mut [f32],
        topics: usize,
    ) {
        for (block, weights) in weights.chunks(WIDEST).enumerate() {
            let gradients = &mut gradients[block * WIDEST..];
            with_registers!(weights, R => {
                scatter_block::<V, R>(weights, nonzeros, gradients, topics)
            });
        }
    }
}

#[inline(always)]
fn scatter_block<V: Vector, const R: usize>(
    weights: &[f32],
    (terms, ratios): (&[u32], &[f32]),
    gradients: &mut [f32],
    topics: usize,
) {
    let weights = registers::<V, R>(weights);
    for (&term, &ratio) in terms.iter().zip(ratios) {
        let ratio = V::splat(ratio);
        let out = &mut gradients[term as usize * topics..][..R * LANES];
        for (weights, out) in weights.iter().zip(out.as_chunks_mut().0) {
            weights.mul_add(ratio, V::load(out)).store(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_the_same_wherever_they_are_added() {
        let (terms, topics, width) = (40, 20, 2 * LANES);
        let documents: [(&[u32], &[f32]); 3] = [
            (&[100, 103, 139], &[0.5, 2.0, 3.0]),
            (&[], &[]),
            (&[101, 103], &[1.5, 7.0]),
        ];
        let mut weights = vec![0.0; documents.len() * width];
        for (document, weights) in weights.chunks_exact_mut(width).enumerate() {
            for (topic, weight) in weights[..topics].iter_mut().enumerate() {
                *weight = (document * topics + topic) as f32 / 7.0;
            }
        }
        // Added after each number of documents, and at the end.
        for added_after in 1..=documents.len() {
            let mut kept = DocumentNonzeros::default();
            let mut gradient = RowGradient::new(terms, topics);
            for (at, (columns, ratios)) in documents.into_iter().enumerate() {
                kept.extend(columns.iter().map(|column| column - 100), ratios);
                kept.end_document();
                if at + 1 == added_after {
                    assert!(gradient.is_clear());
                    add_kept(&mut kept, &mut gradient, &weights);
                    assert!(kept.columns.is_empty());
                }
            }
            add_kept(&mut kept, &mut gradient, &weights);
            assert!(!gradient.is_clear());
            for term in 0..terms {
                for topic in 0..topics {
                    let mut expected = 0.0f32;
                    for (document, (columns, ratios)) in documents.into_iter().enumerate() {
                        for (column, ratio) in columns.iter().zip(ratios) {
                            if *column as usize == 100 + term {
                                expected =
                                    weights[document * width + topic].mul_add(*ratio, expected);
                            }
                        }
                    }
                    assert_eq!(
                        gradient.value(term * topics + topic),
                        expected,
                        "term {term}"
                    );
                }
            }
        }
    }
}
