//! The folder that `cargo xtask` installs into.

use std::env;
use std::path::PathBuf;

/// The cache folder, as `cargo xtask` finds it: `TOPICBOOK_CACHE`, else `$XDG_CACHE_HOME/topicbook`, else
/// `~/.cache/topicbook`. Relative paths are ignored: they would name another folder after a change of directory.
pub fn cache_folder() -> Option<PathBuf> {
    let folder = |variable: &str| {
        let path = PathBuf::from(env::var_os(variable)?);
        path.is_absolute().then_some(path)
    };
    folder("TOPICBOOK_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("topicbook")))
        .or_else(|| Some(folder("HOME")?.join(".cache").join("topicbook")))
}
