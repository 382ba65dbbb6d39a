//! Dense counts in row-major order, in a vector or in a memory-mapped file.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::system::{MappedFile, OpenFile};
use crate::text::bytes;

use super::dtype::{CountValue, Dtype, Element, map_values, with_dtype, with_values};

#[cfg(target_endian = "big")]
compile_error!("mapped files contain little-endian values, which are read in place");

/// Values of one dtype, in a vector or in a memory-mapped file.
pub enum ValueStorage<T> {
    Memory(Vec<T>),
    Mapped {
        map: Arc<MappedFile>,
        /// Byte offset of the first value in the file; a multiple of the alignment of `T`.
        start: usize,
        /// Number of values.
        length: usize,
    },
}

impl<T: Element> ValueStorage<T> {
    pub(super) fn values(&self) -> Result<&[T]> {
        match self {
            ValueStorage::Memory(values) => Ok(values),
            ValueStorage::Mapped { map, start, length } => {
                let stored = map.bytes()?;
                let truncated = || Error::format(map.path(), "is shorter than its header says");
                let end = length
                    .checked_mul(size_of::<T>())
                    .and_then(|size| size.checked_add(*start))
                    .ok_or_else(truncated)?;
                let stored = stored.get(*start..end).ok_or_else(truncated)?;
                // SAFETY: every bit pattern is a valid value of the (sealed) element types.
                let (before, values, after) = unsafe { stored.align_to::<T>() };
                if !before.is_empty() || !after.is_empty() {
                    return Err(truncated());
                }
                Ok(values)
            }
        }
    }

    /// `length` values of a file from byte `start` on. Reads none of them, unless they do not start at a multiple of their
    /// size, as the format safetensors allows: these are copied into memory.
    pub(super) fn of_map(map: Arc<MappedFile>, start: usize, length: usize) -> Result<Self> {
        if start.is_multiple_of(align_of::<T>()) {
            return Ok(ValueStorage::Mapped { map, start, length });
        }
        let size = length.saturating_mul(size_of::<T>());
        map.file()
            .claim(format!(
                "values of {}, which are copied,",
                bytes(size as u64)
            ))
            .check_memory(size as u64)?;
        let stored = map.bytes()?.get(start..start.saturating_add(size));
        let stored =
            stored.ok_or_else(|| Error::format(map.path(), "is shorter than its header says"))?;
        let mut values = vec![T::default(); length];
        // SAFETY: both have `size` bytes, and every bit pattern is a valid value of the (sealed) element types.
        unsafe {
            std::ptr::copy_nonoverlapping(stored.as_ptr(), values.as_mut_ptr().cast::<u8>(), size);
        }
        map.check_unchanged()?;
        Ok(ValueStorage::Memory(values))
    }
}

/// Dense values of any dtype.
pub enum DenseStore {
    U8(ValueStorage<u8>),
    U16(ValueStorage<u16>),
    U32(ValueStorage<u32>),
    I32(ValueStorage<i32>),
    I64(ValueStorage<i64>),
    F32(ValueStorage<f32>),
    F64(ValueStorage<f64>),
}

/// Borrowed dense values of any dtype: the whole matrix, in row-major order.
#[derive(Clone, Copy)]
pub enum DenseRows<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl DenseStore {
    /// Values in memory. The vector is moved, not copied.
    pub(super) fn from_vec<T: CountValue>(values: Vec<T>) -> Self {
        T::dense(ValueStorage::Memory(values))
    }

    /// An empty store in memory.
    pub(super) fn empty(dtype: Dtype) -> Self {
        with_dtype!(dtype, T => T::dense(ValueStorage::Memory(Vec::new())))
    }

    /// `length` values in a mapped file, from byte `start` on: see [`ValueStorage::of_map`].
    pub(super) fn mapped(
        map: Arc<MappedFile>,
        start: usize,
        length: usize,
        dtype: Dtype,
    ) -> Result<Self> {
        Ok(with_dtype!(dtype, T => T::dense(ValueStorage::of_map(map, start, length)?)))
    }

    pub(super) fn dtype(&self) -> Dtype {
        fn of<T: CountValue>(_: &ValueStorage<T>) -> Dtype {
            T::DTYPE
        }
        with_values!(DenseStore, self, storage => of(storage))
    }

    /// The mapped file and the byte offset of the first value in it; `None` for values in memory.
    pub(super) fn in_file(&self) -> Option<(&OpenFile, u64)> {
        fn of<T>(storage: &ValueStorage<T>) -> Option<(&OpenFile, u64)> {
            match storage {
                ValueStorage::Memory(_) => None,
                ValueStorage::Mapped { map, start, .. } => Some((map.file(), *start as u64)),
            }
        }
        with_values!(DenseStore, self, storage => of(storage))
    }

