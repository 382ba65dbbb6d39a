//! Tables as the kernels read them: words of 32 bits, each an `f32` or two neighbours as `bf16`.

use cubecl::prelude::*;

use crate::model::Precision;

/// Words of a row of so many entries.
pub(super) fn words(entries: usize, precision: Precision) -> usize {
    match precision {
        Precision::F32 => entries,
        Precision::Bf16 => entries.div_ceil(2),
    }
}

/// The entry in this column of the row that begins at word `row`.
#[cube]
pub(super) fn entry(
    table: &Tensor<u32>,
    row: usize,
    column: usize,
    #[comptime] precision: Precision,
) -> f32 {
    if comptime!(precision == Precision::F32) {
        f32::reinterpret(table[row + column])
    } else {
        let word = table[row + column / 2];
        // The first of two lies in the lower half. A bf16 is the upper half of an f32.
        f32::reinterpret(select(column & 1 == 0, word << 16, word & 0xffff_0000u32))
    }
}

/// Two neighbours of a table in each word, to the nearest `bf16`, halves to even; a zero where a row ends.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn pack(table: &Tensor<f32>, out: &mut Tensor<u32>) {
    let width = out.shape(1);
    let row = ABSOLUTE_POS / width;
    if row >= out.shape(0) {
        terminate!();
    }
    let at = ABSOLUTE_POS % width;
    let from = row * table.stride(0) + 2 * at * table.stride(1);
    let mut word = rounded(table[from]);
    if 2 * at + 1 < table.shape(1) {
        word |= rounded(table[from + table.stride(1)]) << 16;
    }
    out[row * out.stride(0) + at] = word;
}

/// The upper half of a finite number that is not negative.
#[cube]
fn rounded(value: f32) -> u32 {
    let bits = u32::reinterpret(value);
    (bits + 0x7fff + ((bits >> 16) & 1)) >> 16
}
