//! Counts as plain numbers, for comparisons.

use topicbook::Counts;

/// All counts, row by row.
pub fn rows(counts: &Counts) -> Vec<f32> {
    let (documents, terms) = counts.shape();
    let mut rows = vec![0.0; documents * terms];
    counts
        .fill_rows(&(0..documents).collect::<Vec<_>>(), &mut rows)
        .unwrap();
    rows
}
