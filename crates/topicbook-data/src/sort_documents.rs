//! The order of documents by their topics.

use super::matrix::Matrix;

/// The order of documents in a structure plot, as row indices of `l`: by dominant topic, then by falling proportion of
/// that topic. Ties keep their order.
///
/// The dominant topic of a row is the one with the largest value, the first if there are several. Its proportion is
/// that value divided by the sum of the row.
///
/// ```
/// use topicbook::{Matrix, sort_documents};
/// let l = Matrix::new(3, 2, vec![0.1, 0.9, 0.6, 0.4, 0.8, 0.2])?;
/// assert_eq!(sort_documents(&l), [2, 1, 0]);
/// # Ok::<(), topicbook::Error>(())
/// ```
pub fn sort_documents(l: &Matrix) -> Vec<usize> {
    let keys: Vec<(usize, f64)> = (0..l.rows())
        .map(|document| {
            let row = l.row(document);
            let topic = dominant(row);
            let largest = row.get(topic).copied().unwrap_or(0.0);
            (topic, f64::from(largest) / row_sum(row))
        })
        .collect();
    let mut order: Vec<usize> = (0..l.rows()).collect();
    order.sort_by(|&a, &b| {
        let ((topic_a, proportion_a), (topic_b, proportion_b)) = (keys[a], keys[b]);
        topic_a
            .cmp(&topic_b)
            .then(proportion_b.total_cmp(&proportion_a))
    });
    order
}

/// The index of the largest value, the first if there are several.
pub fn dominant(row: &[f32]) -> usize {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter().position(|&value| value == largest).unwrap_or(0)
}

/// The sum of a row.
pub fn row_sum(row: &[f32]) -> f64 {
    row.iter().map(|&value| f64::from(value)).sum()
}
