//! The indices of the largest values of a row, and how similar two rows are.

use std::cmp::Ordering;

/// Indices of the `n` largest values, or of all if there are fewer, largest first and ties by index.
///
/// Values are ordered by [`f32::total_cmp`], in which a positive NaN is the largest value. Takes O(length), then sorts the `n`
/// selected.
pub fn top_n(values: &[f32], n: usize) -> Vec<usize> {
    let mut largest = TopN::new(n);
    largest.add(0, values);
    let sorted = largest.sorted().into_iter();
    sorted.map(|(index, _)| index).collect()
}

/// The `n` largest of values that arrive in chunks, with their indices, in the order of [`top_n`].
///
/// It holds up to 2n candidates. When they are full, a selection keeps the n largest. From then on a value is first compared
/// with the smallest of these: O(values) in all, and one comparison for most values.
pub struct TopN {
    n: usize,
    candidates: Vec<(usize, f32)>,
    /// The n-th largest value at the last selection: later values that are not larger are ignored.
    bound: Option<f32>,
}

impl TopN {
    /// Finds at most `n` items.
    pub fn new(n: usize) -> Self {
        Self {
            n,
            candidates: Vec::new(),
            bound: None,
        }
    }

    /// Maximum number of candidates for `values` values.
    pub fn most_candidates(n: usize, values: usize) -> usize {
        n.saturating_mul(2).min(values)
    }

    /// Adds values whose indices begin at `first`. Indices increase from call to call, so that the first of equal values stay.
    pub fn add(&mut self, first: usize, values: &[f32]) {
        if self.n == 0 {
            return;
        }
        let full = self.n.saturating_mul(2);
        for (offset, value) in values.iter().enumerate() {
            if self
                .bound
                .is_none_or(|bound| value.total_cmp(&bound).is_gt())
            {
                self.candidates.push((first + offset, *value));
                if self.candidates.len() == full {
                    self.select();
                }
            }
        }
    }

    /// The indices and values, largest value first.
    pub fn sorted(mut self) -> Vec<(usize, f32)> {
        if self.candidates.len() > self.n {
            self.select();
        }
        self.candidates.sort_unstable_by(descending);
        self.candidates
    }

    /// Keeps the n largest of at least n candidates. n is not 0.
    fn select(&mut self) {
        let (_, smallest, _) = self
            .candidates
            .select_nth_unstable_by(self.n - 1, descending);
        self.bound = Some(smallest.1);
        self.candidates.truncate(self.n);
    }
}

fn descending(a: &(usize, f32), b: &(usize, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// The cosine of two rows; 0 where one is all zeros.
pub fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum()
    };
    let norms = (dot(left, left) * dot(right, right)).sqrt();
    if norms > 0.0 {
        dot(left, right) / norms
    } else {
        0.0
    }
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
        assert_eq!(top_n(&values, usize::MAX), [2, 1, 3, 0, 4]);
    }

    #[test]
    fn parts_give_what_a_full_sort_gives() {
        // Few different values, so that there are many ties; rising and falling ones.
        let orders: [fn(usize) -> f32; 4] = [
            |at| (at * 37 % 11) as f32,
            |at| at as f32,
            |at| -(at as f32),
            |_| 0.5,
        ];
        for value in orders {
            let values: Vec<f32> = (0..100).map(value).collect();
            for n in [0, 1, 2, 3, 10, 49, 50, 51, 99, 100, 101, 300] {
                let mut expected: Vec<usize> = (0..values.len()).collect();
                expected.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
                expected.truncate(n);
                for part in [1, 7, 100] {
                    let mut largest = TopN::new(n);
                    for (number, values) in values.chunks(part).enumerate() {
                        largest.add(number * part, values);
                    }
                    let found = largest.sorted();
                    assert!(found.iter().all(|&(index, value)| values[index] == value));
                    let indices: Vec<usize> = found.iter().map(|pair| pair.0).collect();
                    assert_eq!(indices, expected, "{n} of parts of {part}");
                }
                assert_eq!(top_n(&values, n), expected);
            }
        }
    }
}
