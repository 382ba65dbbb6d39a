//! Memory limits of this process alone (`setrlimit`), which a shell sets by `ulimit -v` and `ulimit -d`.

use std::fs;

use super::field;

/// Bytes that `RLIMIT_AS` and `RLIMIT_DATA` leave; `None` where neither is set. An allocation beyond them fails, and the
/// process with it.
pub(super) fn free() -> Option<u64> {
    let limit = |resource| {
        let mut limit = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: `getrlimit` writes one `rlimit`, to which the pointer is valid during the call.
        let read = unsafe { libc::getrlimit(resource, &mut limit) };
        (read == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
    };
    let limits = [
        (limit(libc::RLIMIT_AS), "VmSize:"),
        (limit(libc::RLIMIT_DATA), "VmData:"),
    ];
    if limits.iter().all(|(limit, _)| limit.is_none()) {
        return None;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    limits
        .into_iter()
        .filter_map(|(limit, used)| Some(left(limit?, &status, used)))
        .min()
}

/// What remains of a limit, given the use that a line of `/proc/self/status` states.
fn left(limit: u64, status: &str, used: &str) -> u64 {
    limit.saturating_sub(field(status, used).unwrap_or(0) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_leaves_what_is_not_used() {
        let status = "VmSize:\t    3000 kB\nVmData:\t     400 kB\n";
        assert_eq!(left(1 << 20, status, "VmData:"), (1 << 20) - 400 * 1024);
        assert_eq!(left(1 << 20, status, "VmSize:"), 0);
    }
}
