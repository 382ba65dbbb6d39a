//! Adding up what slices have given, in their order.

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
