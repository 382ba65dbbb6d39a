//! Memory into and out of which several threads copy: an anonymous mapping, or a file mapped for reading and writing.

use std::fs::File;
use std::io;

use memmap2::{MmapMut, MmapRaw};

use super::mapped_range::MappedRange;
use super::mapped_table::Plain;

/// Mapped memory without references into it: its users copy values in and out, under locks of their own.
pub struct SharedMap {
    /// Set if the mapping is of a file. Dropped before the map.
    file_range: Option<MappedRange>,
    map: MmapRaw,
}

impl SharedMap {
    /// Zeros in memory (an anonymous mapping), whose pages the system allocates on first write.
    pub fn zeros(bytes: usize) -> io::Result<Self> {
        Ok(Self {
            file_range: None,
            map: MmapMut::map_anon(bytes)?.into(),
        })
    }

    /// A whole file, to read and write. Access is random (`MADV_RANDOM`), so that the system does not read ahead.
    pub fn of_file(file: &File) -> io::Result<Self> {
        // SAFETY: no reference into the map outlives this function. Values are copied, and every bit pattern is a value, so a
        // write by another process gives a wrong value at worst. The range is registered for the case that pages are lost.
        let map = unsafe { MmapMut::map_mut(file) }?;
        // Only a hint; errors are ignored.
        let _ = map.advise(memmap2::Advice::Random);
        Ok(Self {
            file_range: Some(MappedRange::new(&map, true)),
            map: map.into(),
        })
    }

    /// Whether it maps a file, from which the system loads it.
    pub fn is_in_file(&self) -> bool {
        self.file_range.is_some()
    }

    /// Whether pages of the file were lost, because its disk failed or it was truncated. They read as zeros since then.
    pub fn is_lost(&self) -> bool {
        self.file_range.as_ref().is_some_and(MappedRange::is_lost)
    }

    /// Asks the system to read a range of bytes now, if it is in a file (`MADV_WILLNEED`).
    pub fn prefetch(&self, start: usize, bytes: usize) {
        #[cfg(unix)]
        if self.is_in_file() {
            // Only a hint; errors are ignored.
            let _ = self
                .map
                .advise_range(memmap2::Advice::WillNeed, start, bytes);
        }
    }

    /// Writes changed pages to the file and waits for the disk (`msync` with `MS_SYNC`).
    pub fn flush(&self) -> io::Result<()> {
        match self.file_range {
            Some(_) => self.map.flush(),
            None => Ok(()),
        }
    }

    /// Copies values out of the map, from the byte `start` on.
    ///
    /// # Safety
    /// The values lie inside the map, and no other thread writes them meanwhile.
    pub unsafe fn load<T: Plain>(&self, start: usize, out: &mut [T]) {
        let bytes = size_of_val(out);
        debug_assert!(start + bytes <= self.map.len());
        // SAFETY: the caller stays inside the map and keeps other threads from writing. `out` is not part of the map, and any
        // bytes are values of a plain type. Bytes are copied, so that `start` needs no alignment.
        unsafe {
            let from = self.map.as_ptr().add(start);
            std::ptr::copy_nonoverlapping(from, out.as_mut_ptr().cast(), bytes);
        }
    }

    /// Copies values into the map, from the byte `start` on.
    ///
    /// # Safety
    /// The values lie inside the map, and no other thread reads or writes them meanwhile.
    pub unsafe fn store<T: Plain>(&self, start: usize, values: &[T]) {
        let bytes = size_of_val(values);
        debug_assert!(start + bytes <= self.map.len());
        // SAFETY: the caller stays inside the map and keeps other threads away; `values` are not part of the map.
        unsafe {
            let to = self.map.as_mut_ptr().add(start);
            std::ptr::copy_nonoverlapping(values.as_ptr().cast(), to, bytes);
        }
    }
}
