//! Links cells where there is no C compiler.
//!
//! rustc links through `cc`, which knows where the C library lies. Without it, the linker that comes with Rust (`rust-lld`)
//! does so. It looks for files such as `libc.so`, which only a package for C developers brings: a folder gets files of these
//! names that refer to the libraries every system has. Programs, such as build scripts, also begin with three object files
//! of that package, which the wheel brings.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result};
use crate::toolchain::Toolchain;

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

/// The variable by which Cargo learns the linker.
pub const VARIABLE: &str = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER";

/// The program that links cells from a wheel; none where there is `cc`, which a checkout needs anyway.
pub fn instead_of_cc(places: &Places, toolchain: &Toolchain) -> Result<Option<PathBuf>> {
    if !places.is_wheel || is_on_path("cc") {
        return Ok(None);
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
        put(&script, &format!("INPUT({})\n", library.display()))?;
    }
    // rustc knows by this name what the program understands.
    let linker = folder.join("ld");
    let start = ["Scrt1.o", "crti.o", "crtn.o"].map(|name| places.wheel_build().join(name));
    let [start, lld, folder] = [
        start.map(|file| quoted(&file)).join(" "),
        quoted(&toolchain.libraries.with_file_name("bin/gcc-ld/ld.lld")),
        quoted(&folder),
    ];
    put(
        &linker,
        &format!(
            "#!/bin/sh\n\
             case \" $* \" in\n\
             *\" -shared \"*) ;;\n\
             *) set -- \"$@\" {start} --dynamic-linker=/lib64/ld-linux-x86-64.so.2 ;;\n\
             esac\n\
             exec {lld} -L {folder} \"$@\"\n"
        ),
    )?;
    Ok(Some(linker))
}

/// A path for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Writes a program or a script of the linker, unless it is there: another kernel may use it now.
fn put(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let new = file.with_extension(std::process::id().to_string());
    fs::write(&new, text).at(&new)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).at(&new)?;
    fs::rename(&new, file).at(file)
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
