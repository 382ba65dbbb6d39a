//! The nonzero counts of a row. Dense rows are searched with SIMD, at the speed of memory.

use std::ops::Range;

use crate::View;
use crate::dense::DenseRows;
use crate::dtype::{CountValue, Dtype, Element, with_values};
use crate::system::{prefetch_lines, simd_dispatch};

/// Number of values tested together; each sets one bit of a mask.
const GROUP: usize = u32::BITS as usize;

/// Scratch buffer for the nonzero counts of one dense row.
#[derive(Default)]
pub struct NonzeroBuffer {
    columns: Vec<u32>,
    counts: Vec<f32>,
}

/// Returns the columns and values of a row's nonzero counts: borrowed from sparse counts, or copied into `buffer` from
/// dense ones.
pub fn nonzeros_of_row<'a>(
    view: &View<'a>,
    terms: usize,
    row: usize,
    buffer: &'a mut NonzeroBuffer,
) -> (&'a [u32], &'a [f32]) {
    match view {
        View::Csr(csr) => csr.row(row),
        View::Dense(_) => nonzeros_between(view, terms, row, &(0..terms), buffer),
    }
}

/// The nonzero counts of a row in a range of terms; see [`nonzeros_of_row`].
pub fn nonzeros_between<'a>(
    view: &View<'a>,
    all_terms: usize,
    row: usize,
    terms: &Range<usize>,
    buffer: &'a mut NonzeroBuffer,
) -> (&'a [u32], &'a [f32]) {
    match view {
        View::Csr(csr) => {
            let (columns, counts) = csr.row(row);
            let range = columns_between(columns, terms);
            (&columns[range.clone()], &counts[range])
        }
        View::Dense(rows) => {
            let NonzeroBuffer { columns, counts } = buffer;
            columns.clear();
            counts.clear();
            with_values!(DenseRows, rows, values => {
                let row = &values[row * all_terms..][terms.clone()];
                append_nonzeros(row, terms.start as u32, columns, counts);
            });
            (columns, counts)
        }
    }
}

/// The nonzero counts of a row in a range of terms, as [`nonzeros_between`]. `end` is the position where the preceding range
/// of terms of this row ended, or any other number as a guess; it becomes the end of this range. A right guess touches only
/// the cache lines of a sparse row that hold the range, where a binary search would wait for others.
pub fn nonzeros_after<'a>(
    view: &View<'a>,
    all_terms: usize,
    row: usize,
    terms: &Range<usize>,
    end: &mut usize,
    buffer: &'a mut NonzeroBuffer,
) -> (&'a [u32], &'a [f32]) {
    let View::Csr(csr) = view else {
        return nonzeros_between(view, all_terms, row, terms, buffer);
    };
    let (columns, counts) = csr.row(row);
    let range = columns_after(columns, terms, *end);
    *end = range.end;
    (&columns[range.clone()], &counts[range])
}

/// Prefetches the first cache lines of a row's nonzero counts from position `at` on, which [`nonzeros_after`] will read.
pub fn prefetch_nonzeros(view: &View<'_>, row: usize, at: usize) {
    /// Nonzero counts that are prefetched: four cache lines of columns, and four of counts.
    const AHEAD: usize = 64;
    if let View::Csr(csr) = view {
        let (columns, counts) = csr.row(row);
        let range = at.min(columns.len())..columns.len().min(at + AHEAD);
        prefetch_lines(&columns[range.clone()]);
        prefetch_lines(&counts[range]);
    }
}

/// The positions of a range of terms in the sorted columns of a row; quick if they begin at `guess`.
fn columns_after(columns: &[u32], terms: &Range<usize>, guess: usize) -> Range<usize> {
    let is_before = |at: usize, term: usize| {
        columns
            .get(at)
            .is_some_and(|&column| (column as usize) < term)
    };
    let is_start = guess <= columns.len()
        && !is_before(guess, terms.start)
        && (guess == 0 || is_before(guess - 1, terms.start));
    let start = match is_start {
        true => guess,
        false => columns.partition_point(|&column| (column as usize) < terms.start),
    };
    // Steps of doubling length, until one is past the end.
    let mut length = 1;
    while is_before(start + length - 1, terms.end) {
        length *= 2;
    }
    let rest = &columns[start..columns.len().min(start + length)];
    start..start + rest.partition_point(|&column| (column as usize) < terms.end)
}

/// The positions of a range of terms in the sorted columns of a row, by binary search.
pub fn columns_between(columns: &[u32], terms: &Range<usize>) -> Range<usize> {
    let start = columns.partition_point(|&column| (column as usize) < terms.start);
    let length = columns[start..].partition_point(|&column| (column as usize) < terms.end);
    start..start + length
}

/// The number of values that are not zero.
fn count_nonzeros<T: Element>(row: &[T]) -> usize {
    row.iter().filter(|value| **value != T::default()).count()
}

/// The number of nonzero counts of a row in a range of terms.
pub fn count_between(view: &View<'_>, all_terms: usize, row: usize, terms: &Range<usize>) -> usize {
    match view {
        View::Csr(csr) => columns_between(csr.row(row).0, terms).len(),
        View::Dense(rows) => with_values!(DenseRows, rows, values => {
            count_nonzeros(&values[row * all_terms..][terms.clone()])
        }),
    }
}

