//! Which values of a row are not zero, at the speed of memory.

use super::dtype::{CountValue, Dtype};
use crate::simd::simd_dispatch;

/// Values looked at together: one bit each of a word.
const GROUP: usize = u32::BITS as usize;

/// Appends `first` + position of every value that is not zero.
pub(super) fn find<T: CountValue>(values: &[T], first: u32, columns: &mut Vec<u32>) {
    // The sign of a floating-point zero says nothing.
    match T::DTYPE {
        Dtype::U8 => find_u8(bits(values), u8::MAX, first, columns),
        Dtype::U16 => find_u16(bits(values), u16::MAX, first, columns),
        Dtype::U32 | Dtype::I32 => find_u32(bits(values), u32::MAX, first, columns),
        Dtype::F32 => find_u32(bits(values), u32::MAX >> 1, first, columns),
        Dtype::I64 => find_u64(bits(values), u64::MAX, first, columns),
        Dtype::F64 => find_u64(bits(values), u64::MAX >> 1, first, columns),
    }
}

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
            fn $name(values: &[$U], keep: $U, first: u32, columns: &mut Vec<u32>) {
                let (groups, rest) = values.as_chunks::<GROUP>();
                let mut column = first;
                for group in groups {
                    let mut found = 0u32;
                    for (place, value) in group.iter().enumerate() {
                        found |= u32::from(value & keep != 0) << place;
                    }
                    while found != 0 {
                        columns.push(column + found.trailing_zeros());
                        found &= found - 1;
                    }
                    column += GROUP as u32;
                }
                for value in rest {
                    if value & keep != 0 {
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
        find(values, 5, &mut found);
        let mut plain = vec![9];
        plain.extend(
            (0..values.len())
                .filter(|&at| values[at].to_f64() != 0.0)
                .map(|at| at as u32 + 5),
        );
        assert_eq!(found, plain, "{:?}", T::DTYPE);
    }

    #[test]
    fn every_dtype_as_one_by_one() {
        for length in [0, 1, 31, 32, 33, 64, 100, 257] {
            let wanted = |at: usize| -> i64 {
                if at * at % 7 == 2 {
                    1 + at as i64 % 100
                } else {
                    0
                }
            };
            check(&(0..length).map(|at| wanted(at) as u8).collect::<Vec<_>>());
            check(
                &(0..length)
                    .map(|at| (wanted(at) as u16) << 8)
                    .collect::<Vec<_>>(),
            );
            check(
                &(0..length)
                    .map(|at| (wanted(at) as u32) << 24)
                    .collect::<Vec<_>>(),
            );
            check(
                &(0..length)
                    .map(|at| -(wanted(at) as i32))
                    .collect::<Vec<_>>(),
            );
            check(&(0..length).map(|at| wanted(at) << 40).collect::<Vec<_>>());
            check(
                &(0..length)
                    .map(|at| -(wanted(at) as f32) * 1e-30)
                    .collect::<Vec<_>>(),
            );
            check(
                &(0..length)
                    .map(|at| wanted(at) as f64 * 1e-300)
                    .collect::<Vec<_>>(),
            );
        }
        check(&[f32::NAN, -0.0, f32::MIN_POSITIVE, f32::INFINITY]);
        check(&[f64::NAN, -0.0, f64::MIN_POSITIVE, f64::NEG_INFINITY]);
    }
}
