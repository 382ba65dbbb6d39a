//! Large tables of `f32` or of 16-bit values, in memory or in memory-mapped, unlinked temporary files.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use memmap2::MmapMut;

use crate::error::{Error, ErrorKind, Result};

use super::atomic_file::{SPILL_FULL_REMEDY, unlinked_temp_file};
use super::mapped_file::MappedFile;
use super::mapped_range::MappedRange;

/// Bytes per `madvise` call: the system reads at most its own limit for a request, which is 128 KiB on many disks.
const PIECE: usize = 128 << 10;

/// A type for which every bit pattern is a value, and zero bits are the value 0.
///
/// # Safety
/// Any bytes of its size and alignment have to be a value of the type.
pub unsafe trait Plain: Copy + Default {}

// SAFETY: every bit pattern is a valid number.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}

/// Zeros in a memory-mapped, unlinked temporary file in `folder`.
pub fn mapped_zeros<T: Plain>(folder: &Path, length: usize) -> Result<Values<T>> {
    let bytes = length.saturating_mul(size_of::<T>());
    let file = unlinked_temp_file(folder, bytes as u64, SPILL_FULL_REMEDY)?;
    // SAFETY: no other process opens and changes an unlinked file, its disk space is preallocated, and the range of the map is
    // registered for the case that the disk fails.
    let map =
        unsafe { MmapMut::map_mut(&file) }.map_err(|source| Error::io("map", folder, source))?;
    Ok(Values::Mapped {
        file_range: Some(MappedRange::new(&map, true)),
        map,
        length,
    })
}

/// Lazily zeroed memory: an anonymous mapping, whose pages the system allocates on first write and frees on drop.
///
/// Memory from malloc may come from the heap instead: its pages may still be resident from an earlier fit, and remain
/// in the heap afterwards.
pub fn lazy_zeroed<T: Plain>(length: usize) -> Values<T> {
    match MmapMut::map_anon(length * size_of::<T>()) {
        Ok(map) => Values::Mapped {
            file_range: None,
            map,
            length,
        },
        Err(_) => Values::Memory(vec![T::default(); length]),
    }
}

/// The values of a table, on the heap or in a memory mapping.
pub enum Values<T = f32> {
    Memory(Vec<T>),
    Mapped {
        /// Set if the mapping is of a file, so that the system can write its pages out when memory is short.
        file_range: Option<MappedRange>,
        map: MmapMut,
        /// Number of values.
        length: usize,
    },
    /// A part of a file that belongs to somebody else, and is only read.
    OfFile {
        file: Arc<MappedFile>,
        /// The byte of the file at which the values begin.
        start: usize,
        /// Number of values.
        length: usize,
    },
}

/// The values of a mapped file from the byte `start` on, without a copy; `None` where they are not aligned in memory.
pub fn values_of_file<T: Plain>(
    file: &Arc<MappedFile>,
    start: usize,
    length: usize,
) -> Result<Option<Values<T>>> {
    let bytes = file.bytes()?;
    let part = start
        .checked_add(length.saturating_mul(size_of::<T>()))
        .and_then(|end| bytes.get(start..end));
    // Tensor files are little-endian.
    let aligned = part.is_some_and(|part| part.as_ptr().cast::<T>().is_aligned());
    Ok(
        (aligned && cfg!(target_endian = "little")).then(|| Values::OfFile {
            file: file.clone(),
            start,
            length,
        }),
    )
}

impl<T: Plain> Values<T> {
    /// Bytes of anonymous memory that they take; none in a file.
    pub fn bytes_in_memory(&self) -> u64 {
        match self.is_in_file() {
            true => 0,
            false => size_of_val(&**self) as u64,
        }
    }

    /// Fails if values in a file were lost, because its disk failed.
    pub fn check_kept(&self) -> Result<()> {
        match self {
            Self::Mapped {
                file_range: Some(range),
                ..
            } if range.is_lost() => Err(Error::new(
                ErrorKind::Io,
                "the disk lost a part of a table in a memory-mapped file",
            )
            .fix(
                "check the disk, or name a folder on another one (MiniBatch::table_storage, Budget::spill_dir)",
            )),
            Self::OfFile { file, .. } => file.check_unchanged(),
            _ => Ok(()),
        }
    }

    /// Whether they are in a file, from which the system loads them.
    pub fn is_in_file(&self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Mapped { file_range, .. } => file_range.is_some(),
            Self::OfFile { .. } => true,
        }
    }

    /// Tells the system that access is random (`MADV_RANDOM`), so that it does not read ahead.
    pub fn advise_random(&self) {
        #[cfg(unix)]
        if let Self::Mapped {
            map,
            file_range: Some(_),
            ..
        } = self
        {
            // Only a hint; errors are ignored.
            let _ = map.advise(memmap2::Advice::Random);
        }
    }

    /// Asks the system to read this range of values now (`MADV_WILLNEED`).
    pub fn prefetch(&self, range: std::ops::Range<usize>) {
        #[cfg(unix)]
        if let Self::Mapped {
            map,
            file_range: Some(_),
            ..
        } = self
        {
            let size = size_of::<T>();
            let end = range.end * size;
            for start in (range.start * size..end).step_by(PIECE) {
                let length = PIECE.min(end - start);
                // Only a hint; errors are ignored.
                let _ = map.advise_range(memmap2::Advice::WillNeed, start, length);
            }
        }
    }
}

impl<T: Plain> Deref for Values<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Memory(values) => values,
            // SAFETY: a mapping is page-aligned and holds `length` values; every bit pattern is a value of a plain type.
            Self::Mapped { map, length, .. } => unsafe {
                std::slice::from_raw_parts(map.as_ptr().cast(), *length)
            },
            // SAFETY: the values lie inside the map and are aligned, which `values_of_file` has checked; every bit pattern is
            // a value of a plain type. `check_kept` says afterwards whether the file has changed.
            Self::OfFile {
                file,
                start,
                length,
            } => unsafe {
                std::slice::from_raw_parts(file.map_start().add(*start).cast(), *length)
            },
        }
    }
}

impl<T: Plain> DerefMut for Values<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        if matches!(self, Self::OfFile { .. }) {
            // A file that belongs to somebody else is not changed.
            *self = Self::Memory(self.to_vec());
        }
        match self {
            Self::Memory(values) => values,
            Self::OfFile { .. } => &mut [],
            // SAFETY: as in `deref`, and the mapping is borrowed mutably.
            Self::Mapped { map, length, .. } => unsafe {
                std::slice::from_raw_parts_mut(map.as_mut_ptr().cast(), *length)
            },
        }
    }
}
