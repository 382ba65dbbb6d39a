//! The indices of the largest values of a row.

/// Indices of the `n` largest values, or of all if there are fewer, largest first and ties by index.
///
/// The order is that of [`f32::total_cmp`], in which a positive NaN is the largest value. Selects in O(length), then
/// sorts the `n` selected.
pub(crate) fn top_n(values: &[f32], n: usize) -> Vec<usize> {
    let descending = |&a: &usize, &b: &usize| values[b].total_cmp(&values[a]).then(a.cmp(&b));
    let mut indices: Vec<usize> = (0..values.len()).collect();
    if n < indices.len() {
        indices.select_nth_unstable_by(n, descending);
        indices.truncate(n);
    }
    indices.sort_unstable_by(descending);
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_ordered_by_index_and_nan_comes_first() {
        let values = [0.1, 0.3, f32::NAN, 0.3, 0.0];
        assert!(top_n(&values, 0).is_empty());
        assert_eq!(top_n(&values, 2), [2, 1]);
        assert_eq!(top_n(&values, 5), [2, 1, 3, 0, 4]);
        assert_eq!(top_n(&values, 9), [2, 1, 3, 0, 4]);
    }
}
