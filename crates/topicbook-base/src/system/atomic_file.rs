//! Atomic file writes: a temporary file in the same folder is written, then renamed to its final name.

use std::collections::hash_map::RandomState;
use std::fs::{File, Metadata, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::text::{bytes, shown_path};

use super::write_target::WriteTarget;

/// Prefix and suffix of the names of temporary files; a random number is between them.
const PREFIX: &str = ".topicbook-";
const SUFFIX: &str = ".part";
/// Empty files younger than this are not treated as stale.
const RECENT: Duration = Duration::from_secs(60);
/// Bytes per write.
const BUFFER: usize = 1 << 20;

/// The remedy for a full disk where the file cannot be made smaller.
pub const DISK_FULL_REMEDY: &str = "free some disk space, or write elsewhere";

/// The remedy where L and its optimizer state have no room in their folder.
pub const SPILL_FULL_REMEDY: &str = "free some disk space, or name a folder on another disk (MiniBatch::table_storage, Budget::spill_dir)";

/// Writes the file `path` atomically: `write` fills a temporary file, which is then renamed to `path`.
///
/// On an error the temporary file is removed and an existing file of that name stays unchanged. A symbolic link stays, and its
/// target is written. An existing file keeps its permissions and, where the system allows it, its owner. A character device or
/// FIFO is written to, not replaced.
pub fn write_atomic(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    match WriteTarget::of(path)? {
        WriteTarget::File {
            path: target,
            existing,
        } => replace(
            path,
            &target,
            existing.as_ref(),
            0,
            DISK_FULL_REMEDY,
            |out, _| write(out),
        ),
        WriteTarget::Stream => {
            let mut out = BufWriter::with_capacity(BUFFER, open_stream(path)?);
            write(&mut out)?;
            out.flush()
                .map_err(|source| Error::io("write", path, source))
        }
    }
}

/// [`write_atomic`] for a file of about `needed` bytes that is read again, so it cannot be a device or a FIFO. An estimate
/// should rather be too large than too small.
///
/// Fails at once if the disk has less free space, and preallocates the file, so that writing cannot fail halfway
/// because the disk is full. That error says `remedy`. Returns what `write` returns.
pub fn write_atomic_sized<T>(
    path: &Path,
    needed: u64,
    remedy: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T>,
) -> Result<T> {
    match WriteTarget::of(path)? {
        WriteTarget::File {
            path: target,
            existing,
        } => replace(
            path,
            &target,
            existing.as_ref(),
            needed,
            remedy,
            |out, _| write(out),
        ),
        WriteTarget::Stream => Err(no_file(path)),
    }
}

/// [`write_atomic_sized`] for a library that opens the file by its path: `write` gets the path of the temporary file, which is
/// empty. The file is not preallocated.
pub fn write_atomic_path<T>(
    path: &Path,
    needed: u64,
    remedy: &str,
    write: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    match WriteTarget::of(path)? {
        WriteTarget::File {
            path: target,
            existing,
        } => {
            check_space(&target, needed, remedy)?;
            replace(
                path,
                &target,
                existing.as_ref(),
                0,
                remedy,
                |_, temporary| write(temporary),
            )
        }
        WriteTarget::Stream => Err(no_file(path)),
    }
}

fn no_file(path: &Path) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("{} is a device or a FIFO", shown_path(path)),
    )
    .fix("name a file: what is written here is read again")
}

/// Fills a temporary file in the folder of `target`, the file at the end of the links of `path`, and renames it.
fn replace<T>(
    path: &Path,
    target: &Path,
    existing: Option<&Metadata>,
    needed: u64,
    remedy: &str,
    write: impl FnOnce(&mut BufWriter<File>, &Path) -> Result<T>,
) -> Result<T> {
    let failed = |source| Error::io("write", path, source);
    remove_stale(target);
    check_space(target, needed, remedy)?;
    let temporary = temporary_path(target);
    let file = create(&temporary.0, existing).map_err(failed)?;
    // The lock tells `remove_stale` that the file is still being written. Optional: some filesystems have no locks.
    let _ = file.try_lock();
    preallocate(&file, needed).map_err(|source| match source.kind() {
        std::io::ErrorKind::StorageFull => no_space(path, needed, None, remedy),
        _ => failed(source),
    })?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let written = write(&mut out, &temporary.0)?;
    out.flush()
        .and_then(|()| truncate_to_written(out.get_mut(), needed))
        .and_then(|()| std::fs::rename(&temporary.0, target))
        .map_err(failed)?;
    Ok(written)
}

/// Creates a file that replaces `existing`, with the same permissions and owner; its permissions are never wider.
fn create(path: &Path, existing: Option<&Metadata>) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let Some(existing) = existing else {
        return options.open(path);
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
        let file = options.mode(existing.mode() & 0o600).open(path)?;
        // Only root may give a file to another user.
        let _ = fchown(&file, Some(existing.uid()), Some(existing.gid()));
        file.set_permissions(existing.permissions())?;
        Ok(file)
    }
    #[cfg(not(unix))]
    {
        let file = options.open(path)?;
        file.set_permissions(existing.permissions())?;
        Ok(file)
    }
}