    /// Appends a row, whose values are `range` of `from`: all of them, or the columns `order`. Both have the same dtype, and
    /// this store is in memory.
    pub(super) fn append_row(
        &mut self,
        from: &DenseRows<'_>,
        range: Range<usize>,
        order: Option<&[usize]>,
    ) {
        macro_rules! append {
            ($($D:ident),*) => {
                match (self, from) {
                    $((DenseStore::$D(ValueStorage::Memory(values)), DenseRows::$D(from)) => {
                        let row = &from[range];
                        match order {
                            None => values.extend_from_slice(row),
                            Some(order) => values.extend(order.iter().map(|&column| row[column])),
                        }
                    })*
                    _ => debug_assert!(false, "values of two dtypes"),
                }
            };
        }
        append!(U8, U16, U32, I32, I64, F32, F64);
    }

    /// Appends a row of `terms` values: these counts in these columns, and zeros. This store is in memory, and its dtype
    /// represents the counts.
    pub(super) fn append_counts(&mut self, terms: usize, columns: &[u32], counts: &[f64]) {
        fn append<T: Element>(
            storage: &mut ValueStorage<T>,
            terms: usize,
            columns: &[u32],
            counts: &[f64],
        ) {
            let ValueStorage::Memory(values) = storage else {
                return debug_assert!(false, "values in a file");
            };
            let start = values.len();
            values.resize(start + terms, T::default());
            for (&column, &count) in columns.iter().zip(counts) {
                let exact = T::from_f64(count);
                debug_assert!(exact.is_some(), "{count}");
                values[start + column as usize] = exact.unwrap_or_default();
            }
        }
        with_values!(DenseStore, self, storage => append(storage, terms, columns, counts));
    }

    /// Fails if a mapped file has changed since it was opened, or lost pages.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        fn check<T>(storage: &ValueStorage<T>) -> Result<()> {
            match storage {
                ValueStorage::Memory(_) => Ok(()),
                ValueStorage::Mapped { map, .. } => map.check_unchanged(),
            }
        }
        with_values!(DenseStore, self, storage => check(storage))
    }

    pub(super) fn rows(&self) -> Result<DenseRows<'_>> {
        Ok(map_values!(DenseStore => DenseRows, self, storage => storage.values()?))
    }
}

impl DenseRows<'_> {
    pub fn dtype(&self) -> Dtype {
        fn of<T: CountValue>(_: &[T]) -> Dtype {
            T::DTYPE
        }
        with_values!(DenseRows, self, values => of(values))
    }

    /// Converts rows to `f32` and writes them to `out` one after the other. The caller has checked the row numbers and
    /// that `out` has `rows.len() * terms` values.
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

    /// Copies rows, in the order given.
    pub(super) fn select(&self, terms: usize, rows: &[usize]) -> DenseStore {
        fn copy<T: Element>(values: &[T], terms: usize, rows: &[usize]) -> ValueStorage<T> {
            let mut copy = Vec::with_capacity(rows.len() * terms);
            for &row in rows {
                copy.extend_from_slice(&values[row * terms..(row + 1) * terms]);
            }
            ValueStorage::Memory(copy)
        }
        map_values!(DenseRows => DenseStore, self, values => copy(values, terms, rows))
    }
}

/// The values as bytes, little-endian as in the files.
pub fn as_bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: the (sealed) element types are plain numbers without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The values as mutable bytes, to read a file into.
pub(super) fn as_bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    let size = size_of_val(values);
    // SAFETY: the (sealed) element types have no padding, and every bit pattern is a valid value of them.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size) }
}

#[cfg(all(test, unix))]
mod tests {
    use crate::Counts;
    use crate::error::{ErrorKind, Result};
    use std::fs::File;

    #[test]
    fn what_is_computed_of_lost_pages_is_an_error() {
        let (_folder, path) = testkit::temp_path("X.npy");
        let memory = Counts::dense(1000, 100, vec![1u8; 100_000]).unwrap();
        for (length, restored) in [(0, false), (50_000, false), (50_000, true)] {
            let counts = memory.write_npy(&path).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            let before = file.metadata().unwrap();
            // The file is cut after the first check, and looks as before at the last.
            let sum: Result<f32> = counts.with_view(|view| {
                file.set_len(length).unwrap();
                let mut row = vec![0.0; 100];
                view.fill(100, &[999], &mut row);
                if restored {
                    file.set_len(before.len()).unwrap();
                    file.set_modified(before.modified().unwrap()).unwrap();
                }
                Ok(row.iter().sum())
            });
            let error = sum.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Format, "{error}");
            assert!(error.to_string().contains("X.npy"), "{error}");
            let part = match restored {
                true => "100128 bytes could not be read",
                false => "100128 bytes long when it was opened",
            };
            assert!(error.to_string().contains(part), "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}
