//! The card's memory, and pinned memory of the host.

use std::collections::BTreeMap;
use std::ptr::null_mut;

/// Blocks that are allocated, by their addresses.
#[derive(Default)]
pub struct Blocks(BTreeMap<usize, usize>);

impl Blocks {
    /// Whether all of these bytes lie in one block.
    pub fn have(&self, address: usize, bytes: usize) -> bool {
        self.0
            .range(..=address)
            .next_back()
            .is_some_and(|(start, length)| {
                address - start < *length && bytes <= start + length - address
            })
    }
}

pub struct Memory {
    pub total: usize,
    /// What others hold.
    pub taken: usize,
    pub held: usize,
    pub pinned_bytes: usize,
    pub card: Blocks,
    pub pinned: Blocks,
    /// Blocks that were given back, until somebody waits.
    kept: Vec<usize>,
    /// What others will hold, after so many more allocations.
    later: Option<(usize, u64)>,
    /// Copies out of pinned memory: address, bytes, and when they end.
    under_way: Vec<(usize, usize, f64)>,
}

impl Memory {
    pub fn new(total: usize, taken: usize) -> Self {
        Self {
            total,
            taken,
            held: 0,
            pinned_bytes: 0,
            card: Blocks::default(),
            pinned: Blocks::default(),
            kept: Vec::new(),
            later: None,
            under_way: Vec::new(),
        }
    }

    pub fn free(&self) -> usize {
        self.total.saturating_sub(self.taken + self.held)
    }

    pub fn others_take(&mut self, bytes: usize, after: u64) {
        match after {
            0 => (self.taken, self.later) = (bytes, None),
            _ => self.later = Some((bytes, after)),
        }
    }

    /// Memory of the card; none where it is full.
    pub fn allocate(&mut self, bytes: usize) -> Option<usize> {
        match &mut self.later {
            Some((_, after @ 1..)) => *after -= 1,
            Some((bytes, _)) => {
                self.taken = *bytes;
                self.later = None;
            }
            None => {}
        }
        if bytes > self.free() {
            self.release();
        }
        if bytes == 0 || bytes > self.free() {
            return None;
        }
        let address = shared_pages(bytes)?;
        self.card.0.insert(address, bytes);
        self.held += bytes;
        Some(address)
    }

    /// A block that is given back, and still taken.
    pub fn keep_block(&mut self, address: usize) -> bool {
        let there = self.card.0.contains_key(&address) && !self.kept.contains(&address);
        if there {
            self.kept.push(address);
        }
        there
    }

    /// What was given back goes to whoever wants it.
    pub fn release(&mut self) {
        for address in std::mem::take(&mut self.kept) {
            self.free_block(address);
        }
    }

    pub fn free_block(&mut self, address: usize) -> bool {
        let Some(bytes) = self.card.0.remove(&address) else {
            return false;
        };
        self.held -= bytes;
        unmap(address, bytes);
        true
    }

    pub fn pin(&mut self, bytes: usize) -> Option<usize> {
        let address = pages(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        self.pinned.0.insert(address, bytes);
        self.pinned_bytes += bytes;
        Some(address)
    }

    pub fn unpin(&mut self, address: usize) -> bool {
        let Some(bytes) = self.pinned.0.remove(&address) else {
            return false;
        };
        self.pinned_bytes -= bytes;
        unmap(address, bytes);
        true
    }

    /// Notes a copy out of pinned memory. Whether an earlier one out of the same bytes is still under way: they were
    /// written anew since, and too early.
    pub fn leaves(&mut self, address: usize, bytes: usize, now: f64, end: f64) -> bool {
        self.under_way.retain(|&(_, _, end)| end > now);
        let overlaps = |&(from, length, _): &(usize, usize, f64)| {
            from < address + bytes && address < from + length
        };
        let early = self.under_way.iter().any(overlaps);
        self.under_way.push((address, bytes, end));
        early
    }
}

/// Pages that are no anonymous memory of this process: what a card holds is not held against it.
fn shared_pages(bytes: usize) -> Option<usize> {
    // SAFETY: plain calls; the name is a C string, and the file is closed once it is mapped.
    unsafe {
        let file = libc::memfd_create(c"card".as_ptr(), libc::MFD_CLOEXEC);
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
    // SAFETY: a new mapping at an address of the system's choice.
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
    // SAFETY: a whole mapping that was made above, and is no longer among the blocks.
    unsafe { libc::munmap(address as *mut _, bytes) };
}
