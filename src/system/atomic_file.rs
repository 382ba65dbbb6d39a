//! Atomic file writes: a temporary file in the same folder is written, then renamed to its final name.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::text::bytes;

/// The remedy for a full disk where the file cannot be made smaller.
pub(crate) const DISK_FULL_REMEDY: &str = "free some disk space, or write elsewhere";

/// The remedy where L and its optimizer state have no room in their folder.
const SPILL_FULL_REMEDY: &str = "free some disk space, or name a folder on another disk (TopicModel::table_storage, Budget::spill_dir)";

/// Writes the file `path` atomically: `write` fills a temporary file, which is then renamed to `path`.
///
/// On an error the temporary file is removed and an existing file of that name stays unchanged.
pub(crate) fn write_atomic(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    write_atomic_sized(path, 0, DISK_FULL_REMEDY, write)
}

/// [`write_atomic`] for a file of about `needed` bytes; an estimate should rather be too large than too small.
///
/// Fails at once if the disk has less free space, and preallocates the file, so that writing cannot fail halfway
/// because the disk is full. That error says `remedy`.
pub(crate) fn write_atomic_sized(
    path: &Path,
    needed: u64,
    remedy: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    if path.is_dir() {
        return Err(
            Error::new(ErrorKind::Io, format!("{} is a folder", path.display()))
                .fix("name a file inside it"),
        );
    }
    if path.file_name().is_none() {
        return Err(
            Error::new(ErrorKind::Io, format!("{} names no file", path.display()))
                .fix("end the path in a file name"),
        );
    }
    remove_stale(path);
    check_space(path, needed, remedy)?;
    let temporary = temporary_path(path);
    let failed = |source| Error::io("write", path, source);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary.0)
        .map_err(failed)?;
    // The lock tells `remove_stale` that the file is still being written. Optional: some filesystems have no locks.
    let _ = file.try_lock();
    preallocate(&file, needed).map_err(|source| match source.kind() {
        std::io::ErrorKind::StorageFull => no_space(path, needed, None, remedy),
        _ => failed(source),
    })?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(&mut out)?;
    out.flush()
        .and_then(|()| truncate_to_written(out.get_mut(), needed))
        .and_then(|()| std::fs::rename(&temporary.0, path))
        .map_err(failed)
}

/// Cuts off the preallocated bytes behind the current position.
fn truncate_to_written(file: &mut File, preallocated: u64) -> std::io::Result<()> {
    let written = file.stream_position()?;
    match written < preallocated {
        true => file.set_len(written),
        false => Ok(()),
    }
}

/// Removes temporary files of `path` that killed processes left behind.
///
/// A writer locks its temporary file, so files that are still being written are kept.
pub(crate) fn remove_stale(path: &Path) {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (Some(name), Ok(entries)) = (path.file_name(), std::fs::read_dir(folder)) else {
        return;
    };
    let prefix = format!("{}.", name.to_string_lossy());
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let middle = name
            .strip_prefix(&prefix)
            .and_then(|rest| rest.strip_suffix(".part"));
        // `<process id>-<number>`, as in `temporary_path`.
        let is_temporary = |middle: &str| {
            middle.split_once('-').is_some_and(|(process, number)| {
                [process, number]
                    .iter()
                    .all(|part| part.parse::<u64>().is_ok())
            })
        };
        let is_unlocked = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if middle.is_some_and(is_temporary) && is_unlocked() {
            // A stale file that cannot be removed only wastes disk space.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Creates a file of `needed` zero bytes in `folder`, preallocated, already unlinked, and open to read and write.
///
/// The system frees its disk space when the last handle or mapping is gone, also after a crash.
pub(crate) fn unlinked_temp_file(folder: &Path, needed: u64) -> Result<File> {
    let path = temporary_path(&folder.join("topicbook"));
    let failed = |source| Error::io("create a file in", folder, source);
    check_space(&path.0, needed, SPILL_FULL_REMEDY)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path.0)
        .map_err(failed)?;
    preallocate(&file, needed).map_err(|source| match source.kind() {
        std::io::ErrorKind::StorageFull => no_space(&path.0, needed, None, SPILL_FULL_REMEDY),
        _ => failed(source),
    })?;
    file.set_len(needed).map_err(failed)?;
    Ok(file)
}

/// A path in the folder of `path`, unique across processes and threads: `<name>.<process id>-<number>.part`.
fn temporary_path(path: &Path) -> Temporary {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(
        ".{}-{}.part",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::Relaxed)
    ));
    Temporary(path.with_file_name(name))
}

/// Path of a temporary file, which is removed on drop. After a rename no file of that name is left.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // An error that led here is more useful than one of the removal.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn check_space(target: &Path, needed: u64, remedy: &str) -> Result<()> {
    match free_space(target) {
        Some(free) if free < needed => Err(no_space(target, needed, Some(free), remedy)),
        _ => Ok(()),
    }
}

fn no_space(target: &Path, needed: u64, free: Option<u64>, remedy: &str) -> Error {
    let free = free.map_or("less is".to_string(), |free| format!("{} are", bytes(free)));
    Error::new(
        ErrorKind::Space,
        format!(
            "{} needs {}, but {free} free on its disk",
            target.display(),
            bytes(needed)
        ),
    )
    .fix(remedy)
}

/// Free bytes on the disk of the folder that contains `target` (statvfs); `None` if that is unknown.
#[cfg(unix)]
fn free_space(target: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path is NUL-terminated, and `found` is read only after the call has filled it in.
    let found = unsafe {
        if libc::statvfs(folder.as_ptr(), found.as_mut_ptr()) != 0 {
            return None;
        }
        found.assume_init()
    };
    Some((found.f_bavail as u64).saturating_mul(found.f_frsize as u64))
}

#[cfg(not(unix))]
fn free_space(_target: &Path) -> Option<u64> {
    None
}

/// Reserves disk space (fallocate) where the filesystem supports it, so that a full disk is an error before the first
/// write.
#[cfg(target_os = "linux")]
fn preallocate(file: &File, needed: u64) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    let Ok(needed) = libc::off_t::try_from(needed) else {
        return Err(std::io::ErrorKind::StorageFull.into());
    };
    if needed == 0 {
        return Ok(());
    }
    // SAFETY: the descriptor is open for as long as `file` is borrowed.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, needed) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOSYS) => Ok(()),
        _ => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn preallocate(_file: &File, _needed: u64) -> std::io::Result<()> {
    Ok(())
}
