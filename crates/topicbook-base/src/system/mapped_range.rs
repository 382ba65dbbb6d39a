//! Memory maps of files that may lose their pages, because another process truncates the file or its disk fails.
//!
//! Linux answers an access to such a page with the signal SIGBUS, which ends the process. A handler looks for the address in a
//! list of the maps that are registered here, maps zeros over the lost pages, and records the loss, so that the access
//! returns. The reader of a map then calls [`MappedRange::is_lost`] and returns an error. A signal with another address goes
//! to the previous handler, such as the handler of Rust's standard library.

use std::mem::MaybeUninit;
use std::ptr::{from_ref, null, null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libc::{c_int, c_void, siginfo_t};

/// The registration of a memory map of a file. Drop it before the map.
pub struct MappedRange(&'static Slot);

impl MappedRange {
    /// Registers the bytes of a map. The first call installs the handler.
    pub fn new(map: &[u8], writable: bool) -> Self {
        install_handler();
        let slot = Slot::unused();
        let start = map.as_ptr().addr();
        slot.lost_from.store(usize::MAX, SeqCst);
        slot.writable.store(writable, SeqCst);
        slot.set(start, start + map.len());
        Self(slot)
    }

    /// Whether an access has hit lost pages of the map. Each access since then may have read zeros.
    pub fn is_lost(&self) -> bool {
        self.0.lost_from.load(SeqCst) != usize::MAX
    }
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        self.0.set(0, 0);
        unused_slots().push(self.0);
    }
}

/// An entry of the list. Entries are reused, but never freed: the handler may read all of them at any time.
struct Slot {
    /// Odd while `start` and `end` change (a sequence lock).
    version: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    writable: AtomicBool,
    /// Address of the first page that has been replaced, together with all pages after it; the maximum if none is lost.
    lost_from: AtomicUsize,
    next: Option<&'static Slot>,
}

/// The last entry that was added. The handler must not wait for a lock, so the entries form a list.
static LAST: AtomicPtr<Slot> = AtomicPtr::new(null_mut());

/// The entries that no map uses. Held while entries are added.
fn unused_slots() -> MutexGuard<'static, Vec<&'static Slot>> {
    static UNUSED: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn last_slot() -> Option<&'static Slot> {
    // SAFETY: the pointer is null or points to an entry, and entries are never freed.
    unsafe { LAST.load(SeqCst).as_ref() }
}

impl Slot {
    /// An entry that no map uses.
    fn unused() -> &'static Self {
        let mut unused = unused_slots();
        unused.pop().unwrap_or_else(|| {
            let slot: &'static Self = Box::leak(Box::new(Self {
                version: AtomicUsize::new(0),
                start: AtomicUsize::new(0),
                end: AtomicUsize::new(0),
                writable: AtomicBool::new(false),
                lost_from: AtomicUsize::new(usize::MAX),
                next: last_slot(),
            }));
            LAST.store(from_ref(slot).cast_mut(), SeqCst);
            slot
        })
    }

    fn set(&self, start: usize, end: usize) {
        self.version.fetch_add(1, SeqCst);
        self.start.store(start, SeqCst);
        self.end.store(end, SeqCst);
        self.version.fetch_add(1, SeqCst);
    }

    /// The end of the range, if it contains the address. The range of a map that is being read does not change, so an entry
    /// that changes meanwhile belongs to another map.
    fn end_of(&self, address: usize) -> Option<usize> {
        let version = self.version.load(SeqCst);
        let (start, end) = (self.start.load(SeqCst), self.end.load(SeqCst));
        let is_steady = version.is_multiple_of(2) && self.version.load(SeqCst) == version;
        (is_steady && (start..end).contains(&address)).then_some(end)
    }

    /// Maps zeros over the pages from the address's page to the end of the range. Pages that an earlier loss has replaced
    /// stay, because they may have been written since. Returns `false` if the system refuses.
    fn lose(&self, address: usize, end: usize) -> bool {
        let page = PAGE.load(SeqCst);
        let start = address / page * page;
        let access = match self.writable.load(SeqCst) {
            true => libc::PROT_READ | libc::PROT_WRITE,
            false => libc::PROT_READ,
        };
        // The loss is recorded before the pages are readable, so that no thread reads zeros and then finds no loss.
        let replaced = self.lost_from.fetch_min(start, SeqCst);
        let end = end.next_multiple_of(page).min(replaced);
        if end <= start {
            // Another thread is about to replace the page: until then, the access is retried and fails again.
            return true;
        }
        // SAFETY: the pages belong to a map that stays registered, and so mapped, during the access that was interrupted.
        // They have no contents any more, and every bit pattern is valid for those who read maps. `mmap` is a mere system
        // call, so a signal handler may call it.
        let found = unsafe {
            libc::mmap(
                without_provenance_mut(start),
                end - start,
                access,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        found != libc::MAP_FAILED
    }
}

/// The size of a page in bytes; set before the handler is installed.
static PAGE: AtomicUsize = AtomicUsize::new(1);

/// The previous action of the process for the signal; set before the handler is installed.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once. Where the system refuses, the signal keeps its effect.
fn install_handler() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // SAFETY: the calls get valid pointers or null, and `before` and `handler` are whole: zeros are a valid `sigaction`,
        // and `sigemptyset` fills in the set of signals.
        unsafe {
            PAGE.store(libc::sysconf(libc::_SC_PAGESIZE).max(1) as usize, SeqCst);
            let mut before = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            if libc::sigaction(libc::SIGBUS, null(), &mut before) != 0 {
                return;
            }
            let _ = BEFORE.set(before);
            let mut handler = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            handler.sa_sigaction = handle as *const () as usize;
            // The handler runs on the stack that the previous handler expects, because it calls that one.
            handler.sa_flags = libc::SA_SIGINFO | (before.sa_flags & libc::SA_ONSTACK);
            libc::sigemptyset(&mut handler.sa_mask);
            libc::sigaction(libc::SIGBUS, &handler, null_mut());
        }
    });
}

