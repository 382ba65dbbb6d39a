//! Softmax of the rows of a table, and its backward.
//!
//! F has few rows of many columns; the rows of a batch of L are many and short. A row is cut into slices of columns, so
//! that either table has work for the whole GPU. The first kernel computes what a slice adds to its row (the largest
//! logit with the sum of exponentials, or a part of a dot product). The second one combines the slices of its row and
//! writes the values. Every sum runs in a fixed order, so that results are the same bits every time.

use cubecl::prelude::*;

use super::dense::{UNITS, minimum};
use super::reduce::{largest_over_units, sum_over_units};

/// Columns of the smallest slice.
pub const MIN_SLICE: usize = 8 * UNITS;

/// The slice of a cube: a range of columns of a row.
#[derive(CubeType, CubeLaunch)]
pub struct Slices {
    pub rows: usize,
    pub columns: usize,
    /// Columns in a slice.
    pub per_slice: usize,
    /// Slices of a row.
    pub slices: usize,
}

/// For each slice of `table` its largest value, and the sum of exponentials of the values less that one (`parts`: rows x
/// slices x 2).
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn exponentials(table: &Tensor<f32>, parts: &mut Array<f32>, slices: &Slices) {
    let row = CUBE_POS / slices.slices;
    if row >= slices.rows {
        terminate!();
    }
    let start = row * table.stride(0);
    let begin = CUBE_POS % slices.slices * slices.per_slice;
    let end = minimum(begin + slices.per_slice, slices.columns);
    let first = begin + UNIT_POS as usize;
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let mut largest = table[start + begin];
    let mut at = first;
    while at < end {
        let value = table[start + at];
        largest = select(value > largest, value, largest);
        at += UNITS;
    }
    let largest = largest_over_units(largest, &mut shared);
    let mut total = 0.0f32;
    at = first;
    while at < end {
        total += (table[start + at] - largest).exp();
        at += UNITS;
    }
    let total = sum_over_units(total, &mut shared);
    if UNIT_POS == 0 {
        parts[2 * CUBE_POS] = largest;
        parts[2 * CUBE_POS + 1] = total;
    }
}

/// `out` = the softmax of each row of `table`, from the `parts` of [`exponentials`].
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn softmax(table: &Tensor<f32>, parts: &Array<f32>, out: &mut Tensor<f32>, slices: &Slices) {
    let row = CUBE_POS / slices.slices;
    if row >= slices.rows {
        terminate!();
    }
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let parts_of_row = row * slices.slices;
    let mut largest = parts[2 * parts_of_row];
    let mut slice = UNIT_POS as usize;
    while slice < slices.slices {
        let value = parts[2 * (parts_of_row + slice)];
        largest = select(value > largest, value, largest);
        slice += UNITS;
    }
    let largest = largest_over_units(largest, &mut shared);
    let mut total = 0.0f32;
    slice = UNIT_POS as usize;
    while slice < slices.slices {
        let part = 2 * (parts_of_row + slice);
        total += parts[part + 1] * (parts[part] - largest).exp();
        slice += UNITS;
    }
    let total = sum_over_units(total, &mut shared);
    let begin = CUBE_POS % slices.slices * slices.per_slice;
    let end = minimum(begin + slices.per_slice, slices.columns);
    let (from, to) = (row * table.stride(0), row * out.stride(0));
    let mut at = begin + UNIT_POS as usize;
    while at < end {
        out[to + at] = (table[from + at] - largest).exp() / total;
        at += UNITS;
    }
}

/// For each slice, the dot product of `one` and `other` (`parts`: rows x slices).
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn dots(one: &Tensor<f32>, other: &Tensor<f32>, parts: &mut Array<f32>, slices: &Slices) {
    let row = CUBE_POS / slices.slices;
    if row >= slices.rows {
        terminate!();
    }
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let begin = CUBE_POS % slices.slices * slices.per_slice;
    let end = minimum(begin + slices.per_slice, slices.columns);
    let (one_row, other_row) = (row * one.stride(0), row * other.stride(0));
    let mut sum = 0.0f32;
    let mut at = begin + UNIT_POS as usize;
    while at < end {
        sum += one[one_row + at] * other[other_row + at];
        at += UNITS;
    }
    let sum = sum_over_units(sum, &mut shared);
    if UNIT_POS == 0 {
        parts[CUBE_POS] = sum;
    }
}

/// Replaces `sums` by `softmax` x (the row's dot product - `sums`), from the `parts` of [`dots`]: the gradient of minus the
/// sum of `softmax` x `sums` with respect to the logits.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn backward(
    softmax: &Tensor<f32>,
    sums: &mut Tensor<f32>,
    parts: &Array<f32>,
    slices: &Slices,
) {
    let row = CUBE_POS / slices.slices;
    if row >= slices.rows {
        terminate!();
    }
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let mut dot = 0.0f32;
    let mut slice = UNIT_POS as usize;
    while slice < slices.slices {
        dot += parts[row * slices.slices + slice];
        slice += UNITS;
    }
    let dot = sum_over_units(dot, &mut shared);
    let begin = CUBE_POS % slices.slices * slices.per_slice;
    let end = minimum(begin + slices.per_slice, slices.columns);
    let (from, to) = (row * softmax.stride(0), row * sums.stride(0));
    let mut at = begin + UNIT_POS as usize;
    while at < end {
        sums[to + at] = softmax[from + at] * (dot - sums[to + at]);
        at += UNITS;
    }
}
