//! Element types, and the one place where code is chosen by element type.

use std::fmt;

use super::dense::{DenseStore, Held};

/// How one count is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    pub fn bytes(self) -> usize {
        with_dtype!(self, T => size_of::<T>())
    }

    /// The name in Rust and Polars: `u8`, `f32`.
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
    pub(crate) fn npy(self) -> &'static str {
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

    /// Shows the dtype in a notebook cell.
    pub fn evcxr_display(&self) {
        crate::display::show(self.name(), self.name());
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs an expression with the type alias `$T` standing for the Rust type of a [`Dtype`].
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::counts::Dtype::U8 => {
                type $T = u8;
                $body
            }
            $crate::counts::Dtype::U16 => {
                type $T = u16;
                $body
            }
            $crate::counts::Dtype::U32 => {
                type $T = u32;
                $body
            }
            $crate::counts::Dtype::I32 => {
                type $T = i32;
                $body
            }
            $crate::counts::Dtype::I64 => {
                type $T = i64;
                $body
            }
            $crate::counts::Dtype::F32 => {
                type $T = f32;
                $body
            }
            $crate::counts::Dtype::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}

/// Runs an expression with the typed content of an enum that has one variant per [`Dtype`].
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

pub(crate) use with_dtype;
pub(crate) use with_values;

/// A type that counts can be stored in: `u8`, `u16`, `u32`, `i32`, `i64`, `f32` and `f64`.
///
/// The trait is sealed: it names the dtypes that [`Counts::dense`](crate::Counts::dense) takes.
pub trait CountValue: Element {
    /// The dtype.
    const DTYPE: Dtype;
}

/// What the loops need to know of a stored value. Public only so that it can seal [`CountValue`].
///
/// Any bit pattern is a valid value, which is what lets a mapped file be read as a slice of them.
pub trait Element: Copy + Default + PartialEq + Send + Sync + 'static {
    /// As the training loop reads it: rounded to nearest where `f32` is too coarse.
    fn to_f32(self) -> f32;
    /// Rounded to nearest above 2^53 (`i64` only).
    fn to_f64(self) -> f64;
    /// Whole, finite and not negative. Written without `trunc`, which is a call on baseline x86-64.
    fn is_count(self) -> bool;
    /// The value if this type holds it exactly.
    fn from_f64(value: f64) -> Option<Self>;
    /// `None` where `f64` does not hold the value exactly.
    fn exact_f64(self) -> Option<f64>;
    /// Into the storage of its dtype.
    fn hold(values: Held<Self>) -> DenseStore;
}

macro_rules! integer {
    ($T:ty, $Variant:ident, $is_count:expr) => {
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
            #[inline(always)]
            fn is_count(self) -> bool {
                let is_count: fn($T) -> bool = $is_count;
                is_count(self)
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Option<Self> {
                let cast = value as $T;
                // The second test turns away 2^63, which saturates to a value that rounds back to 2^63.
                let exact = || size_of::<$T>() < 8 || (cast as i128) == (value as i128);
                (cast as f64 == value && exact()).then_some(cast)
            }
            #[inline(always)]
            fn exact_f64(self) -> Option<f64> {
                let wide = self as f64;
                (size_of::<$T>() < 8 || wide as i128 == self as i128).then_some(wide)
            }
            fn hold(values: Held<Self>) -> DenseStore {
                DenseStore::$Variant(values)
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
    ($T:ty, $Variant:ident, $all_whole_from:expr) => {
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
            #[inline(always)]
            fn is_count(self) -> bool {
                // Adding 2^23 (2^52) rounds to a whole number; from there on every float is whole.
                let whole = (self + $all_whole_from) - $all_whole_from == self;
                (0.0..<$T>::INFINITY).contains(&self) & (whole | (self >= $all_whole_from))
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
            fn hold(values: Held<Self>) -> DenseStore {
                DenseStore::$Variant(values)
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
    fn whole_numbers_are_told_from_others_as_trunc_does() {
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
            4_503_599_627_370_495.5,
        ];
        for value in values {
            let naive = value >= 0.0 && f64::is_finite(value) && value.trunc() == value;
            assert_eq!(f64::is_count(value), naive, "{value}");
            let value = value as f32;
            let naive = value >= 0.0 && f32::is_finite(value) && value.trunc() == value;
            assert_eq!(f32::is_count(value), naive, "{value}");
        }
    }

    #[test]
    fn a_value_converts_exactly_or_not_at_all() {
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
