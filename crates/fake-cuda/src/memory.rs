//! The GPU's memory, and pinned memory of the host.

use std::collections::BTreeMap;
use std::ptr::null_mut;

/// Sizes of the allocated blocks by address.
#[derive(Default)]
pub struct Blocks(BTreeMap<usize, usize>);

impl Blocks {
    /// Whether this range lies within one block.
    pub fn contain(&self, address: usize, bytes: usize) -> bool {
        self.0
            .range(..=address)
            .next_back()
            .is_some_and(|(start, length)| {
                address - start < *length && bytes <= start + length - address
            })
    }
}

/// An upload out of pinned memory that the simulated bus has not finished.
struct Upload {
    address: usize,
    bytes: usize,
    /// In seconds on the [`Clock`](crate::clock::Clock).
    end: f64,
}

pub struct Memory {
    pub total: usize,
    /// Bytes of GPU memory that other processes use.
    pub used_by_others: usize,
    /// Bytes of GPU memory in `gpu`.
    pub allocated: usize,
    pub pinned_bytes: usize,
    pub gpu: Blocks,
    pub pinned: Blocks,
    /// Addresses freed by `cuMemFreeAsync` and not yet released.
    freed: Vec<usize>,
    /// The next value of `used_by_others`, and the number of allocations until then.
    next_use: Option<(usize, u64)>,
    uploads: Vec<Upload>,
}

impl Memory {
    pub fn new(total: usize, used_by_others: usize) -> Self {
        Self {
            total,
            used_by_others,
            allocated: 0,
            pinned_bytes: 0,
            gpu: Blocks::default(),
            pinned: Blocks::default(),
            freed: Vec::new(),
            next_use: None,
            uploads: Vec::new(),
        }
    }

    pub fn free(&self) -> usize {
        self.total
            .saturating_sub(self.used_by_others + self.allocated)
    }

    /// Sets `used_by_others`, at once or after a number of allocations.
    pub fn set_used_by_others(&mut self, bytes: usize, after: u64) {
        match after {
            0 => (self.used_by_others, self.next_use) = (bytes, None),
            _ => self.next_use = Some((bytes, after)),
        }
    }

    /// Allocates GPU memory; `None` for zero bytes and where the GPU is full.
    pub fn allocate(&mut self, bytes: usize) -> Option<usize> {
        match &mut self.next_use {
            Some((_, after @ 1..)) => *after -= 1,
            Some((bytes, _)) => {
                self.used_by_others = *bytes;
                self.next_use = None;
            }
            None => {}
        }
        if bytes > self.free() {
            self.release_freed();
        }
        if bytes == 0 || bytes > self.free() {
            return None;
        }
        let address = shared_pages(bytes)?;
        self.gpu.0.insert(address, bytes);
        self.allocated += bytes;
        Some(address)
    }

    /// Marks a block as freed. It counts as allocated until [`Memory::release_freed`]. False where it is not
    /// allocated, or already freed.
    pub fn free_async(&mut self, address: usize) -> bool {
        let valid = self.gpu.0.contains_key(&address) && !self.freed.contains(&address);
        if valid {
            self.freed.push(address);
        }
        valid
    }

    /// Releases the blocks that [`Memory::free_async`] has marked.
    pub fn release_freed(&mut self) {
        for address in std::mem::take(&mut self.freed) {
            self.free_block(address);
        }
    }

    /// False where the block is not allocated.
    pub fn free_block(&mut self, address: usize) -> bool {
        let Some(bytes) = self.gpu.0.remove(&address) else {
            return false;
        };
        self.allocated -= bytes;
        unmap(address, bytes);
        true
    }

    pub fn pin(&mut self, bytes: usize) -> Option<usize> {
        let address = pages(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        self.pinned.0.insert(address, bytes);
        self.pinned_bytes += bytes;
        Some(address)
    }

    /// False where the block is not allocated.
    pub fn unpin(&mut self, address: usize) -> bool {
        let Some(bytes) = self.pinned.0.remove(&address) else {
            return false;
        };
        self.pinned_bytes -= bytes;
        unmap(address, bytes);
        true
    }

    /// Records an upload out of pinned memory that ends at `end`. Returns whether an earlier upload out of the same
    /// bytes is still in flight: then the host has overwritten them too early.
    pub fn record_upload(&mut self, address: usize, bytes: usize, now: f64, end: f64) -> bool {
        self.uploads.retain(|upload| upload.end > now);
        let overlaps = |upload: &Upload| {
            upload.address < address + bytes && address < upload.address + upload.bytes
        };
        let too_early = self.uploads.iter().any(overlaps);
        self.uploads.push(Upload {
            address,
            bytes,
            end,
        });
        too_early
    }
}

/// Maps a memfd: GPU memory must not count as anonymous memory of this process, which tests measure.
fn shared_pages(bytes: usize) -> Option<usize> {
    // SAFETY: system calls without pointers but the name, which is a C string, and the mapping stays valid when the
    // file is closed.
    unsafe {
        let file = libc::memfd_create(c"GPU".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return None;
        }
        let long_enough = libc::ftruncate(file, bytes as libc::off_t) == 0;
        let address = match long_enough {
            true => pages(bytes, libc::MAP_SHARED, file),
            false => None,
        };
        libc::close(file);
        address
    }
}

fn pages(bytes: usize, flags: libc::c_int, file: libc::c_int) -> Option<usize> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the system chooses.
    let address = unsafe {
        libc::mmap(
            null_mut(),
            bytes,
            access,
            flags | libc::MAP_NORESERVE,
            file,
            0,
        )
    };
    (address != libc::MAP_FAILED).then_some(address as usize)
}

fn unmap(address: usize, bytes: usize) {
    // SAFETY: a whole mapping made by `pages`, whose block has just been removed.
    unsafe { libc::munmap(address as *mut _, bytes) };
}
