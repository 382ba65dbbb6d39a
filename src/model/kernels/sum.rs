//! Adding up what slices have given, in their order; rows into their places.

use cubecl::prelude::*;

/// `out` (a matrix) = the sum of `slices` matrices of the same shape, which lie one after the other in `parts`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn add_slices(parts: &Array<f32>, out: &mut Tensor<f32>, slices: usize) {
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

/// `out[i]` = the sum of every `every`-th number of `values` from the `i`-th on.
#[cube(launch_unchecked)]
pub(super) fn add_strided(values: &Array<f32>, out: &mut Array<f32>, length: usize, every: usize) {
    if ABSOLUTE_POS >= every {
        terminate!();
    }
    let mut sum = 0.0f32;
    let mut at = ABSOLUTE_POS;
    while at < length {
        sum += values[at];
        at += every;
    }
    out[ABSOLUTE_POS] = sum;
}

/// Puts rows into the rows of `out` whose numbers `places` has, all different. (Burn's own operation, which also adds up
/// rows that meet, walks along them one by one.)
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn put_rows(rows: &Tensor<f32>, places: &Array<i32>, out: &mut Tensor<f32>) {
    let columns = rows.shape(1);
    let row = ABSOLUTE_POS / columns;
    if row >= rows.shape(0) {
        terminate!();
    }
    let column = ABSOLUTE_POS % columns;
    let place = places[row] as usize;
    out[place * out.stride(0) + column] = rows[row * rows.stride(0) + column];
}
