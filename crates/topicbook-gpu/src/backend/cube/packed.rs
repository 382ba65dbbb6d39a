//! The form in which kernels read tables: 32-bit words, each with one `f32` or two adjacent entries as `bf16`.

use cubecl::prelude::*;

use crate::config::Precision;

/// Words in a row of `entries` entries.
pub fn words(entries: usize, precision: Precision) -> usize {
    match precision {
        Precision::F32 => entries,
        Precision::Bf16 => entries.div_ceil(2),
    }
}

/// The entry in a column of the row that starts at word `row`.
#[cube]
pub fn entry(
    table: &Tensor<u32>,
    row: usize,
    column: usize,
    #[comptime] precision: Precision,
) -> f32 {
    if comptime!(precision == Precision::F32) {
        f32::reinterpret(table[row + column])
    } else {
        let word = table[row + column / 2];
        // The first of two entries is the lower half of the word. A bf16 is the upper half of an f32.
        f32::reinterpret(select(column & 1 == 0, word << 16, word & 0xffff_0000u32))
    }
}

/// Packs pairs of adjacent entries into words, rounded to the nearest `bf16` (ties to even); a row with an odd number
/// of entries is padded with a zero.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn pack(table: &Tensor<f32>, out: &mut Tensor<u32>) {
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

/// The upper half of a finite, nonnegative number, rounded to nearest (ties to even).
#[cube]
fn rounded(value: f32) -> u32 {
    let bits = u32::reinterpret(value);
    (bits + 0x7fff + ((bits >> 16) & 1)) >> 16
}
