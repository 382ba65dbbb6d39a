//! Sums of the partial results of slices, in the order of the slices; scattering of rows.

use cubecl::prelude::*;

/// `out` (a matrix) = the sum of `slices` matrices of its shape, which are contiguous in `parts`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(crate) fn add_slices(parts: &Array<f32>, out: &mut Tensor<f32>, slices: usize) {
    let columns = out.shape(1);
    let length = out.shape(0) * columns;
    let at = ABSOLUTE_POS;
    if at >= length {
        terminate!();
    }
    let mut sum = 0.0f32;
    for slice in 0..slices {
        sum += parts[slice * length + at];
    }
    out[at / columns * out.stride(0) + at % columns] = sum;
}

/// `out[i]` = the sum of `values[i]`, `values[i + stride]`, `values[i + 2 * stride]` ...
#[cube(launch_unchecked)]
pub(crate) fn add_strided(values: &Array<f32>, out: &mut Array<f32>, length: usize, stride: usize) {
    if ABSOLUTE_POS >= stride {
        terminate!();
    }
    let mut sum = 0.0f32;
    let mut at = ABSOLUTE_POS;
    while at < length {
        sum += values[at];
        at += stride;
    }
    out[ABSOLUTE_POS] = sum;
}

/// Copies row i of `rows` to row `indices[i]` of `out`; indices are distinct. (Burn's `select_assign`, which adds up
/// rows with the same index, processes rows one after the other.)
#[cube(launch_unchecked, address_type = "dynamic")]
pub(crate) fn scatter_rows(rows: &Tensor<f32>, indices: &Array<i32>, out: &mut Tensor<f32>) {
    let columns = rows.shape(1);
    let row = ABSOLUTE_POS / columns;
    if row >= rows.shape(0) {
        terminate!();
    }
    let column = ABSOLUTE_POS % columns;
    let index = indices[row] as usize;
    out[index * out.stride(0) + column] = rows[row * rows.stride(0) + column];
}
