//! Links cells where there is no C compiler.
//!
//! rustc links through `cc`, which knows where the C library lies. Without it, cells are linked by the linker that comes
//! with Rust (`rust-lld`). It looks for files such as `libc.so`, which only a package for C developers brings; so a folder
//! gets files of these names that refer to the libraries every system has.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result};

/// What the standard library links to, with the file of each in a system that runs programs and compiles none.
const LIBRARIES: [(&str, &str); 7] = [
    ("c", "libc.so.6"),
    ("gcc_s", "libgcc_s.so.1"),
    ("m", "libm.so.6"),
    ("dl", "libdl.so.2"),
    ("pthread", "libpthread.so.0"),
    ("rt", "librt.so.1"),
    ("util", "libutil.so.1"),
];

const FOLDERS: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// The flags with which rustc links a cell: none where there is `cc`.
pub fn flags(places: &Places) -> Result<Vec<String>> {
    if is_on_path("cc") {
        return Ok(Vec::new());
    }
    let folder = places.cache.join("linker");
    fs::create_dir_all(&folder).at(&folder)?;
    for (name, file) in LIBRARIES {
        let library = found(file).ok_or_else(|| {
            Fail::new(format!(
                "there is neither a C compiler (`cc`) nor {file}, so no cell can be linked\nto do: install a C compiler; on \
                 Debian and Ubuntu: apt install gcc libc6-dev"
            ))
        })?;
        let script = folder.join(format!("lib{name}.so"));
        let text = format!("INPUT({})\n", library.display());
        // Another kernel may read it now.
        if fs::read_to_string(&script).is_ok_and(|old| old == text) {
            continue;
        }
        let new = folder.join(format!("{name}.{}", std::process::id()));
        fs::write(&new, text).at(&new)?;
        fs::rename(&new, &script).at(&script)?;
    }
    Ok(vec![
        "-Clinker=rust-lld".to_owned(),
        "-Clinker-flavor=ld.lld".to_owned(),
        format!("-Lnative={}", folder.display()),
    ])
}

/// Whether a program is in one of the folders of PATH.
pub fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn found(file: &str) -> Option<PathBuf> {
    let mut files = FOLDERS.iter().map(|folder| Path::new(folder).join(file));
    files.find(|file| file.is_file())
}
