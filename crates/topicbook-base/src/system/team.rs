//! Threads that share sections of work of a few microseconds, such as the passes of a gradient step over F.
//!
//! [`Team::for_each`] calls `work`, which changes its item alone, once for each item. With n threads, thread 0 is the caller and
//! the others are helpers. The plain form of a section is:
//!
//! ```text
//! open:      the caller publishes `work` and wakes the helpers
//! thread i:  takes the items of its share, items * i / n .. items * (i + 1) / n, one after the other,
//!            then the items that are left in shares i + 1, ..., n - 1, 0, ..., i - 1
//! close:     no helper may begin any more; the caller waits for those that have begun
//! ```
//!
//! A thread pool does the same with queues and wake-ups: its threads yield or sleep between sections, and to begin a section may
//! take longer than the section itself. A team differs in five ways:
//!
//! 1. A waiting helper spins on one atomic number, [`Shared::state`], for some microseconds. Then it yields the processor some times
//!    (`sched_yield`), and then it parks (a futex). The caller wakes helpers only if one is parked.
//! 2. That number holds the section's number, whether it is open, and how many helpers work on it. A helper begins by a
//!    compare-exchange that adds 1, which fails once the section is closed. So the caller never waits for a late helper.
//! 3. A number of items is always divided into the same shares, so that the data of a share are in the caches of its thread. The
//!    last item of another thread's share is left to that thread for some microseconds.
//! 4. A helper that finds another thread of the section on its processor moves to a free one (`sched_setaffinity`), because Linux
//!    may leave two threads that wait for each other on one processor.
//! 5. A panic of `work` ends the work of its thread alone. The caller resumes the panic after the section is closed.

use std::any::Any;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::spread::{move_to, processor, processors_of};

/// Iterations that a waiting thread spins before it yields the processor, which another thread may need: some microseconds.
const TURNS: usize = 1 << 9;

/// How often a waiting helper yields the processor before it parks.
const YIELDS: usize = 1 << 6;

/// Iterations that a thread spins before it takes the last item of another thread's share: some microseconds.
const PATIENCE: usize = 1 << 8;

/// Fields of [`Shared::state`]. The lowest one is the number of helpers that work on the section.
const HELPERS: u64 = OPEN - 1;
const OPEN: u64 = 1 << 16;
const ENDED: u64 = 1 << 17;
const SECTION: u64 = 1 << 18;

/// The calling thread and its helpers, which end with the team.
pub struct Team {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
}

/// A value on cache lines of its own: processors fetch two at a time.
#[repr(align(128))]
struct Apart<T>(T);

struct Shared {
    /// From the highest bits: the number of the section, whether the team has ended, whether the section is open (helpers may
    /// begin), and how many helpers work on it.
    state: Apart<AtomicU64>,
    /// Written while no section is open and no helper works on one.
    section: Apart<UnsafeCell<Section>>,
    /// The processors of the team, each as a bit; 0 unless it has one for each thread.
    processors: u64,
    /// The processors that threads of the section are on.
    occupied: Apart<AtomicU64>,
    /// The share of each thread in the items.
    shares: Vec<Apart<Share>>,
    sleeping: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the section is read by helpers that are counted in the state while it was open. It is written by the calling thread
// alone, before it opens the section and after no helper of the last one is counted any more.
unsafe impl Sync for Shared {}
// SAFETY: it points to items and to a function that `Team::for_each` may give to other threads.
unsafe impl Send for Shared {}

/// The next item of a share, and where the share ends.
struct Share {
    next: AtomicUsize,
    end: AtomicUsize,
}

/// What is done with each item.
#[derive(Clone, Copy)]
struct Section {
    call: unsafe fn(*const (), usize),
    work: *const (),
}

impl Team {
    /// A team with the number of threads of the current pool.
    pub fn new() -> io::Result<Self> {
        Self::of(rayon::current_num_threads())
    }

