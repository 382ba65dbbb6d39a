//! The Rust that builds library and cells.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result, command, output};

/// What has to agree between the library and the cells that link to it.
pub struct Toolchain {
    /// The file name of the standard library: its hash is another one in every release of Rust.
    pub release: String,
    /// Where this Rust is installed.
    pub sysroot: PathBuf,
    /// Where its standard library lies.
    pub libraries: PathBuf,
}

impl Toolchain {
    pub fn find(places: &Places) -> Result<Self> {
        let libraries = output(
            command("rustc")
                .args(["--print", "target-libdir"])
                .current_dir(&places.root),
        )?;
        let libraries = Path::new(&libraries);
        // <sysroot>/lib/rustlib/<host>/lib
        let sysroot = libraries
            .ancestors()
            .nth(4)
            .ok_or_else(|| Fail::new("rustc did not say where it is installed"))?;
        let release = fs::read_dir(libraries)
            .at(libraries)?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .find(|name| name.starts_with("libstd-") && name.ends_with(".so"))
            .ok_or_else(|| {
                Fail::new(format!(
                    "{} has no shared standard library; install Rust with rustup",
                    libraries.display()
                ))
            })?;
        Ok(Self {
            release,
            sysroot: sysroot.to_path_buf(),
            libraries: libraries.to_path_buf(),
        })
    }

    /// The sources of the standard library, where the component `rust-src` is installed.
    pub fn std_sources(&self) -> Option<PathBuf> {
        let sources = self.sysroot.join("lib/rustlib/src/rust/library");
        sources.join("core").is_dir().then_some(sources)
    }
}
