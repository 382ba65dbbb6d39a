//! The files of a fit's checkpoints, which one fit writes at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::data::{FileKind, tensor_file};
use crate::error::{Error, ErrorKind, Result};
use crate::system::{DISK_FULL_REMEDY, follow_links, write_atomic_sized};
use crate::text::shown_path;

use super::checkpoint::ExistingFile;

/// Bytes that are written to see whether the disk takes them.
const TRIAL: [u8; 4096] = [0; 4096];

/// The checkpoint files of a fit that runs, locked against other fits. The system releases the lock when the process
/// ends, however it ends.
pub(crate) struct CheckpointFiles {
    /// The newest checkpoint, with symbolic links resolved: renaming it leaves a link in place.
    pub(super) newest: PathBuf,
    pub(super) previous: PathBuf,
    lock: PathBuf,
    _locked: File,
}

impl CheckpointFiles {
    /// Locks the files of `path`, and checks that checkpoints of this kind and size can be written there.
    ///
    /// # Errors
    /// When the folder does not exist, `path` is something else than a checkpoint, another fit writes its checkpoints
    /// there, or the disk takes no file of that size.
    pub(crate) fn claim(
        path: &Path,
        existing: ExistingFile,
        kind: &FileKind,
        bytes: u64,
    ) -> Result<Self> {
        let newest = follow_links(path);
        check_place(&newest, existing, kind)?;
        let lock = with_ending(&newest, ".lock");
        let files = Self {
            _locked: lock_file(&lock, path)?,
            previous: previous(&newest),
            lock,
            newest,
        };
        try_to_write(&files.newest, bytes)?;
        Ok(files)
    }
}

impl Drop for CheckpointFiles {
    fn drop(&mut self) {
        // Removed while it is locked, so that nobody else has locked it. A file that stays does no harm.
        let _ = fs::remove_file(&self.lock);
    }
}

/// The path of the checkpoint before the newest: `path` with `.previous` appended.
fn previous(path: &Path) -> PathBuf {
    with_ending(&follow_links(path), ".previous")
}

/// Reads the newest checkpoint of `path` by `read`, or the one before it where the newest cannot be read. Returns with the older
/// one why the newest cannot.
///
/// # Errors
/// That of the newest, where neither can be read.
pub(crate) fn read_either<T>(
    path: &Path,
    read: impl Fn(&Path, ExistingFile) -> Result<T>,
) -> Result<(T, Option<Error>)> {
    match read(path, ExistingFile::Own) {
        Ok(newest) => Ok((newest, None)),
        Err(error) => match read(&previous(path), ExistingFile::Previous) {
            Ok(older) => Ok((older, Some(error))),
            Err(_) => Err(error),
        },
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(ending);
    path.with_file_name(name)
}

fn check_place(path: &Path, existing: ExistingFile, kind: &FileKind) -> Result<()> {
    let refuse = |what: String, remedy: &str| Err(Error::new(ErrorKind::Io, what).fix(remedy));
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) || path.file_name().is_none() {
        return refuse(
            format!("cannot write a checkpoint to {}", shown_path(path)),
            "name a file in a folder that exists",
        );
    }
    let is_other = || match existing {
        // A damaged checkpoint of this fit may look like anything.
        ExistingFile::Own | ExistingFile::Previous => false,
        ExistingFile::None => !tensor_file::is(path, kind),
    };
    match fs::metadata(path) {
        // Anything but a file is not opened: reading a FIFO would wait for a writer.
        Ok(metadata) if !metadata.is_file() || is_other() => refuse(
            format!("{} exists and is not a checkpoint", shown_path(path)),
            "name another file, or remove this one",
        ),
        _ => Ok(()),
    }
}

/// Creates the file `lock` and locks it (flock), for the checkpoints `path`.
fn lock_file(lock: &Path, path: &Path) -> Result<File> {
    loop {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(lock)
            .map_err(|error| Error::io("write", lock, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(lock, path)),
            // Some filesystems have no locks. There, two fits are not kept apart.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
        // A fit that ended may have removed the file after it was opened here.
        if is_at(&file, lock) {
            // The number only makes the message of the other fit clearer.
            let _ = file
                .set_len(0)
                .and_then(|()| file.write_all(std::process::id().to_string().as_bytes()));
            return Ok(file);
        }
    }
}

fn in_use(lock: &Path, path: &Path) -> Error {
    let owner = fs::read_to_string(lock).unwrap_or_default();
    let owner = match owner.trim().parse::<u32>() {
        Ok(id) if id == std::process::id() => "another fit of this process".into(),
        Ok(id) => format!("a fit of process {id}"),
        Err(_) => "another fit".to_string(),
    };
    Error::new(
        ErrorKind::Io,
        format!("{owner} writes its checkpoints to {}", shown_path(path)),
    )
    .fix("name another file, or stop that fit (Training::stop) and wait until it has ended")
}

/// Whether `path` still names this file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => id(open) == id(named),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

/// Reserves the space of a checkpoint and writes a block of it, as later ones are written, but replaces nothing.
fn try_to_write(path: &Path, bytes: u64) -> Result<()> {
    let mut written = false;
    let outcome = write_atomic_sized(path, bytes, DISK_FULL_REMEDY, |out| {
        out.write_all(&TRIAL)
            .and_then(|()| out.flush())
            .map_err(|error| Error::io("write", path, error))?;
        written = true;
        // An error removes the temporary file.
        Err(Error::new(ErrorKind::Io, "a trial"))
    });
    if written { Ok(()) } else { outcome }
}
