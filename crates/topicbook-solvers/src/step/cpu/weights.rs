//! The rows of L of a batch, as the sums over F's exponentials need them.

use crate::kernels::DOCUMENTS;
use crate::system::LANES;

/// The weights of a batch's documents: rows of L times the scales of F's exponentials.
pub struct Weights<'a> {
    /// The documents' rows in the view of the counts.
    pub rows: &'a [usize],
    /// Documents x width, both padded with zeros: to whole tiles and to whole registers.
    pub padded: Vec<f32>,
    /// Documents x topics, padded with documents of zeros to whole tiles.
    pub by_document: Vec<f32>,
    pub topics: usize,
    /// Topics, rounded up to whole registers.
    pub width: usize,
    /// For each topic, the offset that is subtracted from F's logits before the exponential; padded to whole registers.
    pub offsets: Vec<f32>,
}

impl<'a> Weights<'a> {
    /// From rows of L (documents x topics), and the scales and offsets of F's topics.
    pub fn new(rows: &'a [usize], l: &[f32], scales: &[f64], offsets: &[f32]) -> Self {
        let topics = scales.len();
        let width = topics.next_multiple_of(LANES);
        let documents = rows.len().next_multiple_of(DOCUMENTS);
        let mut padded = vec![0.0; documents * width];
        let mut by_document = vec![0.0; documents * topics];
        let rows_of_l = l.chunks_exact(topics);
        let tables = padded
            .chunks_exact_mut(width)
            .zip(by_document.chunks_exact_mut(topics));
        for (l, (padded, by_document)) in rows_of_l.zip(tables) {
            for ((value, weight), scale) in by_document.iter_mut().zip(l).zip(scales) {
                *value = (f64::from(*weight) * scale) as f32;
            }
            padded[..topics].copy_from_slice(by_document);
        }
        let mut offsets = offsets.to_vec();
        offsets.resize(width, 0.0);
        Self {
            rows,
            padded,
            by_document,
            topics,
            width,
            offsets,
        }
    }
}
