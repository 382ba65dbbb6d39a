//! The Rust toolchain that compiles the library and the cells.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::linker;
use crate::places::Places;
use crate::task::{At, Fail, Result, command, output, run, step};

/// The toolchain, which must be the same for the library and for the cells that link to it.
pub struct Toolchain {
    /// The file name of the standard library, whose hash differs in every release of Rust.
    pub release: String,
    /// The folder in which Rust is installed.
    pub sysroot: PathBuf,
    /// The folder of its standard library.
    pub libraries: PathBuf,
}

/// Files in the build of a wheel: the name of the standard library, and the version of Rust.
pub const RELEASE: &str = "rust-release";
pub const VERSION: &str = "rust-version";

impl Toolchain {
    pub fn find(places: &Places) -> Result<Self> {
        if places.is_wheel {
            return Self::of_wheel(places);
        }
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

    /// The toolchain with which a wheel was built, wherever it lies: its standard library has the same file name.
    fn of_wheel(places: &Places) -> Result<Self> {
        let stated = |name: &str| {
            let file = places.wheel_build().join(name);
            fs::read_to_string(&file).at(&file)
        };
        let (release, version) = (stated(RELEASE)?, stated(VERSION)?);
        let found = |sysroot: PathBuf| {
            let libraries = sysroot.join("lib/rustlib/x86_64-unknown-linux-gnu/lib");
            let is_it = libraries.join(&release).is_file() && sysroot.join("bin/rustc").is_file();
            is_it.then(|| Self {
                release: release.clone(),
                sysroot,
                libraries,
            })
        };
        sysroots(places).into_iter().find_map(found).ok_or_else(|| {
            let seen = output(command("rustc").arg("--version"));
            let seen = seen.unwrap_or_else(|_| "no rustc in the PATH".into());
            Fail::new(format!(
                "cells are compiled by Rust {version}, the version with which topicbook was built; found: {seen}\nto do: {}",
                match linker::is_on_path("rustup") {
                    true => format!("rustup toolchain install {version} --profile minimal"),
                    false => format!(
                        "install rustup, then run `rustup toolchain install {version} --profile minimal`; or set TOPICBOOK_RUST \
                         to a folder with Rust {version}"
                    ),
                }
            ))
        })
    }

    /// The toolchain; with rustup, that of a wheel is installed first where it is missing.
    pub fn ready(places: &Places) -> Result<Self> {
        match Self::find(places) {
            Err(_) if places.is_wheel && linker::is_on_path("rustup") => {
                let file = places.wheel_build().join(VERSION);
                let version = fs::read_to_string(&file).at(&file)?;
                step(&format!("installing Rust {version} with rustup"), || {
                    run(command("rustup")
                        .args(["toolchain", "install", &version, "--profile", "minimal"])
                        .arg("--no-self-update"))
                })?;
                Self::find(places)
            }
            found => found,
        }
    }

    /// The folder of Rust's documentation, if the component `rust-docs` is installed.
    pub fn documentation(&self) -> Option<PathBuf> {
        let pages = self.sysroot.join("share/doc/rust/html");
        pages.is_dir().then_some(pages)
    }

    /// The folder of the standard library's sources, if the component `rust-src` is installed.
    pub fn std_sources(&self) -> Option<PathBuf> {
        let sources = self.sysroot.join("lib/rustlib/src/rust/library");
        sources.join("core").is_dir().then_some(sources)
    }
}

/// Where Rust may be installed, the likely places first: TOPICBOOK_RUST, the Python environment (a bundle
/// puts it there), the toolchains of rustup, and the folders of programs.
fn sysroots(places: &Places) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(named) = env::var_os("TOPICBOOK_RUST").map(PathBuf::from) {
        // The folder of the toolchain, or that of its programs.
        folders.extend(named.parent().map(Path::to_path_buf));
        folders.push(named);
    }
    folders.extend(
        places
            .python
            .ancestors()
            .nth(2)
            .map(|environment| environment.join("rust")),
    );
    let rustup = env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| {
        let home = env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(".rustup"))
    });
    if let Some(toolchains) = rustup.map(|rustup| rustup.join("toolchains")) {
        let entries = fs::read_dir(toolchains).into_iter().flatten();
        let mut found: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        found.sort();
        folders.extend(found);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    folders.extend(env::split_paths(&path).filter_map(|bin| Some(bin.parent()?.to_path_buf())));
    folders
}
