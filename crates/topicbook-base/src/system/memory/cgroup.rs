//! Memory limits of the control groups (cgroups, versions 1 and 2) that this process runs in.

use std::fs;
use std::path::{Path, PathBuf};

use super::field;

/// The memory limit of a cgroup and its use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub limit: u64,
    /// Without page cache, which the system reclaims before it enforces the limit.
    pub used: u64,
}

impl Limit {
    pub fn free(self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// Version 1 reports "no limit" as the largest multiple of the page size; limits from here on count as none.
const UNLIMITED: u64 = 1 << 60;

/// The limit with the least free memory, among this process's cgroup and its ancestors; `None` without a limit.
pub fn tightest() -> Option<Limit> {
    Some(tightest_of_process()?.0)
}

fn tightest_of_process() -> Option<(Limit, Cgroup)> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    tightest_of(&cgroups, &mounts)
}

/// The cgroup with the tightest limit, for repeated reading of its memory use.
#[derive(Debug)]
pub struct Cgroup {
    pub limit: u64,
    /// The file with the bytes in use.
    used: PathBuf,
}

impl Cgroup {
    /// The cgroup that limits this process now; `None` without a limit.
    pub fn of_process() -> Option<Self> {
        Some(tightest_of_process()?.1)
    }

    /// Bytes in use, page cache included.
    pub fn used(&self) -> u64 {
        let text = fs::read_to_string(&self.used).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }
}

/// Whether the system ends processes in this process's cgroup because their memory has reached its limit.
#[derive(Debug)]
pub struct OutOfMemory {
    /// Files that count ended processes, and their counts at the start.
    counted: Vec<(PathBuf, u64)>,
}

impl OutOfMemory {
    /// Watches from now on.
    pub fn watch() -> Self {
        let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let files = [&VERSION_1, &VERSION_2].into_iter().filter_map(|version| {
            let (leaf, _) = version.leaf(&cgroups, &mounts)?;
            Some(leaf.join(version.events))
        });
        let counted = files.filter_map(|file| Some((Self::ended(&file)?, file)));
        Self {
            counted: counted.map(|(number, file)| (file, number)).collect(),
        }
    }

    /// The limit, in bytes, if a process was ended since.
    pub fn limit(&self) -> Option<u64> {
        let mut counted = self.counted.iter();
        let ended = counted.any(|(file, before)| Self::ended(file) > Some(*before));
        ended.then(|| tightest().map_or(0, |limit| limit.limit))
    }

    fn ended(file: &Path) -> Option<u64> {
        field(&fs::read_to_string(file).ok()?, "oom_kill ")
    }
}

/// `cgroups` and `mounts` are the contents of `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn tightest_of(cgroups: &str, mounts: &str) -> Option<(Limit, Cgroup)> {
    let of_version = |version: &CgroupVersion| {
        let (leaf, mount) = version.leaf(cgroups, mounts)?;
        leaf.ancestors()
            .take_while(|folder| folder.starts_with(&mount))
            .filter_map(|folder| {
                let limit = version.limit(folder)?;
                let cgroup = Cgroup {
                    limit: limit.limit,
                    used: folder.join(version.used),
                };
                Some((limit, cgroup))
            })
            .min_by_key(|(limit, _)| limit.free())
    };
    [&VERSION_1, &VERSION_2]
        .into_iter()
        .filter_map(of_version)
        .min_by_key(|(limit, _)| limit.free())
}

