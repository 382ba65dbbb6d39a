//! The Rust toolchain that compiles the library and the cells.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result, command, output};

/// The toolchain, which must be the same for the library and for the cells that link to it.
pub struct Toolchain {
    /// The file name of the standard library, whose hash differs in every release of Rust.
    pub release: String,
    /// The folder in which Rust is installed.
    pub sysroot: PathBuf,
    /// The folder of its standard library.
    pub libraries: PathBuf,
}

impl Toolchain {
    pub fn find(places: &Places) -> Result<Self> {
        let libraries = output(
            command("rustc")
                .args(["--print", "target-libdir"])
                .current_dir(&places.root),
        )
        .map_err(|error| {
            Fail::new(format!(
                "{error}\nto do: install Rust with rustup, then run `cargo xtask kernel install` in {}",
                places.root.display()
            ))
        })?;
        let libraries = Path::new(&libraries);
        // <sysroot>/lib/rustlib/<host>/lib
        let sysroot = libraries.ancestors().nth(4).ok_or_else(|| {
            Fail::new("the path that `rustc --print target-libdir` printed is too short")
        })?;
        let release = fs::read_dir(libraries)
            .at(libraries)?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .find(|name| name.starts_with("libstd-") && name.ends_with(".so"))
            .ok_or_else(|| {
                Fail::new(format!(
                    "{} contains no shared standard library; install Rust with rustup",
                    libraries.display()
                ))
            })?;
        Ok(Self {
            release,
            sysroot: sysroot.to_path_buf(),
            libraries: libraries.to_path_buf(),
        })
    }

    /// The folder of the standard library's sources, if the component `rust-src` is installed.
    pub fn std_sources(&self) -> Option<PathBuf> {
        let sources = self.sysroot.join("lib/rustlib/src/rust/library");
        sources.join("core").is_dir().then_some(sources)
    }
}
