//! What a path names before something is written to it.

use std::fs::{self, Metadata, Permissions};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// The most symbolic links that are followed one after another, as in Linux.
const MAX_LINKS: usize = 40;

/// Where a write goes.
#[derive(Debug)]
pub(crate) enum Target {
    /// A file that is there and is replaced by one with its permissions, or a file that is not there yet.
    File {
        path: PathBuf,
        permissions: Option<Permissions>,
    },
    /// A character device or FIFO, which is written through.
    Stream(PathBuf),
}

impl Target {
    /// Follows symbolic links: the link stays, and its target is written.
    ///
    /// # Errors
    /// When the path names a folder, no file, a read-only file, or something that can be neither replaced nor written
    /// through; when its links lead nowhere.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let refuse = |what: String, remedy: &str| Err(Error::new(ErrorKind::Io, what).fix(remedy));
        let shown = path.display();
        if path.file_name().is_none() && !path.is_dir() {
            return refuse(
                format!("{shown} names no file"),
                "end the path in a file name",
            );
        }
        let mut found = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            let metadata = match fs::symlink_metadata(&found) {
                Ok(metadata) => metadata,
                // The folder may be missing, too: creating the file reports that.
                Err(_) => {
                    return Ok(Self::File {
                        path: found,
                        permissions: None,
                    });
                }
            };
            if metadata.is_symlink() {
                let link =
                    fs::read_link(&found).map_err(|error| Error::io("read", &found, error))?;
                found = match found.parent() {
                    Some(folder) => folder.join(link),
                    None => link,
                };
                continue;
            }
            if metadata.is_dir() {
                return refuse(format!("{shown} is a folder"), "name a file inside it");
            }
            if is_stream(&metadata) {
                return Ok(Self::Stream(found));
            }
            if !metadata.is_file() {
                return refuse(format!("{shown} is no regular file"), "name another file");
            }
            if metadata.permissions().readonly() {
                return refuse(
                    format!("{shown} is read-only"),
                    "name another file, or allow writing to this one (chmod u+w)",
                );
            }
            return Ok(Self::File {
                path: found,
                permissions: Some(metadata.permissions()),
            });
        }
        refuse(
            format!("{shown} is a symbolic link that leads in a circle"),
            "name another file",
        )
    }
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

    #[test]
    fn links_are_followed_and_odd_files_refused() {
        let folder = std::env::temp_dir().join(format!("topicbook-target-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("file");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let [link, dangling, circle] = ["link", "dangling", "circle"].map(|name| folder.join(name));
        let _ = [&link, &dangling, &circle].map(fs::remove_file);
        symlink("file", &link).unwrap();
        symlink("new", &dangling).unwrap();
        symlink("circle", &circle).unwrap();
        match Target::of(&link) {
            Ok(Target::File {
                path,
                permissions: Some(permissions),
            }) => {
                assert_eq!((path, permissions.mode() & 0o777), (file.clone(), 0o600));
            }
            other => panic!("{other:?}"),
        }
        let new = Target::of(&dangling);
        assert!(
            matches!(&new, Ok(Target::File { path, permissions: None }) if *path == folder.join("new")),
            "{new:?}"
        );
        assert!(matches!(
            Target::of(Path::new("/dev/null")),
            Ok(Target::Stream(_))
        ));
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        for (path, part) in [
            (&link, "read-only"),
            (&circle, "circle"),
            (&folder, "is a folder"),
            (&folder.join(".."), "is a folder"),
        ] {
            let error = Target::of(path).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
