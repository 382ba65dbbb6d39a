//! Dtypes of counts, and the macros that select code by dtype.

use std::fmt;

use crate::dense::{DenseStore, ValueStorage};

/// Number type that counts are stored in.
///
/// ```
/// use topicbook::{Counts, Dtype};
/// let counts = Counts::dense(1, 3, vec![0u16, 7, 300])?;
/// assert_eq!(counts.dtype(), Dtype::U16);
/// assert_eq!(Dtype::U16.to_string(), "u16");
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Floating point, 32 bits.
    F32,
    /// Floating point, 64 bits.
    F64,
}

impl Dtype {
    /// Bytes of one value.
    ///
    /// ```
    /// assert_eq!(topicbook::Dtype::U16.bytes(), 2);
    /// ```
    #[doc(alias = "itemsize")]
    pub fn bytes(self) -> usize {
        with_dtype!(self, T => size_of::<T>())
    }

    /// The name in Rust and Polars: `u8`, `f32`.
    ///
    /// ```
    /// assert_eq!(topicbook::Dtype::F32.name(), "f32");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Dtype::U8 => "u8",
            Dtype::U16 => "u16",
            Dtype::U32 => "u32",
            Dtype::I32 => "i32",
            Dtype::I64 => "i64",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }

    /// The type string in the header of a little-endian `.npy` file.
    #[doc(hidden)]
    pub fn npy(self) -> &'static str {
        match self {
            Dtype::U8 => "|u1",
            Dtype::U16 => "<u2",
            Dtype::U32 => "<u4",
            Dtype::I32 => "<i4",
            Dtype::I64 => "<i8",
            Dtype::F32 => "<f4",
            Dtype::F64 => "<f8",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Evaluates `$body` with the type alias `$T` for the Rust type of a [`Dtype`].
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dtype::with_dtype!(
            $dtype, $T => $body, U8 u8, U16 u16, U32 u32, I32 i32, I64 i64, F32 f32, F64 f64
        )
    };
    ($dtype:expr, $T:ident => $body:expr, $($D:ident $t:ident),*) => {
        match $dtype {
            $($crate::Dtype::$D => {
                type $T = $t;
                $body
            })*
        }
    };
}

/// Evaluates `$body` with `$values` bound to the content of an enum that has one variant per [`Dtype`].
#[doc(hidden)]
#[macro_export]
macro_rules! with_values {
    ($enum:ident, $value:expr, $values:ident => $body:expr) => {
        match $value {
            $enum::U8($values) => $body,
            $enum::U16($values) => $body,
            $enum::U32($values) => $body,
            $enum::I32($values) => $body,
            $enum::I64($values) => $body,
            $enum::F32($values) => $body,
            $enum::F64($values) => $body,
        }
    };
}

/// Maps an enum `$from` with one variant per [`Dtype`] to the same variant of the enum `$to`, whose content is `$body`.
macro_rules! map_values {
    ($from:ident => $to:ident, $value:expr, $values:ident => $body:expr) => {
        match $value {
            $from::U8($values) => $to::U8($body),
            $from::U16($values) => $to::U16($body),
            $from::U32($values) => $to::U32($body),
            $from::I32($values) => $to::I32($body),
            $from::I64($values) => $to::I64($body),
            $from::F32($values) => $to::F32($body),
            $from::F64($values) => $to::F64($body),
        }
    };
}

pub(crate) use crate::with_values;
pub(crate) use map_values;
pub(crate) use with_dtype;

/// A type that counts can be stored in: `u8`, `u16`, `u32`, `i32`, `i64`, `f32` and `f64`.
///
/// The trait is sealed; [`Counts::dense`](crate::Counts::dense) takes vectors of these types.
///
/// ```
/// use topicbook::{CountValue, Counts};
/// fn one_document<T: CountValue>(values: Vec<T>) -> topicbook::Result<Counts> {
///     Counts::dense(1, values.len(), values)
/// }
/// assert_eq!(one_document(vec![0u16, 7, 300])?.dtype(), u16::DTYPE);
/// # Ok::<(), topicbook::Error>(())
/// ```
pub trait CountValue: Element {
    const DTYPE: Dtype;
}

pub use sealed::Element;

/// The supertrait that seals [`CountValue`]. Code outside this crate cannot name it.
mod sealed {
    use crate::dense::{DenseStore, ValueStorage};

    /// Conversions and checks of one stored value.
    ///
    /// Implementors are plain numbers without padding of which every bit pattern is valid. The unsafe code that reads
    /// mapped files as slices of them relies on it.
    #[doc(hidden)]
    pub trait Element: Copy + Default + PartialEq + Send + Sync + 'static {
        /// Rounded to the nearest `f32`, as training reads it.
        fn to_f32(self) -> f32;
        /// Rounded to the nearest `f64`; inexact only for `i64` above 2^53.
        fn to_f64(self) -> f64;
        /// Whether the value is whole, not negative, and finite also as `f32`. Implemented without `trunc`, which is a library
        /// call on baseline x86-64.
        fn is_count(self) -> bool;
        /// A count as a whole number below 2^23. Larger ones become the largest of these, so that all dtypes agree.
        fn to_whole(self) -> u32;
        /// Converts `value`; `None` unless this type represents it exactly.
        fn from_f64(value: f64) -> Option<Self>;
        /// Converts to `f64`; `None` unless `f64` represents the value exactly.
        fn exact_f64(self) -> Option<f64>;
        /// The values as those of any dtype.
        fn dense(values: ValueStorage<Self>) -> DenseStore;
    }
}

