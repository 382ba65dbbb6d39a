//! The rows of a factor at the nonzero counts of a row, transposed.

use crate::system::simd_dispatch;

/// Rows whose values are transposed together, and topics of each.
const ROWS: usize = 8;
const TOPICS: usize = 4;

simd_dispatch! {
    /// Gathers the rows of `factor` at `indices`, transposed into columns of length `stride` and padded with zeros.
    pub(super) fn gather<V: Vector>(
        indices: &[u32],
        factor: &[f32],
        stride: usize,
        gathered: &mut [f32],
    ) {
        let topics = gathered.len() / stride;
        let (blocks, rest) = match topics < TOPICS {
            true => (&[][..], indices),
            false => indices.as_chunks::<ROWS>(),
        };
        for (block, indices) in blocks.iter().enumerate() {
            let mut topic = 0;
            loop {
                let row = |at: usize| first(&factor[indices[at] as usize * topics + topic..]);
                // Written out, because the compiler calls a function for the map of an array.
                let rows = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
                let columns = V::transposed(rows);
                for (column, values) in columns.iter().enumerate() {
                    let to = (topic + column) * stride + block * ROWS;
                    gathered[to..to + ROWS].copy_from_slice(values);
                }
                if topic + TOPICS == topics {
                    break;
                }
                // The last topics may be among the ones before, and are written twice.
                topic = (topic + TOPICS).min(topics - TOPICS);
            }
        }
        let done = blocks.len() * ROWS;
        for column in gathered.chunks_exact_mut(stride) {
            column[done + rest.len()..].fill(0.0);
        }
        for (at, &index) in (done..).zip(rest) {
            let row = &factor[index as usize * topics..][..topics];
            for (topic, value) in row.iter().enumerate() {
                gathered[topic * stride + at] = *value;
            }
        }
    }
}

#[inline(always)]
fn first(values: &[f32]) -> &[f32; TOPICS] {
    values.first_chunk().expect("a row has no fewer topics")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::LANES;

    #[test]
    fn values_are_those_of_the_rows_and_zeros() {
        for topics in [1, 2, 3, 4, 5, 6, 7, 8, 9, 20] {
            let factor = Vec::from_iter((1..=100 * topics).map(|value| value as f32));
            for count in [1, 7, 8, 9, 16, 30, 48] {
                let indices = Vec::from_iter((0..count).map(|at| at * 2 + at % 2));
                let stride = indices.len().next_multiple_of(LANES);
                // Values that the gather has to overwrite.
                let mut gathered = vec![-1.0; stride * topics];
                gather(&indices, &factor, stride, &mut gathered);
                for (topic, column) in gathered.chunks(stride).enumerate() {
                    for (at, value) in column.iter().enumerate() {
                        let expected = (indices.get(at))
                            .map_or(0.0, |index| factor[*index as usize * topics + topic]);
                        assert_eq!(*value, expected, "{topics} topics, {count} counts");
                    }
                }
            }
        }
    }
}