/// Names of files, fields and mounts in one version of cgroups.
struct CgroupVersion {
    /// Whether a list of controllers in `/proc/self/cgroup` belongs to the memory hierarchy.
    has_memory: fn(&str) -> bool,
    /// Type of the mounted filesystem.
    filesystem: &'static str,
    /// A mount option that identifies the memory hierarchy; empty if none is needed.
    option: &'static str,
    /// File with the limit.
    limit: &'static str,
    /// File with the bytes in use.
    used: &'static str,
    /// File that counts processes which were ended at the limit.
    events: &'static str,
    /// Fields of `memory.stat` that count page cache.
    cache: [&'static str; 2],
}

const VERSION_1: CgroupVersion = CgroupVersion {
    has_memory: |controllers| controllers.split(',').any(|name| name == "memory"),
    filesystem: "cgroup",
    option: "memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    events: "memory.oom_control",
    cache: ["total_inactive_file ", "total_active_file "],
};

const VERSION_2: CgroupVersion = CgroupVersion {
    has_memory: str::is_empty,
    filesystem: "cgroup2",
    option: "",
    limit: "memory.max",
    used: "memory.current",
    events: "memory.events",
    cache: ["inactive_file ", "active_file "],
};

impl CgroupVersion {
    /// The folder of a process's cgroup, and the mount that contains it; `cgroups` and `mounts` as for [`tightest_of`].
    fn leaf(&self, cgroups: &str, mounts: &str) -> Option<(PathBuf, PathBuf)> {
        let path = cgroups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            (self.has_memory)(controllers).then_some(path)
        })?;
        let (root, mount) = mounts.lines().find_map(|line| self.mount(line))?;
        // Inside a container, the root of the mount may be the container's own cgroup.
        let below = path.strip_prefix(&root).unwrap_or("");
        Some((mount.join(below.trim_start_matches('/')), mount))
    }

    /// Root and mount point in a line of `/proc/self/mountinfo`; `None` if it is not a mount of this version.
    fn mount(&self, line: &str) -> Option<(String, PathBuf)> {
        let (mount, source) = line.split_once(" - ")?;
        let mut source = source.split(' ');
        let filesystem = source.next()?;
        let options = source.nth(1).unwrap_or("");
        if filesystem != self.filesystem
            || !(self.option.is_empty() || options.split(',').any(|name| name == self.option))
        {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let root = fields.next()?.trim_end_matches('/').to_string();
        Some((root, PathBuf::from(fields.next()?)))
    }

    /// Limit and use of the cgroup of this folder; `None` without a limit.
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

    fn cgroup(folder: &Path, version: &CgroupVersion, limit: &str, used: u64, cache: u64) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(version.limit), format!("{limit}\n")).unwrap();
        fs::write(folder.join(version.used), format!("{used}\n")).unwrap();
        let stat = format!(
            "anon 5\n{}{cache}\n{}1\n",
            version.cache[0], version.cache[1]
        );
        fs::write(folder.join("memory.stat"), stat).unwrap();
    }

    #[test]
    fn the_tightest_limit_counts_and_page_cache_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        let two = folder.path().join("two");
        cgroup(&two, &VERSION_2, "max", 900, 0);
        cgroup(&two.join("a"), &VERSION_2, "1000", 700, 299);
        cgroup(&two.join("a/b"), &VERSION_2, "5000", 700, 299);
        let mounts = format!("41 31 0:38 / {at}/two rw - cgroup2 cgroup2 rw\n");
        let (found, found_cgroup) = tightest_of("0::/a/b\n", &mounts).unwrap();
        // The memory in use includes page cache, which counts against the limit.
        assert_eq!((found_cgroup.limit, found_cgroup.used()), (1000, 700));
        assert_eq!(
            found,
            Limit {
                limit: 1000,
                used: 400
            }
        );
        assert_eq!(found.free(), 600);
        // A container that sees its own cgroup as the root.
        let mounts = format!("41 31 0:38 /x/a {at}/two/a rw - cgroup2 cgroup2 rw\n");
        assert_eq!(tightest_of("0::/x/a\n", &mounts).unwrap().0.limit, 1000);

        let one = folder.path().join("one");
        cgroup(&one, &VERSION_1, "9223372036854771712", 5, 0);
        cgroup(&one.join("c"), &VERSION_1, "300", 400, 0);
        let mounts = format!(
            "32 31 0:29 / {at}/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / {at}/one rw - cgroup cgroup rw,memory\n"
        );
        let (found, _) = tightest_of("5:cpu:/\n4:memory:/c\n0::/\n", &mounts).unwrap();
        assert_eq!((found.limit, found.free()), (300, 0));
        assert!(tightest_of("4:memory:/\n", &mounts).is_none());
    }
}
