//! Files appear whole or not at all: written beside their name, then renamed.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::display::bytes;
use crate::error::{Error, ErrorKind, Result};

/// Writes `path` by `write`; on an error nothing stays behind and an earlier file of that name is untouched.
pub(crate) fn write_beside(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    write_beside_sized(path, 0, write)
}

/// The same for a file that will take about `needed` bytes, rather more than less: refused at once where the disk is
/// too small, and the space is set aside, so that a full disk cannot end the work in the middle.
pub(crate) fn write_beside_sized(
    path: &Path,
    needed: u64,
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
    sweep(path);
    check_space(path, needed)?;
    let temporary = unused(path);
    let failed = |source| Error::io("write", path, source);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary.0)
        .map_err(failed)?;
    // Tells `sweep` that somebody is still at it. A disk that knows no locks goes without.
    let _ = file.try_lock();
    set_aside(&file, needed).map_err(|source| match source.kind() {
        std::io::ErrorKind::StorageFull => no_space(path, needed, None),
        _ => failed(source),
    })?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(&mut out)?;
    out.flush()
        .and_then(|()| give_back(out.get_mut(), needed))
        .and_then(|()| std::fs::rename(&temporary.0, path))
        .map_err(failed)
}

/// Cuts off what was set aside and not needed.
fn give_back(file: &mut File, set_aside: u64) -> std::io::Result<()> {
    let written = file.stream_position()?;
    match written < set_aside {
        true => file.set_len(written),
        false => Ok(()),
    }
}

/// Removes what a killed process had half written beside `path`; what is being written, its writer has locked.
pub(crate) fn sweep(path: &Path) {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (Some(name), Ok(entries)) = (path.file_name(), std::fs::read_dir(folder)) else {
        return;
    };
    let begin = format!("{}.", name.to_string_lossy());
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let middle = name
            .strip_prefix(&begin)
            .and_then(|rest| rest.strip_suffix(".part"));
        let ours = |middle: &str| {
            middle.split_once('-').is_some_and(|(process, number)| {
                [process, number]
                    .iter()
                    .all(|part| part.parse::<u64>().is_ok())
            })
        };
        let abandoned = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if middle.is_some_and(ours) && abandoned() {
            // What cannot be removed only takes space.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removed when dropped; after the rename there is nothing left under its name.
/// A file of `needed` zero bytes in a folder, open to read and write, that has no name any more. Its space is set aside.
pub(crate) fn nameless(folder: &Path, needed: u64) -> Result<File> {
    let path = unused(&folder.join("topicbook"));
    let failed = |source| Error::io("create a file in", folder, source);
    check_space(&path.0, needed)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path.0)
        .map_err(failed)?;
    set_aside(&file, needed).map_err(|source| match source.kind() {
        std::io::ErrorKind::StorageFull => no_space(&path.0, needed, None),
        _ => failed(source),
    })?;
    file.set_len(needed).map_err(failed)?;
    Ok(file)
}

/// A name beside `path` that no other process or thread uses; removed in the end.
fn unused(path: &Path) -> Temporary {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(
        ".{}-{}.part",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::Relaxed)
    ));
    Temporary(path.with_file_name(name))
}

struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // The error that led here says more than one of the clean-up would.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn check_space(target: &Path, needed: u64) -> Result<()> {
    match free_space(target) {
        Some(free) if free < needed => Err(no_space(target, needed, Some(free))),
        _ => Ok(()),
    }
}

fn no_space(target: &Path, needed: u64, free: Option<u64>) -> Error {
    let free = free.map_or("less is".to_string(), |free| format!("{} are", bytes(free)));
    Error::new(
        ErrorKind::Space,
        format!(
            "{} would take {}, and {free} free on its disk",
            target.display(),
            bytes(needed)
        ),
    )
    .fix("free some disk space, write elsewhere, or use a narrower dtype (write_npy_narrow)")
}

/// Free bytes on the disk of the folder that `target` is in; `None` where that cannot be told.
#[cfg(unix)]
fn free_space(target: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero byte, and `found` is read only after the call filled it in.
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

/// Sets disk space aside where the system can, so that a full disk shows at once and not in the middle.
#[cfg(target_os = "linux")]
fn set_aside(file: &File, needed: u64) -> std::io::Result<()> {
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
fn set_aside(_file: &File, _needed: u64) -> std::io::Result<()> {
    Ok(())
}
