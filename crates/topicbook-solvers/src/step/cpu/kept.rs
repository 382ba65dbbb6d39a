//! The nonzero counts of a batch in a shard whose part of F's gradient is still to be added. The update adds it to a table of one
//! shard, which stays in the thread's caches: a table of the whole of F would be written to RAM and read again in each step.

use crate::kernels::{WIDEST, registers, with_registers};
use crate::system::{LANES, Vector, simd_dispatch};

use super::row_gradient::RowGradient;

/// Nonzero counts for each term of a shard that are kept, at most and on average. A batch with more of them adds them to the
/// shard's own table, so that memory does not grow with the batch.
pub(super) const KEPT_PER_TERM: usize = 4;

/// The nonzero counts of documents that follow one another.
#[derive(Default)]
pub(super) struct Kept {
    /// The place of the first document in its batch.
    first: usize,
    /// Where each document's nonzero counts end.
    ends: Vec<usize>,
    /// The term of each nonzero count, counted from the shard's first one.
    terms: Vec<u32>,
    /// The count divided by its rate.
    ratios: Vec<f32>,
}

impl Kept {
    /// The number of nonzero counts.
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Begins with the first document of a batch.
    pub(super) fn start(&mut self) {
        self.first = 0;
        self.clear();
    }

    /// Keeps the nonzero counts of the next document, whose columns are counted from `first`. There may be more ratios.
    pub(super) fn push(&mut self, columns: &[u32], first: u32, ratios: &[f32]) {
        self.terms
            .extend(columns.iter().map(|column| column - first));
        self.ratios.extend_from_slice(&ratios[..columns.len()]);
        self.ends.push(self.terms.len());
    }

    /// Adds the ratios times the weights of their documents to the gradients, and keeps the documents after them from now on.
    /// `weights` are those of the whole batch, in rows of whole registers.
    pub(super) fn add_to(&mut self, gradient: &mut RowGradient, weights: &[f32]) {
        let width = gradient.topics().next_multiple_of(LANES);
        let (topics, gradients) = (gradient.topics(), gradient.values_of(&self.terms));
        let documents = weights.chunks_exact(width).skip(self.first);
        let mut start = 0;
        for (&end, weights) in self.ends.iter().zip(documents) {
            let nonzeros = (&self.terms[start..end], &self.ratios[start..end]);
            scatter(weights, nonzeros, gradients, topics);
            start = end;
        }
        self.first += self.ends.len();
        self.clear();
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.terms.clear();
        self.ratios.clear();
    }
}

simd_dispatch! {
    /// Adds each ratio times a document's weights to its term's gradient: in whole registers, of which the last reaches into the
    /// row of the next term and adds zeros there.
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
            let mut kept = Kept::default();
            let mut gradient = RowGradient::new(terms, topics);
            kept.start();
            for (at, (columns, ratios)) in documents.into_iter().enumerate() {
                kept.push(columns, 100, ratios);
                if at + 1 == added_after {
                    assert!(gradient.is_clear());
                    kept.add_to(&mut gradient, &weights);
                    assert_eq!(kept.len(), 0);
                }
            }
            kept.add_to(&mut gradient, &weights);
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
                    assert_eq!(gradient.value(term, topic), expected, "term {term}");
                }
            }
        }
    }
}
