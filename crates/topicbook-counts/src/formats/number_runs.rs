//! Numbers of a file's dtype as `f64`, in runs: one call for each number would take longer than its conversion, and keep the
//! compiler from using vector registers.

use crate::error::Result;

/// Numbers of a run at most: 4 KiB of them stay in the L1 cache.
const RUN: usize = 512;

/// Converts the little-endian bytes of numbers; both slices hold the same number of them.
pub(super) type Decode = fn(&[u8], &mut [f64]);

/// Calls `visit` with the numbers of `width` bytes each, in order.
#[inline]
pub(super) fn visit_bytes(
    bytes: &[u8],
    width: usize,
    decode: Decode,
    mut visit: impl FnMut(&[f64]) -> Result<()>,
) -> Result<()> {
    let mut run = [0.0; RUN];
    for bytes in bytes.chunks(RUN * width) {
        let run = &mut run[..bytes.len() / width];
        decode(bytes, run);
        visit(run)?;
    }
    Ok(())
}

/// Calls `visit` with the values as `convert` gives them, in order.
#[inline]
#[cfg(feature = "polars")]
pub(super) fn visit_values<T: Copy>(
    values: &[T],
    convert: impl Fn(T) -> f64,
    mut visit: impl FnMut(&[f64]) -> Result<()>,
) -> Result<()> {
    let mut run = [0.0; RUN];
    for values in values.chunks(RUN) {
        let run = &mut run[..values.len()];
        for (number, value) in run.iter_mut().zip(values) {
            *number = convert(*value);
        }
        visit(run)?;
    }
    Ok(())
}