    fn of(threads: usize) -> io::Result<Self> {
        let share = || Share {
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
        };
        let shared = Arc::new(Shared {
            state: Apart(AtomicU64::new(0)),
            section: Apart(UnsafeCell::new(Section {
                call: |_, _| {},
                work: std::ptr::null(),
            })),
            processors: processors_of(threads),
            occupied: Apart(AtomicU64::new(0)),
            shares: (0..threads).map(|_| Apart(share())).collect(),
            sleeping: AtomicUsize::new(0),
            panic: Mutex::new(None),
        });
        // If a thread cannot be started, the drop of the team ends the others.
        let mut team = Self {
            shared,
            helpers: Vec::new(),
        };
        for thread in 1..threads {
            let shared = team.shared.clone();
            let builder = thread::Builder::new().name("topicbook-team".into());
            team.helpers
                .push(builder.spawn(move || shared.help(thread))?);
        }
        Ok(team)
    }

    /// Calls `work` with each item. Each thread begins with the same items in every section, whose data are in its caches, and
    /// continues with those that other threads have left.
    ///
    /// # Panics
    /// If `work` panics, after all threads have stopped.
    pub fn for_each<T: Send>(&mut self, items: &mut [T], work: impl Fn(&mut T) + Sync) {
        if self.helpers.is_empty() || items.len() < 2 {
            return items.iter_mut().for_each(work);
        }
        let shared = &*self.shared;
        let first = Pointer(items.as_mut_ptr());
        let work = |item: usize| {
            // Captures the wrapper, which is `Sync`, and not its raw pointer.
            let first = &first;
            // SAFETY: each item of the slice, which lives until the section is closed, is taken by one thread.
            work(unsafe { &mut *first.0.add(item) })
        };
        shared.deal(items.len());
        // SAFETY: no helper works on a section, as the last one was closed.
        unsafe { *shared.section.0.get() = Section::new(&work) };
        shared.occupied.0.store(processor(), Ordering::Relaxed);
        let last = shared.state.0.load(Ordering::Relaxed);
        shared
            .state
            .0
            .store((last + SECTION) | OPEN, Ordering::SeqCst);
        let section = Close(shared);
        if shared.sleeping.load(Ordering::SeqCst) > 0 {
            self.helpers
                .iter()
                .for_each(|helper| helper.thread().unpark());
        }
        shared.take_items(0, &work);
        drop(section);
        let panic = shared.first_panic().take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

/// The first item of a section.
struct Pointer<T>(*mut T);

// SAFETY: threads that share it take different items, which may be sent to them.
unsafe impl<T: Send> Sync for Pointer<T> {}

impl Section {
    /// `work` has to live until the section is closed.
    fn new<F: Fn(usize) + Sync>(work: &F) -> Self {
        /// # Safety
        /// `work` is a function of this type.
        unsafe fn call<F: Fn(usize)>(work: *const (), item: usize) {
            // SAFETY: by the caller.
            unsafe { (*work.cast::<F>())(item) }
        }
        Self {
            call: call::<F>,
            work: std::ptr::from_ref(work).cast(),
        }
    }
}

/// An open section. Its drop, also while a panic unwinds, closes it and waits for the helpers that work on it.
struct Close<'a>(&'a Shared);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        let state = &self.0.state.0;
        let mut now = state.fetch_and(!OPEN, Ordering::Acquire);
        let mut turns = 0;
        while now & HELPERS > 0 {
            pause(turns);
            turns += 1;
            now = state.load(Ordering::Acquire);
        }
    }
}

/// One iteration of a waiting thread.
fn pause(turns: usize) {
    match turns < TURNS {
        true => spin_loop(),
        // Another thread may need this processor.
        false => thread::yield_now(),
    }
}

