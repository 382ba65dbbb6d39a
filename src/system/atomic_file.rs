//! Atomic file writes: a temporary file in the same folder is written, then renamed to its final name.

use std::collections::hash_map::RandomState;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::text::bytes;

use super::write_target::Target;

/// The names of temporary files, around a random number.
const PREFIX: &str = ".topicbook-";
const SUFFIX: &str = ".part";
/// Younger temporary files are not taken for stale ones.
const RECENT: Duration = Duration::from_secs(60);
/// Bytes that are written at once.
const BUFFER: usize = 1 << 20;

/// The remedy for a full disk where the file cannot be made smaller.
pub(crate) const DISK_FULL_REMEDY: &str = "free some disk space, or write elsewhere";

/// The remedy where L and its optimizer state have no room in their folder.
const SPILL_FULL_REMEDY: &str = "free some disk space, or name a folder on another disk (TopicModel::table_storage, Budget::spill_dir)";

/// Writes the file `path` atomically: `write` fills a temporary file, which is then renamed to `path`.
///
/// On an error the temporary file is removed and an existing file of that name stays unchanged. A symbolic link stays, a file
/// keeps its permissions, and a device or FIFO is written through (see [`Target`]).
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
    let failed = |source| Error::io("write", path, source);
    let (path, permissions) = match Target::of(path)? {
        Target::File { path, permissions } => (path, permissions),
        Target::Stream(stream) => {
            let file = OpenOptions::new()
                .write(true)
                .open(stream)
                .map_err(failed)?;
            let mut out = BufWriter::with_capacity(BUFFER, file);
            write(&mut out)?;
            return out.flush().map_err(failed);
        }
    };
    remove_stale(&path);
    check_space(&path, needed, remedy)?;
    let temporary = temporary_path(&path);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary.0)
        .map_err(failed)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions).map_err(failed)?;
    }
    // The lock tells `remove_stale` that the file is still being written. Optional: some filesystems have no locks.
    let _ = file.try_lock();
    preallocate(&file, needed).map_err(|source| match source.kind() {
        std::io::ErrorKind::StorageFull => no_space(&path, needed, None, remedy),
        _ => failed(source),
    })?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    write(&mut out)?;
    out.flush()
        .and_then(|()| truncate_to_written(out.get_mut(), needed))
        .and_then(|()| std::fs::rename(&temporary.0, &path))
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

/// Removes temporary files in the folder of `path` that killed processes left behind.
///
/// A writer locks its temporary file, so files that are still being written are kept; so are files of the last minute, which
/// a writer may be about to lock.
pub(crate) fn remove_stale(path: &Path) {
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else {
        return;
    };
    for entry in entries.flatten() {
        if !is_temporary(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let is_old = entry.metadata().is_ok_and(|metadata| {
            let age = metadata
                .modified()
                .ok()
                .and_then(|time| time.elapsed().ok());
            metadata.is_file() && age.is_some_and(|age| age > RECENT)
        });
        let is_unlocked = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_old && is_unlocked() {
            // A stale file that cannot be removed only wastes disk space.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
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

/// A path in the folder of `path` that nobody can predict: `.topicbook-<16 hexadecimal digits>.part`. The name does not grow
/// with that of the file, which may be as long as the filesystem allows.
fn temporary_path(path: &Path) -> Temporary {
    // The keys of this hasher are random numbers of the system.
    let number = RandomState::new().build_hasher().finish();
    Temporary(folder_of(path).join(format!("{PREFIX}{number:016x}{SUFFIX}")))
}

fn is_temporary(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
        .is_some_and(|number| number.len() == 16 && u64::from_str_radix(number, 16).is_ok())
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
    let folder = std::ffi::CString::new(folder_of(target).as_os_str().as_bytes()).ok()?;
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn write_text(path: &Path, text: &str) -> Result<()> {
        write_atomic(path, |out| {
            out.write_all(text.as_bytes())
                .map_err(|error| Error::io("write", path, error))
        })
    }

    #[test]
    fn links_and_permissions_stay_and_devices_are_written_through() {
        let folder = std::env::temp_dir().join(format!("topicbook-atomic-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("file"), folder.join("link"));
        write_text(&file, "first").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        symlink("file", &link).unwrap();
        write_text(&link, "second").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        write_text(Path::new("/dev/null"), "nothing").unwrap();
        assert!(
            fs::metadata("/dev/null")
                .unwrap()
                .file_type()
                .is_char_device()
        );
        // The longest name that Linux allows.
        let long = folder.join("n".repeat(255));
        write_text(&long, "long").unwrap();
        assert_eq!(fs::read_to_string(&long).unwrap(), "long");
        // No temporary file is left.
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        fs::remove_dir_all(&folder).unwrap();
    }
}
