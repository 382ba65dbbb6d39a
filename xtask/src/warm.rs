//! The one build of the library that every kernel links to.
//!
//! A cell must compile in a fraction of a second, although the library stands on 300 crates. So the library
//! is built once, as a shared library, and every build is published in a folder of its own:
//!
//! - `libtopicbook.so`, a copy, because the linker may write over Cargo's file while a kernel has it mapped;
//! - `facade`, the package that cells depend on. In builds it has no dependency: the real library comes as
//!   `--extern topicbook_lib=...`, so that Cargo checks two packages for each cell instead of 300;
//! - `outline`, the library's own source as a package without dependencies. evcxr infers the types of
//!   variables with rust-analyzer, which asks Cargo for the packages with `--cfg topicbook_outline` in its
//!   environment: then, and only then, the facade depends on the outline. What stands behind our own
//!   signatures (Burn, Polars) is never read, which would take rust-analyzer half a minute.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result, command, run, step};
use crate::toolchain::Toolchain;

/// A published build.
pub struct Build {
    folder: PathBuf,
    crates: PathBuf,
}

impl Build {
    /// The build of the present sources by the present Rust, which may not be there yet.
    pub fn present(places: &Places, toolchain: &Toolchain) -> Result<Self> {
        Ok(Self {
            folder: places.builds().join(fingerprint(places, toolchain)?),
            crates: places.target.join("debug").join("deps"),
        })
    }

    /// Whether cells can link to it.
    pub fn is_ready(&self) -> bool {
        self.library().is_file() && self.crates.is_dir()
    }

    /// The same, made now if it is not there.
    pub fn ready(places: &Places, toolchain: &Toolchain) -> Result<Self> {
        // Once more when a source was saved in the meantime: a build must be what its name says.
        for _ in 0..3 {
            let build = Self::present(places, toolchain)?;
            if build.is_ready() {
                return Ok(build);
            }
            step(
                "building the library (the first time 10 to 15 minutes on 2 cores, for 300 crates)",
                || {
                    run(command("cargo")
                        .args(["build", "--package", "topicbook", "--lib"])
                        .current_dir(&places.root)
                        .env("CARGO_TARGET_DIR", &places.target))
                },
            )?;
            if Self::present(places, toolchain)?.folder == build.folder {
                // Another kernel may have waited for the same build.
                if !build.is_ready() {
                    build.publish(places)?;
                }
                return Ok(build);
            }
        }
        Err(Fail::new(
            "the sources change faster than they can be built; save them and start again",
        ))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn facade(&self) -> PathBuf {
        self.folder.join("facade")
    }

    fn library(&self) -> PathBuf {
        self.folder.join("libtopicbook.so")
    }

    /// What a cell's compiler is told, separated as `CARGO_ENCODED_RUSTFLAGS` wants it (paths may have spaces).
    pub fn encoded_rustflags(&self) -> String {
        [
            // As evcxr itself does: one shared standard library for the cells and us.
            "-Cprefer-dynamic".to_owned(),
            format!("--extern=topicbook_lib={}", self.library().display()),
            format!("-Ldependency={}", self.folder.display()),
            format!("-Ldependency={}", self.crates.display()),
        ]
        .join("\u{1f}")
    }

    fn publish(&self, places: &Places) -> Result<()> {
        let unfinished = places
            .builds()
            .join(format!("unfinished-{}", std::process::id()));
        packages(places, &unfinished)?;
        let library = places.target.join("debug").join("libtopicbook.so");
        fs::copy(&library, unfinished.join("libtopicbook.so")).at(&library)?;
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).at(&self.folder)?;
        }
        fs::rename(&unfinished, &self.folder).at(&self.folder)
    }
}

/// Writes the facade and the outline into `folder`.
pub fn packages(places: &Places, folder: &Path) -> Result<()> {
    let facade = folder.join("facade");
    let outline = folder.join("outline");
    fs::create_dir_all(&facade).at(&facade)?;
    fs::create_dir_all(&outline).at(&outline)?;
    write(
        &facade.join("Cargo.toml"),
        "[package]\n\
         name = \"topicbook\"\n\
         version = \"0.0.0\"\n\
         edition = \"2024\"\n\
         \n\
         [lib]\n\
         path = \"lib.rs\"\n\
         \n\
         [target.'cfg(topicbook_outline)'.dependencies]\n\
         topicbook_lib = { path = \"../outline\", package = \"topicbook-outline\" }\n",
    )?;
    write(
        &facade.join("lib.rs"),
        // Only a facade that waits for the library (see `waiting`) is ever without it.
        "#![allow(unexpected_cfgs)]\n#[cfg(not(topicbook_waits))]\npub use topicbook_lib::*;\n",
    )?;
    write(
        &outline.join("Cargo.toml"),
        &format!(
            "[package]\n\
             name = \"topicbook-outline\"\n\
             version = \"0.0.0\"\n\
             edition = \"2024\"\n\
             \n\
             [lib]\n\
             path = {:?}\n",
            places.root.join("src").join("lib.rs")
        ),
    )?;
    Ok(())
}

/// Changes with everything that the library's build depends on.
fn fingerprint(places: &Places, toolchain: &Toolchain) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (&toolchain.release, &places.root, &places.target).hash(&mut hasher);
    let mut files = vec![
        places.root.join("Cargo.toml"),
        places.root.join("Cargo.lock"),
        places.root.join(".cargo").join("config.toml"),
    ];
    let mut folders = vec![places.root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).at(&folder)? {
            let entry = entry.at(&folder)?;
            if entry.file_type().at(&folder)?.is_dir() {
                folders.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    for file in files {
        (&file, fs::read(&file).at(&file)?).hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).at(path)
}
