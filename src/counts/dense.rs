//! Dense counts, row by row: in memory or in a mapped file.

use std::sync::Arc;

use super::dtype::{CountValue, Dtype, Element, with_dtype, with_values};
use super::file::{KeptFile, MappedFile};
use crate::error::{Error, Result};

#[cfg(target_endian = "big")]
compile_error!("mapped files hold little-endian values and are read in place");

/// Values of one type, owned or in a mapped file.
pub enum Held<T> {
    Memory(Vec<T>),
    Mapped {
        map: Arc<MappedFile>,
        /// First byte in the file; a multiple of the alignment of `T`.
        start: usize,
        /// Number of values.
        length: usize,
    },
}

impl<T: Element> Held<T> {
    pub(super) fn values(&self) -> Result<&[T]> {
        match self {
            Held::Memory(values) => Ok(values),
            Held::Mapped { map, start, length } => {
                let bytes = map.bytes()?;
                let cut = || Error::format(map.path(), "is shorter than its header says");
                let end = length
                    .checked_mul(size_of::<T>())
                    .and_then(|size| size.checked_add(*start))
                    .ok_or_else(cut)?;
                let bytes = bytes.get(*start..end).ok_or_else(cut)?;
                // SAFETY: every bit pattern is a valid value of the (sealed) element types.
                let (before, values, after) = unsafe { bytes.align_to::<T>() };
                if !before.is_empty() || !after.is_empty() {
                    return Err(unaligned(map));
                }
                Ok(values)
            }
        }
    }
}

fn unaligned(map: &MappedFile) -> Error {
    Error::format(
        map.path(),
        "its values do not start at a multiple of their size, so they cannot be read in place",
    )
    .fix("write it again: np.save(path, np.load(path)), or save_file of safetensors")
}

/// Dense values of any dtype.
pub enum DenseStore {
    U8(Held<u8>),
    U16(Held<u16>),
    U32(Held<u32>),
    I32(Held<i32>),
    I64(Held<i64>),
    F32(Held<f32>),
    F64(Held<f64>),
}

/// The same, borrowed: all values, row by row.
#[derive(Clone, Copy)]
pub(crate) enum DenseRows<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl DenseStore {
    /// Values that lie in a mapped file from byte `start` on. Reads none of them.
    pub(super) fn mapped(
        map: Arc<MappedFile>,
        start: usize,
        length: usize,
        dtype: Dtype,
    ) -> Result<Self> {
        with_dtype!(dtype, T => {
            if !start.is_multiple_of(align_of::<T>()) {
                return Err(unaligned(&map));
            }
            Ok(T::hold(Held::Mapped { map, start, length }))
        })
    }

    pub(super) fn dtype(&self) -> Dtype {
        fn of<T: CountValue>(_: &Held<T>) -> Dtype {
            T::DTYPE
        }
        with_values!(DenseStore, self, held => of(held))
    }

    /// The file and the byte of it that the values start at, unless they are in memory.
    pub(super) fn in_file(&self) -> Option<(&KeptFile, u64)> {
        fn of<T>(held: &Held<T>) -> Option<(&KeptFile, u64)> {
            match held {
                Held::Memory(_) => None,
                Held::Mapped { map, start, .. } => Some((map.kept(), *start as u64)),
            }
        }
        with_values!(DenseStore, self, held => of(held))
    }

    pub(super) fn rows(&self) -> Result<DenseRows<'_>> {
        Ok(match self {
            DenseStore::U8(held) => DenseRows::U8(held.values()?),
            DenseStore::U16(held) => DenseRows::U16(held.values()?),
            DenseStore::U32(held) => DenseRows::U32(held.values()?),
            DenseStore::I32(held) => DenseRows::I32(held.values()?),
            DenseStore::I64(held) => DenseRows::I64(held.values()?),
            DenseStore::F32(held) => DenseRows::F32(held.values()?),
            DenseStore::F64(held) => DenseRows::F64(held.values()?),
        })
    }
}

impl DenseRows<'_> {
    /// Rows as `f32`, one after the other; the caller has checked rows and lengths.
    pub(super) fn fill(&self, terms: usize, rows: &[usize], out: &mut [f32]) {
        with_values!(DenseRows, self, values => {
            for (&row, out) in rows.iter().zip(out.chunks_exact_mut(terms)) {
                let values = &values[row * terms..(row + 1) * terms];
                for (out, value) in out.iter_mut().zip(values) {
                    *out = value.to_f32();
                }
            }
        });
    }

    /// The rows in the order given, copied.
    pub(super) fn select(&self, terms: usize, rows: &[usize]) -> DenseStore {
        fn copy<T: Element>(values: &[T], terms: usize, rows: &[usize]) -> DenseStore {
            let mut copy = Vec::with_capacity(rows.len() * terms);
            for &row in rows {
                copy.extend_from_slice(&values[row * terms..(row + 1) * terms]);
            }
            T::hold(Held::Memory(copy))
        }
        with_values!(DenseRows, self, values => copy(values, terms, rows))
    }
}

/// The bytes of values, as little-endian files hold them.
pub(crate) fn as_bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: the (sealed) element types are plain numbers without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The same, to be read into.
pub(super) fn as_bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    let size = size_of_val(values);
    // SAFETY: as above, and every bit pattern is a valid value of the (sealed) element types.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size) }
}
