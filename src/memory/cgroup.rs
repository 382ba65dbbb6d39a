//! The memory limit of the control group that this process runs in (versions 1 and 2).

use std::fs;
use std::path::{Path, PathBuf};

use super::field;

/// A limit, and what the group holds of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) limit: u64,
    /// Without page cache, which the system gives up before it refuses memory.
    pub(crate) used: u64,
}

impl Limit {
    pub(crate) fn free(self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// Version 1 writes "no limit" as the largest number of whole pages.
const UNLIMITED: u64 = 1 << 60;

/// The limit that leaves the least, of this process's group and those around it.
pub(crate) fn tightest() -> Option<Limit> {
    Some(tightest_of_process()?.0)
}

fn tightest_of_process() -> Option<(Limit, Group)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    tightest_of(&groups, &mounts)
}

/// The control group whose limit leaves the least, to be asked again and again.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) limit: u64,
    /// The file that says what is in use.
    used: PathBuf,
}

impl Group {
    /// The one that this process runs in now; `None` without a limit.
    pub(super) fn of_process() -> Option<Self> {
        Some(tightest_of_process()?.1)
    }

    /// Bytes in use, page cache included.
    pub(super) fn used(&self) -> u64 {
        let text = fs::read_to_string(&self.used).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }
}

fn tightest_of(groups: &str, mounts: &str) -> Option<(Limit, Group)> {
    let of_version = |files: &Files| {
        let path = groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            (files.is_ours)(controllers).then_some(path)
        })?;
        let (root, mount) = mounts.lines().find_map(|line| files.mount(line))?;
        // Inside a container the mount may show only the part below the container's own group.
        let below = path.strip_prefix(&root).unwrap_or("");
        let leaf = mount.join(below.trim_start_matches('/'));
        leaf.ancestors()
            .take_while(|folder| folder.starts_with(&mount))
            .filter_map(|folder| {
                let limit = files.limit(folder)?;
                let group = Group {
                    limit: limit.limit,
                    used: folder.join(files.used),
                };
                Some((limit, group))
            })
            .min_by_key(|(limit, _)| limit.free())
    };
    [&VERSION_1, &VERSION_2]
        .into_iter()
        .filter_map(of_version)
        .min_by_key(|(limit, _)| limit.free())
}

/// What one version calls things.
struct Files {
    is_ours: fn(&str) -> bool,
    filesystem: &'static str,
    /// What the mount's options name.
    option: &'static str,
    limit: &'static str,
    used: &'static str,
    cache: [&'static str; 2],
}

const VERSION_1: Files = Files {
    is_ours: |controllers| controllers.split(',').any(|name| name == "memory"),
    filesystem: "cgroup",
    option: "memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: ["total_inactive_file ", "total_active_file "],
};

const VERSION_2: Files = Files {
    is_ours: str::is_empty,
    filesystem: "cgroup2",
    option: "",
    limit: "memory.max",
    used: "memory.current",
    cache: ["inactive_file ", "active_file "],
};

impl Files {
    /// Root and place of a mount of this version.
    fn mount(&self, line: &str) -> Option<(String, PathBuf)> {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let filesystem = kind.next()?;
        let options = kind.nth(1).unwrap_or("");
        if filesystem != self.filesystem
            || !(self.option.is_empty() || options.split(',').any(|name| name == self.option))
        {
            return None;
        }
        let mut place = place.split(' ').skip(3);
        let root = place.next()?.trim_end_matches('/').to_string();
        Some((root, PathBuf::from(place.next()?)))
    }

    fn limit(&self, folder: &Path) -> Option<Limit> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let limit = number(self.limit).filter(|&limit| limit < UNLIMITED)?;
        let stat = read("memory.stat").unwrap_or_default();
        let cache: u64 = self
            .cache
            .iter()
            .filter_map(|name| field(&stat, name))
            .sum();
        Some(Limit {
            limit,
            used: number(self.used)?.saturating_sub(cache),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(folder: &Path, files: &Files, limit: &str, used: u64, cache: u64) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(files.limit), format!("{limit}\n")).unwrap();
        fs::write(folder.join(files.used), format!("{used}\n")).unwrap();
        let stat = format!("anon 5\n{}{cache}\n{}1\n", files.cache[0], files.cache[1]);
        fs::write(folder.join("memory.stat"), stat).unwrap();
    }

    #[test]
    fn the_tightest_limit_counts_and_page_cache_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        let two = folder.path().join("two");
        group(&two, &VERSION_2, "max", 900, 0);
        group(&two.join("a"), &VERSION_2, "1000", 700, 299);
        group(&two.join("a/b"), &VERSION_2, "5000", 700, 299);
        let mounts = format!("41 31 0:38 / {at}/two rw - cgroup2 cgroup2 rw\n");
        let (found, group_found) = tightest_of("0::/a/b\n", &mounts).unwrap();
        // What is in use is said with the page cache: it counts against the limit.
        assert_eq!((group_found.limit, group_found.used()), (1000, 700));
        assert_eq!(
            found,
            Limit {
                limit: 1000,
                used: 400
            }
        );
        assert_eq!(found.free(), 600);
        // A container that sees its own group as the root.
        let mounts = format!("41 31 0:38 /x/a {at}/two/a rw - cgroup2 cgroup2 rw\n");
        assert_eq!(tightest_of("0::/x/a\n", &mounts).unwrap().0.limit, 1000);

        let one = folder.path().join("one");
        group(&one, &VERSION_1, "9223372036854771712", 5, 0);
        group(&one.join("c"), &VERSION_1, "300", 400, 0);
        let mounts = format!(
            "32 31 0:29 / {at}/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / {at}/one rw - cgroup cgroup rw,memory\n"
        );
        let (found, _) = tightest_of("5:cpu:/\n4:memory:/c\n0::/\n", &mounts).unwrap();
        assert_eq!((found.limit, found.free()), (300, 0));
        assert!(tightest_of("4:memory:/\n", &mounts).is_none());
    }
}
