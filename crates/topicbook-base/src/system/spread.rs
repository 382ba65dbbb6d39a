//! Places threads on different processors, and gives way to others on them.
//!
//! Linux may start two threads on one processor while another one is idle. Threads that wait for each other run alternately,
//! and Linux does not move a thread that ran just now, so they stay there for tens of milliseconds.

/// Puts each thread of a new pool on a processor of its own, if there are as many processors as threads. Threads may move
/// afterwards.
pub fn spread_threads(pool: &rayon::ThreadPool) {
    pool.broadcast(|thread| {
        let mut processors = processors_of(thread.num_threads());
        for _ in 0..thread.index() {
            // The lowest bit is the processor of the previous thread.
            processors &= processors.wrapping_sub(1);
        }
        if processors != 0 && processors & processor() == 0 {
            move_to(processors & processors.wrapping_neg());
        }
    });
}

/// The processors that the calling thread may use, each as a bit; 0 unless there are `threads` of them, with numbers below 64.
pub fn processors_of(threads: usize) -> u64 {
    #[cfg(target_os = "linux")]
    let processors = linux::processors();
    #[cfg(not(target_os = "linux"))]
    let processors = 0u64;
    match processors.count_ones() as usize == threads {
        true => processors,
        false => 0,
    }
}

/// The processor that the calling thread runs on, as a bit; 0 if it is unknown. Costs some nanoseconds.
pub fn processor() -> u64 {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call has no arguments.
        let processor = unsafe { libc::sched_getcpu() };
        u32::try_from(processor).map_or(0, |processor| 1u64.checked_shl(processor).unwrap_or(0))
    }
    #[cfg(not(target_os = "linux"))]
    0
}

/// Moves the calling thread to the processor with this bit. It is free to move afterwards.
pub fn move_to(processor: u64) {
    #[cfg(target_os = "linux")]
    linux::move_to(processor);
    #[cfg(not(target_os = "linux"))]
    let _ = processor;
}

/// Gives the calling thread, and those that it starts from now on, a tenth of a processor that a cell needs at the same time.
pub fn give_way() {
    // Linux has a priority for each thread; elsewhere this would slow down the cells, too.
    #[cfg(target_os = "linux")]
    // SAFETY: the call reads its arguments alone. Where it is not allowed, the thread keeps its priority.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 10);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::{MaybeUninit, size_of};

    use libc::{CPU_ISSET, CPU_SET, CPU_SETSIZE, CPU_ZERO, cpu_set_t};

    /// The allowed processors, each as a bit; 0 if one of them has a number of 64 or more.
    pub(super) fn processors() -> u64 {
        let Some(allowed) = allowed() else {
            return 0;
        };
        // SAFETY: the numbers are below the size of a set.
        let is_allowed = |cpu: &usize| unsafe { CPU_ISSET(*cpu, &allowed) };
        let bits = (0..CPU_SETSIZE as usize).filter(is_allowed);
        bits.map(|cpu| 1u64.checked_shl(cpu as u32))
            .try_fold(0, |all, bit| Some(all | bit?))
            .unwrap_or(0)
    }

    pub(super) fn move_to(processor: u64) {
        let Some(allowed) = allowed() else {
            return;
        };
        let mut one = allowed;
        // SAFETY: the number is below the size of a set.
        unsafe {
            CPU_ZERO(&mut one);
            CPU_SET(processor.trailing_zeros() as usize, &mut one);
        }
        allow(&one);
        allow(&allowed);
    }

    fn allowed() -> Option<cpu_set_t> {
        let mut set = MaybeUninit::<cpu_set_t>::zeroed();
        // SAFETY: the set has the size that is named.
        let failed =
            unsafe { libc::sched_getaffinity(0, size_of::<cpu_set_t>(), set.as_mut_ptr()) };
        // SAFETY: zeros are an empty set, also where nothing was written.
        (failed == 0).then(|| unsafe { set.assume_init() })
    }

    /// A set that the system refuses leaves the thread where it is.
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
        // A pool with one thread per processor is spread; a larger pool is not.
        for threads in [processors, processors + 1] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            spread_threads(&pool);
            assert_eq!(pool.broadcast(|_| allowed()), vec![allowed(); threads]);
        }
    }
}