/// The largest value of [`Element::to_whole`].
const LARGEST_WHOLE: u64 = (1 << 23) - 1;

/// A dtype, with what integers and floating-point numbers do in different ways.
macro_rules! element {
    ($T:ty, $Variant:ident, $($own:tt)*) => {
        impl CountValue for $T {
            const DTYPE: Dtype = Dtype::$Variant;
        }

        impl Element for $T {
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn dense(values: ValueStorage<Self>) -> DenseStore {
                DenseStore::$Variant(values)
            }
            $($own)*
        }
    };
}

macro_rules! integer {
    ($T:ty, $Variant:ident, $is_count:expr) => {
        element! { $T, $Variant,
            #[inline(always)]
            fn is_count(self) -> bool {
                let is_count: fn($T) -> bool = $is_count;
                is_count(self)
            }
            #[inline(always)]
            fn to_whole(self) -> u32 {
                (self as u64).min(LARGEST_WHOLE) as u32
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Option<Self> {
                let cast = value as $T;
                // The second test rejects 2^63: the cast saturates to `i64::MAX`, which rounds back to 2^63.
                let exact = || size_of::<$T>() < 8 || (cast as i128) == (value as i128);
                (cast as f64 == value && exact()).then_some(cast)
            }
            #[inline(always)]
            fn exact_f64(self) -> Option<f64> {
                let wide = self as f64;
                (size_of::<$T>() < 8 || wide as i128 == self as i128).then_some(wide)
            }
        }
    };
}

integer!(u8, U8, |_| true);
integer!(u16, U16, |_| true);
integer!(u32, U32, |_| true);
integer!(i32, I32, |value| value >= 0);
integer!(i64, I64, |value| value >= 0);

macro_rules! float {
    ($T:ty, $Variant:ident, $whole_from:expr) => {
        element! { $T, $Variant,
            #[inline(always)]
            fn is_count(self) -> bool {
                // Adding 2^23 (f32) or 2^52 (f64) rounds to a whole number; every float from there on is whole.
                let whole = (self + $whole_from) - $whole_from == self;
                (0.0..=f32::MAX as $T).contains(&self) & (whole | (self >= $whole_from))
            }
            #[inline(always)]
            fn to_whole(self) -> u32 {
                // The sum of a whole number and this power of two has the number in its lowest bits. Casts would check each
                // number for its range.
                ((self.min(LARGEST_WHOLE as $T) + $whole_from).to_bits() as u32)
                    & LARGEST_WHOLE as u32
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Option<Self> {
                let cast = value as $T;
                (cast as f64 == value || value.is_nan()).then_some(cast)
            }
            #[inline(always)]
            fn exact_f64(self) -> Option<f64> {
                Some(self as f64)
            }
        }
    };
}

float!(f32, F32, 8_388_608.0);
float!(f64, F64, 4_503_599_627_370_496.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_count_agrees_with_trunc() {
        let values = [
            0.0,
            -0.0,
            0.1,
            0.5,
            0.999_999_94,
            1.0,
            1.5,
            2.5,
            4_194_303.5,
            8_388_607.0,
            8_388_607.5,
            8_388_608.0,
            16_777_216.0,
            3.0e38,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            1e243,
            4_503_599_627_370_495.5,
        ];
        for value in values {
            let naive = value >= 0.0 && value <= f64::from(f32::MAX) && value.trunc() == value;
            assert_eq!(f64::is_count(value), naive, "{value}");
            let value = value as f32;
            let naive = value >= 0.0 && f32::is_finite(value) && value.trunc() == value;
            assert_eq!(f32::is_count(value), naive, "{value}");
        }
    }

    #[test]
    fn whole_numbers_agree_between_dtypes() {
        for value in [
            0,
            1,
            2,
            255,
            65_535,
            8_388_606,
            8_388_607,
            8_388_608,
            16_777_216,
            2_147_483_520,
        ] {
            let expected = value.min(8_388_607);
            assert_eq!(value.to_whole(), expected);
            assert_eq!((value as i32).to_whole(), expected);
            assert_eq!(i64::from(value).to_whole(), expected);
            assert_eq!((value as f32).to_whole(), expected);
            assert_eq!(f64::from(value).to_whole(), expected);
        }
        assert_eq!((3u8.to_whole(), 300u16.to_whole()), (3, 300));
        assert_eq!(((-0.0f32).to_whole(), (-0.0f64).to_whole()), (0, 0));
        assert_eq!(
            (f32::MAX.to_whole(), f64::from(f32::MAX).to_whole()),
            (8_388_607, 8_388_607)
        );
    }

    #[test]
    fn conversions_are_exact_or_none() {
        assert_eq!(u8::from_f64(255.0), Some(255));
        assert_eq!(u8::from_f64(256.0), None);
        assert_eq!(u8::from_f64(-1.0), None);
        assert_eq!(u8::from_f64(1.5), None);
        assert_eq!(u8::from_f64(f64::NAN), None);
        assert_eq!(i64::from_f64(9_223_372_036_854_775_808.0), None);
        assert_eq!(i64::from_f64(-9_223_372_036_854_775_808.0), Some(i64::MIN));
        assert_eq!(f32::from_f64(16_777_217.0), None);
        assert_eq!(9_007_199_254_740_993_i64.exact_f64(), None);
    }
}