/// Appends the columns and values of the nonzero counts of `values`, a range of a dense row that starts at column
/// `first`.
pub fn append_nonzeros<T: CountValue>(
    values: &[T],
    first: u32,
    columns: &mut Vec<u32>,
    counts: &mut Vec<f32>,
) {
    let before = columns.len();
    find_nonzeros(values, first, columns);
    counts.extend(
        columns[before..]
            .iter()
            .map(|&column| values[(column - first) as usize].to_f32()),
    );
}

/// Appends `first` plus the position of every value that is not zero.
pub fn find_nonzeros<T: CountValue>(values: &[T], first: u32, columns: &mut Vec<u32>) {
    // The mask of floating-point types leaves out the sign bit, so that -0.0 is zero.
    match T::DTYPE {
        Dtype::U8 => find_u8(bits(values), u8::MAX, first, columns),
        Dtype::U16 => find_u16(bits(values), u16::MAX, first, columns),
        Dtype::U32 | Dtype::I32 => find_u32(bits(values), u32::MAX, first, columns),
        Dtype::F32 => find_u32(bits(values), u32::MAX >> 1, first, columns),
        Dtype::I64 => find_u64(bits(values), u64::MAX, first, columns),
        Dtype::F64 => find_u64(bits(values), u64::MAX >> 1, first, columns),
    }
}

/// The values reinterpreted as unsigned integers `U` of the same size.
fn bits<T: CountValue, U>(values: &[T]) -> &[U] {
    assert_eq!(
        (size_of::<T>(), align_of::<T>()),
        (size_of::<U>(), align_of::<U>())
    );
    // SAFETY: both are plain numbers of the same size and alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

macro_rules! finder {
    ($name:ident, $U:ty) => {
        simd_dispatch! {
            fn $name(values: &[$U], mask: $U, first: u32, columns: &mut Vec<u32>) {
                let (groups, remainder) = values.as_chunks::<GROUP>();
                let mut column = first;
                for group in groups {
                    // The compiler vectorises this loop; only nonzeros cost more.
                    let mut found = 0u32;
                    for (bit, value) in group.iter().enumerate() {
                        found |= u32::from(value & mask != 0) << bit;
                    }
                    while found != 0 {
                        columns.push(column + found.trailing_zeros());
                        found &= found - 1;
                    }
                    column += GROUP as u32;
                }
                for value in remainder {
                    if value & mask != 0 {
                        columns.push(column);
                    }
                    column += 1;
                }
            }
        }
    };
}

finder!(find_u8, u8);
finder!(find_u16, u16);
finder!(find_u32, u32);
finder!(find_u64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: CountValue>(values: &[T]) {
        let mut found = vec![9];
        find_nonzeros(values, 5, &mut found);
        let mut expected = vec![9];
        expected.extend(
            (0..values.len())
                .filter(|&at| values[at].to_f64() != 0.0)
                .map(|at| at as u32 + 5),
        );
        assert_eq!(found, expected, "{:?}", T::DTYPE);
    }

    #[test]
    fn passages_are_those_of_a_binary_search_from_any_guess() {
        let columns: Vec<u32> = (0..200u32).filter(|at| at * at % 7 < 3).collect();
        for columns in [&columns[..], &columns[..1], &[]] {
            for start in (0..210).step_by(7) {
                for length in [0, 1, 5, 64, 300] {
                    let terms = start..start + length;
                    for guess in 0..=columns.len() + 2 {
                        let found = columns_after(columns, &terms, guess);
                        assert_eq!(
                            found,
                            columns_between(columns, &terms),
                            "{terms:?}, {guess}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_dtype_agrees_with_a_plain_loop() {
        for length in [0, 1, 31, 32, 33, 64, 100, 257] {
            let value = |at: usize| -> i64 {
                if at * at % 7 == 2 {
                    1 + at as i64 % 100
                } else {
                    0
                }
            };
            check(&(0..length).map(|at| value(at) as u8).collect::<Vec<_>>());
            check(
                &(0..length)
                    .map(|at| (value(at) as u16) << 8)
                    .collect::<Vec<_>>(),
            );
            check(
                &(0..length)
                    .map(|at| (value(at) as u32) << 24)
                    .collect::<Vec<_>>(),
            );
            check(
                &(0..length)
                    .map(|at| -(value(at) as i32))
                    .collect::<Vec<_>>(),
            );
            check(&(0..length).map(|at| value(at) << 40).collect::<Vec<_>>());
            check(
                &(0..length)
                    .map(|at| -(value(at) as f32) * 1e-30)
                    .collect::<Vec<_>>(),
            );
            check(
                &(0..length)
                    .map(|at| value(at) as f64 * 1e-300)
                    .collect::<Vec<_>>(),
            );
        }
        check(&[f32::NAN, -0.0, f32::MIN_POSITIVE, f32::INFINITY]);
        check(&[f64::NAN, -0.0, f64::MIN_POSITIVE, f64::NEG_INFINITY]);
    }
}
