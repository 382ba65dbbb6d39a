//! Sums over the units of a cube and over the partial results of slices, in a fixed order; scattering of rows.

use cubecl::prelude::*;

use super::dense::UNITS;

/// The sum of a value of each unit of the cube, for all units. `shared` has [`UNITS`] numbers.
#[cube]
pub fn sum_over_units(value: f32, shared: &mut SharedMemory<f32>) -> f32 {
    let unit = UNIT_POS as usize;
    // The units may still read what was in `shared` before.
    sync_cube();
    shared[unit] = value;
    sync_cube();
    let mut half = comptime!(UNITS / 2).runtime();
    while half > 0 {
        if unit < half {
            shared[unit] += shared[unit + half];
        }
        sync_cube();
        half /= 2;
    }
    shared[0]
}

/// The largest value of the units of the cube, for all units. `shared` has [`UNITS`] numbers.
#[cube]
pub fn largest_over_units(value: f32, shared: &mut SharedMemory<f32>) -> f32 {
    let unit = UNIT_POS as usize;
    sync_cube();
    shared[unit] = value;
    sync_cube();
    let mut half = comptime!(UNITS / 2).runtime();
    while half > 0 {
        if unit < half {
            let (one, other) = (shared[unit], shared[unit + half]);
            shared[unit] = select(other > one, other, one);
        }
        sync_cube();
        half /= 2;
    }
    shared[0]
}

/// `out` (a matrix) = the sum of `slices` matrices of its shape, which are contiguous in `parts`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn add_slices(parts: &Array<f32>, out: &mut Tensor<f32>, slices: usize) {
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
pub fn add_strided(values: &Array<f32>, out: &mut Array<f32>, length: usize, stride: usize) {
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

/// `out[0]` = the sum of `length` values, by one cube.
#[cube(launch_unchecked)]
pub fn add_all(values: &Array<f32>, out: &mut Array<f32>, length: usize) {
    if CUBE_POS > 0 {
        terminate!();
    }
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let mut sum = 0.0f32;
    let mut at = UNIT_POS as usize;
    while at < length {
        sum += values[at];
        at += UNITS;
    }
    let sum = sum_over_units(sum, &mut shared);
    if UNIT_POS == 0 {
        out[0] = sum;
    }
}

/// Copies row i of `rows` to row `indices[i]` of `out`; indices are distinct. (Burn's `select_assign`, which adds up
/// rows with the same index, processes rows one after the other.)
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn scatter_rows(rows: &Tensor<f32>, indices: &Array<i32>, out: &mut Tensor<f32>) {
    let columns = rows.shape(1);
    let row = ABSOLUTE_POS / columns;
    if row >= rows.shape(0) {
        terminate!();
    }
    let column = ABSOLUTE_POS % columns;
    let index = indices[row] as usize;
    out[index * out.stride(0) + column] = rows[row * rows.stride(0) + column];
}