/// Opens a character device or FIFO to write. A FIFO that nobody reads is an error: the system would wait for a reader.
#[cfg(unix)]
fn open_stream(path: &Path) -> Result<File> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path);
    let file = opened.map_err(|source| match source.raw_os_error() {
        Some(libc::ENXIO) => Error::new(
            ErrorKind::Io,
            format!("nobody reads the FIFO {}", shown_path(path)),
        )
        .fix("start the program that reads it first"),
        _ => Error::io("write", path, source),
    })?;
    // SAFETY: the descriptor is open, and the call accesses no memory of ours. From here on, writes block.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, 0) } {
        -1 => Err(Error::io("write", path, std::io::Error::last_os_error())),
        _ => Ok(file),
    }
}

#[cfg(not(unix))]
fn open_stream(path: &Path) -> Result<File> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(|source| Error::io("write", path, source))
}

/// Cuts off the preallocated bytes after the current position.
fn truncate_to_written(file: &mut File, preallocated: u64) -> std::io::Result<()> {
    let written = file.stream_position()?;
    match written < preallocated {
        true => file.set_len(written),
        false => Ok(()),
    }
}

/// Removes temporary files of killed processes from the folder of `path`.
///
/// A writer locks its temporary file, so files that are still being written are kept; so are empty files of the last minute,
/// which a writer may be about to lock.
pub fn remove_stale(path: &Path) {
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else {
        return;
    };
    for entry in entries.flatten() {
        if !is_temporary(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let may_be_stale = entry.metadata().is_ok_and(|metadata| {
            let age = metadata
                .modified()
                .ok()
                .and_then(|time| time.elapsed().ok());
            metadata.is_file() && (metadata.len() > 0 || age.is_some_and(|age| age > RECENT))
        });
        let is_unlocked = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if may_be_stale && is_unlocked() {
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
/// The system frees its disk space when the last handle or mapping is gone, also after a crash. `remedy` is for a full disk.
pub fn unlinked_temp_file(folder: &Path, needed: u64, remedy: &str) -> Result<File> {
    let path = temporary_path(&folder.join("topicbook"));
    create_sized(&path.0, needed, remedy, |source| {
        Error::io("create a file in", folder, source)
    })
}

/// Creates a new file of `needed` zero bytes, preallocated, and open to read and write. Its space is checked first. On an
/// error no file is left; `remedy` is for a full disk.
pub fn create_sized(
    path: &Path,
    needed: u64,
    remedy: &str,
    failed: impl Fn(std::io::Error) -> Error,
) -> Result<File> {
    check_space(path, needed, remedy)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(&failed)?;
    let sized = preallocate(&file, needed).and_then(|()| file.set_len(needed));
    sized.map_err(|source| {
        // The error that led here is more useful than an error of the removal.
        let _ = std::fs::remove_file(path);
        match source.kind() {
            std::io::ErrorKind::StorageFull => no_space(path, needed, None, remedy),
            _ => failed(source),
        }
    })?;
    Ok(file)
}

/// A path in the folder of `path` that nobody can predict: `.topicbook-<16 hexadecimal digits>.part`. Its length does not
/// depend on the file's name, which may be as long as the filesystem allows.
fn temporary_path(path: &Path) -> Temporary {
    // The keys of this hasher are random numbers from the system.
    let number = RandomState::new().build_hasher().finish();
    Temporary(folder_of(path).join(format!("{PREFIX}{number:016x}{SUFFIX}")))
}

/// The path of a temporary file in a folder, which nobody can predict.
pub fn temporary_in(folder: &Path) -> PathBuf {
    let path = temporary_path(&folder.join("topicbook"));
    path.0.clone()
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
        // An error that led here is more useful than an error of the removal.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// An error if the disk of the folder that contains `target` has less free space than it needs.
pub fn check_space(target: &Path, needed: u64, remedy: &str) -> Result<()> {
    match free_space(target) {
        Some(free) if free < needed => Err(no_space(target, needed, Some(free), remedy)),
        _ => Ok(()),
    }
}

fn no_space(target: &Path, needed: u64, free: Option<u64>, remedy: &str) -> Error {
    let free = free.map_or("less is".to_string(), |free| format!("{} are", bytes(free)));
    Error::space(format!(
        "{} needs {}, but {free} free on its disk",
        shown_path(target),
        bytes(needed)
    ))
    .fix(remedy)
}

/// Free bytes on the disk of the folder that contains `target` (statvfs); `None` if that is unknown.
#[cfg(unix)]
pub fn free_space(target: &Path) -> Option<u64> {
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
pub fn free_space(_target: &Path) -> Option<u64> {
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
    use std::os::unix::fs::symlink;

    #[test]
    fn stale_files_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let [stale, recent, locked, fifo, link] =
            [1, 2, 3, 4, 5].map(|number| at(&format!("{PREFIX}{number:016x}{SUFFIX}")));
        let (old, mine) = (
            std::time::SystemTime::now() - 2 * RECENT,
            at(".topicbook-mine.part"),
        );
        let files = [&stale, &recent, &locked, &mine].map(|path| File::create(path).unwrap());
        for file in [&files[0], &files[2], &files[3]] {
            file.set_modified(old).unwrap();
        }
        files[2].lock().unwrap();
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        symlink(&mine, &link).unwrap();
        // A removal that opened the FIFO would block for ever.
        remove_stale(&at("X.npy"));
        assert!(!stale.exists());
        assert!(
            [&recent, &locked, &mine, &fifo, &link]
                .iter()
                .all(|path| path.exists())
        );
    }
}
