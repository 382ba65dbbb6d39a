//! Threads that share sections of work of a few microseconds, such as the passes of a gradient step over F.
//!
//! Between two sections the threads of a pool give up the processor, or sleep, and each section begins and ends with queues and
//! wake-ups. Those of a team read one number until it changes, for some microseconds before they give it up.

use std::any::Any;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::spread::{move_to, processor, processors_of};

/// Turns of a thread that waits before it gives up the processor, to which another one may be waiting: some microseconds.
const TURNS: usize = 1 << 9;

/// How often a helper that waits gives up the processor before it sleeps.
const YIELDS: usize = 1 << 6;

/// Turns of a thread that waits, before it takes the last item of another one: some microseconds.
const PATIENCE: usize = 1 << 8;

/// Parts of [`Shared::state`], above the number of helpers that work on the section.
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
    /// The number of sections so far; whether the team has ended; whether the section is open, so that helpers may begin to work
    /// on it; and how many do.
    state: Apart<AtomicU64>,
    /// Written while no section is open and no helper works on one.
    section: Apart<UnsafeCell<Section>>,
    /// The processors of the team, each as a bit, if it has one for each thread; and those that threads of the section are on.
    processors: u64,
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
    /// A team of as many threads as the current pool has.
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
        // Its drop ends those that were started, if one cannot be.
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

    /// Calls `work` with each item. Each thread begins with the same part of them in every section, whose data are in its caches,
    /// and goes on with what others have left.
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
            // The whole of it, not its pointer, is shared.
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

/// What a thread that waits does in its next turn.
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

    /// Takes the items of a thread's share, then those that are left of the others'.
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
                // Soon its own thread takes the last item of a share, whose data are in the caches of that thread.
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

    /// Waits for another section than the last one of a helper, and returns the state. `None` after the end.
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
            // In one order for all threads: either the calling thread sees that this one sleeps, or this one the new state.
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
            // It catches what panics.
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
