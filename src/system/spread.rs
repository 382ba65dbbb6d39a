//! The threads of a pool on different processors.

/// Puts each thread of a new pool on a processor of its own, if there are as many processors as threads. They are free to move
/// afterwards.
///
/// Linux may start two threads on one processor while another one is idle, and leave them there for tens of milliseconds if
/// they run in turns, as threads do that wait for each other.
pub(crate) fn spread_threads(pool: &rayon::ThreadPool) {
    #[cfg(target_os = "linux")]
    pool.broadcast(|thread| linux::take_processor(thread.index(), thread.num_threads()));
    #[cfg(not(target_os = "linux"))]
    let _ = pool;
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::{MaybeUninit, size_of};

    use libc::{CPU_ISSET, CPU_SET, CPU_SETSIZE, CPU_ZERO, cpu_set_t};

    /// Moves the calling thread to the processor with the number `index` of those that it may use.
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
                // SAFETY: as above; a set of zeros is an empty one.
                let mut one = unsafe { MaybeUninit::<cpu_set_t>::zeroed().assume_init() };
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
