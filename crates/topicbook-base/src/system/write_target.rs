//! What a path names before something is written to it.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::text::shown_path;

/// The most symbolic links that are followed one after another, as in Linux.
const MAX_LINKS: usize = 40;

/// Where a write goes.
#[derive(Debug)]
pub(super) enum WriteTarget {
    /// A file that is there, with its metadata, or a file that is not there yet.
    File {
        path: PathBuf,
        existing: Option<Metadata>,
    },
    /// A character device or FIFO, which cannot be replaced.
    Stream,
}

impl WriteTarget {
    /// Follows symbolic links: the link stays, and its target is written.
    ///
    /// # Errors
    /// When the path names a folder, no file, or a file that may not be written. When it names something that can be neither
    /// replaced nor written to, such as a disk or a socket. When its links form a circle.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let refuse = |what: &str, remedy: &str| {
            let what = format!("{} {what}", shown_path(path));
            Err(Error::new(ErrorKind::Io, what).fix(remedy))
        };
        let failed = |error| Error::io("write", path, error);
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(_) if path.file_name().is_none() => {
                return refuse("names no file", "end the path in a file name");
            }
            // The folder may be missing, too: creating the file reports that.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::File {
                    path: follow_links(path),
                    existing: None,
                });
            }
            Err(error) => return Err(failed(error)),
        };
        if metadata.is_dir() {
            return refuse("is a folder", "name a file inside it");
        }
        if is_stream(&metadata) {
            return Ok(Self::Stream);
        }
        if !metadata.is_file() {
            return refuse("is no regular file", "name another file");
        }
        // The system lets root write to such a file.
        if metadata.permissions().readonly() {
            return refuse(
                "is read-only",
                "name another file, or allow writing to this one (chmod u+w)",
            );
        }
        // A file of another user can be replaced in a folder of one's own, but it is not ours to change. Opening a file
        // changes nothing.
        OpenOptions::new().write(true).open(path).map_err(failed)?;
        Ok(Self::File {
            path: follow_links(path),
            existing: Some(metadata),
        })
    }
}

/// The path at the end of symbolic links, which need not exist.
pub fn follow_links(path: &Path) -> PathBuf {
    let mut found = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        // The link is relative to its own folder.
        match fs::read_link(&found) {
            Ok(link) => found = found.with_file_name("").join(link),
            Err(_) => break,
        }
    }
    found
}

#[cfg(unix)]
fn is_stream(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    kind.is_char_device() || kind.is_fifo()
}

#[cfg(not(unix))]
fn is_stream(_metadata: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    #[test]
    fn links_are_followed_and_odd_files_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        fs::create_dir(at("inner")).unwrap();
        for (target, link) in [
            ("file", "link"),
            ("../link", "inner/far"),
            ("new", "dangling"),
            ("circle", "circle"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let _listener = UnixListener::bind(at("socket")).unwrap();
        for (name, expected, exists) in [
            ("file", "file", true),
            ("link", "file", true),
            ("inner/far", "file", true),
            ("new", "new", false),
            ("dangling", "new", false),
        ] {
            match WriteTarget::of(&at(name)) {
                Ok(WriteTarget::File { path, existing }) => {
                    assert_eq!(existing.is_some(), exists, "{name}");
                    let found = path.parent().unwrap().canonicalize().unwrap();
                    let found = found.join(path.file_name().unwrap());
                    let expected = folder.path().canonicalize().unwrap().join(expected);
                    assert_eq!(found, expected, "{name}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        let stream = WriteTarget::of(Path::new("/dev/null"));
        assert!(matches!(stream, Ok(WriteTarget::Stream)), "{stream:?}");
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o444)).unwrap();
        for (path, part) in [
            (at("link"), "is read-only"),
            (at("circle"), "symbolic links"),
            (at("inner"), "is a folder"),
            (at(".."), "is a folder"),
            (at("socket"), "is no regular file"),
            (PathBuf::new(), "names no file"),
            (at(&"n".repeat(256)), "too long"),
        ] {
            let error = WriteTarget::of(&path).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}