/// The handler. It calls nothing that allocates or waits, and leaves `errno` as it is: its only system call succeeds, or the
/// process ends.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid `siginfo_t`, and the `siginfo_t` of a lost page has an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let mut next = last_slot().filter(|_| code == libc::BUS_ADRERR);
    while let Some(slot) = next {
        if let Some(end) = slot.end_of(address)
            && slot.lose(address, end)
        {
            return;
        }
        next = slot.next;
    }
    pass_on(signal, info, context);
}

/// Handles the signal as the process did before.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().filter(|before| {
        before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN
    });
    // SAFETY: an action that is neither the default nor to ignore the signal is the address of a handler, whose arguments are
    // given by the flag. Without one, the default action ends the process as soon as this handler returns.
    unsafe {
        match before {
            Some(before) if before.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                std::mem::transmute::<usize, Handler>(before.sa_sigaction)(signal, info, context);
            }
            Some(before) => {
                type PlainHandler = extern "C" fn(c_int);
                std::mem::transmute::<usize, PlainHandler>(before.sa_sigaction)(signal);
            }
            None => {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memmap2::{Mmap, MmapMut};
    use std::hint::black_box;
    use std::thread;

    const LENGTH: usize = 1 << 20;

    #[test]
    fn lost_pages_read_as_zeros() {
        let file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut &file, &[7; LENGTH]).unwrap();
        // SAFETY: the test alone cuts the file, and the maps are registered.
        let maps: Vec<Mmap> = (0..3)
            .map(|_| unsafe { Mmap::map(&file) }.unwrap())
            .collect();
        let ranges: Vec<MappedRange> = maps
            .iter()
            .map(|map| MappedRange::new(map, false))
            .collect();
        let sum = |map: &Mmap| {
            black_box(map)
                .iter()
                .map(|&byte| usize::from(byte))
                .sum::<usize>()
        };
        assert_eq!(sum(&maps[0]), 7 * LENGTH);
        file.set_len(LENGTH as u64 / 2).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(sum(&maps[1]), 7 * LENGTH / 2));
            }
        });
        assert!(ranges[1].is_lost() && !ranges[0].is_lost() && !ranges[2].is_lost());
        file.set_len(0).unwrap();
        // The replaced pages are anonymous memory; the other pages are lost now.
        assert_eq!((sum(&maps[1]), sum(&maps[2])), (0, 0));
        assert!(ranges[2].is_lost());
        drop((ranges, maps));
        // An entry of the list is reused, without the loss of the previous map.
        let fresh = MappedRange::new(&[], false);
        assert!(!fresh.is_lost());
    }

    #[test]
    fn lost_pages_of_a_writable_map_can_be_written() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LENGTH as u64).unwrap();
        // SAFETY: as above.
        let mut map = unsafe { MmapMut::map_mut(&file) }.unwrap();
        let range = MappedRange::new(&map, true);
        file.set_len(0).unwrap();
        // `black_box` forces each access: the compiler cannot assume the contents of the map.
        for (at, value) in [(LENGTH - 1, 3), (LENGTH / 2, 4), (0, 5)] {
            black_box(&mut map)[at] = value;
        }
        let map = black_box(&map);
        assert_eq!((map[0], map[LENGTH / 2], map[LENGTH - 1]), (5, 4, 3));
        assert!(range.is_lost());
        drop(range);
    }
}
