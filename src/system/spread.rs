//! Threads on different processors.

/// Puts each thread of a new pool on a processor of its own, as [`take_processor`] does.
pub(crate) fn spread_threads(pool: &rayon::ThreadPool) {
    pool.broadcast(|thread| take_processor(thread.index(), thread.num_threads()));
}

/// Moves the calling thread, one of `threads` new ones that work together, to the processor with the number `index` of those that
/// it may use, if there are as many of them as threads. It is free to move afterwards.
///
/// Linux may start two threads on one processor while another one is idle, and leave them there for tens of milliseconds if
/// they run in turns, as threads do that wait for each other.
pub(crate) fn take_processor(index: usize, threads: usize) {
    #[cfg(target_os = "linux")]
    linux::take_processor(index, threads);
    #[cfg(not(target_os = "linux"))]
    let _ = (index, threads);
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::{MaybeUninit, size_of};

    use libc::{CPU_ISSET, CPU_SET, CPU_SETSIZE, CPU_ZERO, cpu_set_t};

    pub(super) fn take_processor(index: usize, threads: usize) {
        let Some(allowed) = allowed() else {
            return;
        };
        // SAFETY: the numbers are below the size of a set.
        let is_allowed = |cpu: &usize| unsafe { CPU_ISSET(*cpu, &allowed) };
        let mut processors = (0..CPU_SETSIZE as usize).filter(is_allowed);
        if processors.clone().count() != threads {
            return;
        }
        // SAFETY: the call has no arguments.
        let current = unsafe { libc::sched_getcpu() };
        match processors.nth(index) {
            Some(processor) if processor as i32 != current => {
                let mut one = allowed;
                // SAFETY: the number is below the size of a set.
                unsafe {
                    CPU_ZERO(&mut one);
                    CPU_SET(processor, &mut one);
                }
                allow(&one);
                allow(&allowed);
            }
            _ => {}
        }
    }

    fn allowed() -> Option<cpu_set_t> {
        let mut set = MaybeUninit::<cpu_set_t>::zeroed();
        // SAFETY: the set has the size that is named.
        let failed =
            unsafe { libc::sched_getaffinity(0, size_of::<cpu_set_t>(), set.as_mut_ptr()) };
        // SAFETY: zeros are an empty set, also where nothing was written.
        (failed == 0).then(|| unsafe { set.assume_init() })
    }

    /// A set that cannot be used leaves the thread where it is.
    fn allow(set: &cpu_set_t) {
        // SAFETY: the set has the size that is named.
        unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), set) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_may_use_every_processor_after_they_were_spread() {
        let allowed = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status
                .lines()
                .find(|line| line.starts_with("Cpus_allowed:"));
            line.expect("the processors of a thread").to_string()
        };
        let processors = std::thread::available_parallelism().unwrap().get();
        // As many threads as processors are moved; more of them are not.
        for threads in [processors, processors + 1] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            spread_threads(&pool);
            assert_eq!(pool.broadcast(|_| allowed()), vec![allowed(); threads]);
        }
    }
}