impl Shared {
    fn first_panic(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Divides the items of a section.
    fn deal(&self, items: usize) {
        let threads = self.shares.len();
        for (thread, Apart(share)) in self.shares.iter().enumerate() {
            share
                .next
                .store(items * thread / threads, Ordering::Relaxed);
            share
                .end
                .store(items * (thread + 1) / threads, Ordering::Relaxed);
        }
    }

    /// Takes the items of a thread's share, then those that are left in the other shares.
    fn take_items(&self, thread: usize, work: &impl Fn(usize)) {
        let (before, own) = self.shares.split_at(thread);
        for (at, Apart(share)) in own.iter().chain(before).enumerate() {
            let end = share.end.load(Ordering::Relaxed);
            let mut turns = 0;
            loop {
                let left = end.saturating_sub(share.next.load(Ordering::Relaxed));
                if left == 0 {
                    break;
                }
                // The share's own thread will take the last item soon, and has its data in its caches.
                if at > 0 && left == 1 && turns < PATIENCE {
                    turns += 1;
                    spin_loop();
                    continue;
                }
                let item = share.next.fetch_add(1, Ordering::Relaxed);
                if item < end {
                    work(item);
                }
            }
        }
    }

    /// Moves a helper away from a processor that another thread of the team is on.
    fn take_processor(&self) {
        let occupied = &self.occupied.0;
        let here = processor();
        if occupied.fetch_or(here, Ordering::Relaxed) & here == 0 {
            return;
        }
        let free = self.processors & !occupied.load(Ordering::Relaxed);
        if free != 0 {
            let first = free & free.wrapping_neg();
            occupied.fetch_or(first, Ordering::Relaxed);
            move_to(first);
        }
    }

    /// What a helper does until the team ends.
    fn help(&self, thread: usize) {
        let mut last = 0;
        while let Some(state) = self.wait_for_section(last) {
            // Fails if the section was closed, or another helper begins.
            let begin = self.state.0.compare_exchange(
                state,
                state + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if begin.is_err() {
                continue;
            }
            last = state / SECTION;
            // SAFETY: this thread is counted, so that the section is not closed and written meanwhile.
            let Section { call, work } = unsafe { *self.section.0.get() };
            self.take_processor();
            // SAFETY: for the same reason the function still lives.
            let work = |item| unsafe { call(work, item) };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take_items(thread, &work))) {
                self.first_panic().get_or_insert(panic);
            }
            self.state.0.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for a section other than `last`, the helper's previous one, and returns the state. `None` after the end.
    fn wait_for_section(&self, last: u64) -> Option<u64> {
        let calls = |state: u64| (state & OPEN > 0 && state / SECTION != last) || state & ENDED > 0;
        loop {
            for turn in 0..TURNS + YIELDS {
                let state = self.state.0.load(Ordering::Acquire);
                if calls(state) {
                    return (state & ENDED == 0).then_some(state);
                }
                pause(turn);
            }
            // Sequentially consistent: either the calling thread sees that this one sleeps, or this one sees the new state.
            self.sleeping.fetch_add(1, Ordering::SeqCst);
            if !calls(self.state.0.load(Ordering::SeqCst)) {
                thread::park();
            }
            self.sleeping.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.state.0.fetch_or(ENDED, Ordering::SeqCst);
        for helper in self.helpers.drain(..) {
            helper.thread().unpark();
            // `help` catches panics of `work`, so the thread ends without one.
            let _ = helper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn each_item_is_taken_once() {
        for threads in [1, 2, 3, 7] {
            let mut team = Team::of(threads).unwrap();
            let mut items = Vec::new();
            for section in 0..2_000 {
                items.clear();
                items.resize(section % 23, 0);
                team.for_each(&mut items, |item| *item += 1);
                assert_eq!(items, vec![1; section % 23], "{threads} threads");
            }
        }
    }

    /// Waits in two items for each other, so that two threads have to take them.
    fn meet(team: &mut Team) {
        let here = AtomicUsize::new(0);
        let start = Instant::now();
        team.for_each(&mut [(), ()], |()| {
            here.fetch_add(1, Ordering::SeqCst);
            while here.load(Ordering::SeqCst) < 2 {
                assert!(start.elapsed() < Duration::from_secs(60), "no other thread");
                thread::yield_now();
            }
        });
    }

    #[test]
    fn threads_that_sleep_are_woken() {
        let mut team = Team::of(2).unwrap();
        for _ in 0..20 {
            let start = Instant::now();
            while team.shared.sleeping.load(Ordering::SeqCst) == 0 {
                assert!(
                    start.elapsed() < Duration::from_secs(60),
                    "it does not sleep"
                );
                thread::yield_now();
            }
            meet(&mut team);
        }
    }

    #[test]
    fn a_panic_of_any_thread_ends_the_section_alone() {
        let mut team = Team::of(2).unwrap();
        for panicking in 0..4 {
            let mut items = [0, 1, 2, 3];
            let section = catch_unwind(AssertUnwindSafe(|| {
                team.for_each(&mut items, |item| {
                    assert_ne!(*item, panicking, "on purpose")
                });
            }));
            assert!(section.is_err());
            meet(&mut team);
        }
    }
}
