//! Folders of files, each of which is a document.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::{Documents, TextFormat};
use crate::error::{Error, ErrorKind, Result};
use crate::system::{check_regular, decoded, is_note, read_whole};
use crate::text::shown_path;

use super::{Kind, Remarks, html};

/// The extensions of texts and pages.
const EXTENSIONS: [&str; 4] = ["txt", "md", "html", "htm"];

/// The texts below a folder, in alphabetical order of their paths.
pub(super) fn in_folder(folder: &Path) -> Result<Kind> {
    let (mut files, mut passed) = (Vec::new(), 0);
    find(folder, &mut files, &mut passed)?;
    files.sort();
    match files.is_empty() {
        false => Ok(Kind::Files {
            root: folder.into(),
            files,
            passed,
        }),
        true => Err(Error::new(
            ErrorKind::Io,
            format!("{} contains no texts", shown_path(folder)),
        )
        .fix(format!(
            "name a folder with files .{}",
            EXTENSIONS.join(", .")
        ))),
    }
}

/// Finds the texts below a folder, and counts the other files.
fn find(folder: &Path, files: &mut Vec<(PathBuf, u64)>, passed: &mut usize) -> Result<()> {
    let failed = |source| Error::io("read the folder", folder, source);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let metadata =
            fs::symlink_metadata(&path).map_err(|source| Error::io("open", &path, source))?;
        if metadata.is_dir() {
            find(&path, files, passed)?;
        } else if is_text(&path) && !is_note(&path) {
            // A link is followed to a file, and never into a folder, because links to folders can form circles.
            let length = check_regular(&path)?.len();
            files.push((path, length));
        } else {
            *passed += 1;
        }
    }
    Ok(())
}

fn is_text(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}

/// The files that a pattern such as `letters/*.txt` finds, in alphabetical order.
pub(super) fn matching(path: &Path, pattern: &str) -> Result<Kind> {
    let found = glob::glob(pattern).map_err(|source| {
        Error::setting(format!("{pattern:?} is no pattern of paths: {source}"))
            .fix("write it as letters/*.txt")
            .because(source)
    })?;
    let (mut files, mut passed) = (Vec::new(), 0);
    for entry in found {
        let path = entry.map_err(|error| {
            let path = error.path().to_path_buf();
            Error::io("open", &path, error.into())
        })?;
        if is_note(&path) {
            passed += 1;
        } else if !path.is_dir() {
            let length = check_regular(&path)?.len();
            files.push((path, length));
        }
    }
    files.sort();
    if files.is_empty() {
        let what = format!("no file has a path like {pattern:?}");
        return Err(Error::new(ErrorKind::Io, what).fix("check the path"));
    }
    let is_pattern = |part: &str| part.contains(['*', '?', '[']);
    let root = path
        .ancestors()
        .find(|folder| !is_pattern(&folder.to_string_lossy()));
    Ok(Kind::Files {
        root: root.unwrap_or(Path::new("")).into(),
        files,
        passed,
    })
}

/// The text of a file.
pub(super) fn read(path: &Path, format: &TextFormat, remarks: &Remarks) -> Result<String> {
    /// The bytes of the file become its text, and a page the text without its tags.
    const COPIES: u64 = 2;
    let (text, encoding) = decoded(path, read_whole(path, COPIES)?, format.stated_encoding())?;
    let encoding = encoding.map(|encoding| format!("encoding {encoding}"));
    remarks.add(path, encoding.as_slice());
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    Ok(match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" => html::text_of(&text),
        _ => text,
    })
}

/// The documents of files: their paths below `root`, and the folders of `root` in which they lie.
pub(super) fn documents(root: &Path, files: &[(PathBuf, u64)]) -> Result<Documents> {
    let inside = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_path_buf();
    let paths: Vec<PathBuf> = files.iter().map(|(path, _)| inside(path)).collect();
    let folders: Vec<String> = paths
        .iter()
        .map(|path| {
            let mut parts = path.components();
            let first = parts.next().filter(|_| parts.next().is_some());
            first.map_or(String::new(), |first| {
                first.as_os_str().to_string_lossy().into()
            })
        })
        .collect();
    let documents = Documents::new(paths.iter().map(|path| path.to_string_lossy()))?;
    match folders.iter().all(String::is_empty) {
        true => Ok(documents),
        false => documents.with_labels("folder", folders),
    }
}
