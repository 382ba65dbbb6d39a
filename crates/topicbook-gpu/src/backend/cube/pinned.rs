//! Pinned host memory, through which all uploads and downloads pass. CubeCL allocates it in pages whose sizes depend on
//! the GPU's memory, suballocates slices of them, and does not free them.

const MIB: u64 = 1 << 20;

/// Range of the bytes of a stage, which is filled while the stage before it is copied. It is small enough for a small
/// page, and large enough that waking the threads that fill it and submitting its copy take little of its time. On a
/// machine with an H100 and 16 processors, stages of 4.9 MiB pass 10 GB a second, stages of 39 MiB 43 GB a second.
const STAGES: std::ops::RangeInclusive<u64> = 2 * MIB..=64 * MIB;

/// A memory pool of pages of one size, with the largest slice that it allocates.
struct Pool {
    page: u64,
    slice: u64,
}

impl Pool {
    fn accepts(&self, bytes: u64) -> bool {
        // Also a slice that leaves less than a fifth of its page unused.
        bytes <= self.slice || bytes <= self.page && 5 * (self.page - bytes) < self.page
    }
}

/// The pools of the runtime, from small to large slices (CubeCL 0.10, `MemoryConfiguration::SubSlices`).
/// `largest_page`: a quarter of the GPU's memory, in bytes.
fn pools(largest_page: u64) -> Vec<Pool> {
    let mut pools = vec![Pool {
        page: largest_page,
        slice: largest_page,
    }];
    let (mut page, mut parts) = (largest_page, 1);
    while page >= 32 * MIB {
        page /= 4;
        parts *= 2;
        pools.push(Pool {
            page,
            slice: page / parts,
        });
    }
    pools.reverse();
    pools
}

/// Bytes of a stage: the largest slice of a pool that is in [`STAGES`].
pub fn stage(largest_page: u64) -> u64 {
    let slices = pools(largest_page).into_iter().map(|pool| pool.slice);
    let fitting = slices.filter(|slice| STAGES.contains(slice));
    fitting.max().unwrap_or(*STAGES.end())
}

/// Bytes of the pages that slices are allocated from. `slices` lists the bytes of a slice, and how many of them are
/// allocated at the same time.
pub fn pages(largest_page: u64, slices: &[(u64, u64)]) -> u64 {
    let pools = pools(largest_page);
    let mut needs = vec![0; pools.len()];
    for &(bytes, n) in slices.iter().filter(|(bytes, _)| *bytes > 0) {
        // Memory that is larger than a page is not pinned.
        if let Some(pool) = pools.iter().position(|pool| pool.accepts(bytes)) {
            needs[pool] += bytes * n;
        }
    }
    let pages = pools.iter().zip(needs);
    pages
        .map(|(pool, need)| pool.page * need.div_ceil(pool.page.max(1)))
        .sum()
}
