//! The one build of the library that every kernel links to.
//!
//! A cell must compile in a fraction of a second, although the library depends on 300 crates. So the library is built
//! once, as a shared library, and every build is published in a folder of its own:
//!
//! - `libtopicbook_dylib.so`, a copy, because the linker may overwrite Cargo's file while a kernel has it mapped, and
//!   copies of the metadata of our crates in it, because the next build may replace Cargo's files;
//! - `facade`, the package that cells depend on. In builds it has no dependency: rustc gets the library by
//!   `--extern topicbook_lib=...`, so that Cargo checks two packages for each cell instead of 300;
//! - `outline`, packages with the signatures of the library and of Polars, without bodies and without what is private
//!   (see `outline/main.rs`). evcxr infers the types of variables with rust-analyzer, which asks Cargo for the packages
//!   with `--cfg topicbook_outline` in its environment: only then does the facade depend on the outline. So
//!   rust-analyzer does not read the 300 crates of the library, which would take half a minute.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::places::Places;
use crate::task::{At, Fail, Result, command, output_by_line, run, step};
use crate::toolchain::Toolchain;

/// The file name that Cargo gives the shared library that cells link to.
pub const LIBRARY: &str = "libtopicbook_dylib.so";

/// The file of a published build that lists the crates from which the library was built.
const STACK: &str = "stack.txt";

/// A published build.
pub struct Build {
    folder: PathBuf,
    crates: PathBuf,
}

impl Build {
    /// The build of the current sources by the current toolchain, which may not exist yet.
    pub fn present(places: &Places, toolchain: &Toolchain) -> Result<Self> {
        if places.is_wheel {
            return Ok(Self {
                folder: places.wheel_build(),
                crates: places.wheel_build(),
            });
        }
        Ok(Self {
            folder: places.builds().join(fingerprint(places, toolchain)?),
            crates: places.target.join("debug").join("deps"),
        })
    }

    /// Whether the build exists, so that cells can link to it.
    pub fn is_ready(&self) -> bool {
        self.library().is_file() && self.crates.is_dir()
    }

    /// The build of the current sources by the current toolchain; builds it if it does not exist.
    pub fn ready(places: &Places, toolchain: &Toolchain) -> Result<Self> {
        // Repeats if a source was saved meanwhile, because a build must match the fingerprint in its name.
        for _ in 0..3 {
            let build = Self::present(places, toolchain)?;
            if build.is_ready() {
                return Ok(build);
            }
            if places.is_wheel {
                return Err(Fail::new(format!(
                    "{} is gone\nto do: delete {}, then restart the kernel",
                    build.library().display(),
                    places.cache.display()
                )));
            }
            let messages = step(
                "building the library (300 crates: 20 minutes on 2 cores the first time)",
                || build_dylib(places),
            )?;
            if Self::present(places, toolchain)?.folder == build.folder {
                // Another process may have published the same build meanwhile.
                if !build.is_ready() {
                    build.publish(places, &messages)?;
                }
                return Ok(build);
            }
        }
        Err(Fail::new(
            "the sources changed during each of three builds; start again when they are saved",
        ))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the crates below ours.
    pub fn crates(&self) -> &Path {
        &self.crates
    }

    pub fn facade(&self) -> PathBuf {
        self.folder.join("facade")
    }

    fn library(&self) -> PathBuf {
        self.folder.join(LIBRARY)
    }

    /// The flags of a cell's compiler, in the format of `CARGO_ENCODED_RUSTFLAGS`, which allows spaces in paths.
    pub fn encoded_rustflags(&self, more: Option<String>) -> String {
        let ours = [
            // As evcxr itself does, so that cells and library share one standard library.
            "-Cprefer-dynamic".to_owned(),
            format!("--extern=topicbook_lib={}", self.library().display()),
            format!("-Ldependency={}", self.folder.display()),
            format!("-Ldependency={}", self.crates.display()),
        ];
        let all: Vec<String> = ours.into_iter().chain(more).collect();
        all.join("\u{1f}")
    }

    /// The value of `LD_LIBRARY_PATH` for a process that links to the library: its folder and that of Rust's own libraries.
    /// rustc writes a path into a cell that is relative to the folder in which it compiles the cell, and evcxr moves the cell
    /// elsewhere. The user's folders, which may contain CUDA's compiler, come after them.
    pub fn libraries(&self, toolchain: &Toolchain) -> Result<OsString> {
        let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let ours = [self.folder(), toolchain.libraries.as_path()];
        let all = ours
            .into_iter()
            .map(Path::to_path_buf)
            .chain(env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty()));
        env::join_paths(all).map_err(|error| Fail::new(error.to_string()))
    }

    fn publish(&self, places: &Places, messages: &str) -> Result<()> {
        let unfinished = places
            .builds()
            .join(format!("unfinished-{}", std::process::id()));
        facade(&unfinished)?;
        outline(places, &unfinished)?;
        let library = places.target.join("debug").join(LIBRARY);
        fs::copy(&library, unfinished.join(LIBRARY)).at(&library)?;
        for metadata in metadata(messages)? {
            let name = metadata.file_name().unwrap_or_default();
            fs::copy(metadata, unfinished.join(name)).at(metadata)?;
        }
        write(&unfinished.join(STACK), &stack(messages))?;
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).at(&self.folder)?;
        }
        fs::rename(&unfinished, &self.folder).at(&self.folder)
    }
}

/// What Cargo has compiled for all kernels of a build lies in its folder `compiled-N`, with N units: the facade, for cells and for
/// their checks.
const COMPILED: &str = "compiled-";
/// What Cargo knows of rustc.
const RUSTC_INFO: &str = ".rustc_info.json";

/// Copies what Cargo has compiled into the target folder of a new kernel's cells, if an earlier kernel has left it.
pub fn restore(build: &Path, cells: &Path) -> Result<()> {
    match kept(build) {
        0 => Ok(()),
        units => copy(
            &build.join(format!("{COMPILED}{units}")),
            &cells.join("target"),
        ),
    }
}

/// Keeps what Cargo has compiled in the target folder of a kernel's cells for the kernels after it, if it is more than is kept.
pub fn keep(build: &Path, cells: &Path) -> Result<()> {
    let target = cells.join("target");
    let mut files = compiled(&target)?;
    let units = files.iter().filter(|file| file.is_dir()).count();
    if units <= kept(build) {
        return Ok(());
    }
    files.push(target.join(RUSTC_INFO));
    let unfinished = build.join(format!("unfinished-{}", std::process::id()));
    let place = |file: &Path| unfinished.join(file.strip_prefix(&target).unwrap_or(file));
    let copied = files.iter().try_for_each(|file| copy(file, &place(file)));
    let kept = build.join(format!("{COMPILED}{units}"));
    let renamed = copied.and_then(|()| fs::rename(&unfinished, &kept).at(&kept));
    if renamed.is_err() {
        let _ = fs::remove_dir_all(&unfinished);
    }
    renamed
}

/// The largest number of units that are kept.
fn kept(build: &Path) -> usize {
    let names = fs::read_dir(build).into_iter().flatten().flatten();
    let units = names.filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix(COMPILED)?.parse().ok()
    });
    units.max().unwrap_or(0)
}

/// What Cargo has compiled for all kernels: a folder for each unit, and its files.
fn compiled(target: &Path) -> Result<Vec<PathBuf>> {
    let platforms = entries(target)?.into_iter();
    let parts = platforms
        .flat_map(|platform| ["debug/.fingerprint", "debug/deps"].map(|part| platform.join(part)));
    let files = parts.flat_map(|part| entries(&part).unwrap_or_default());
    let is_ours = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.trim_start_matches("lib").starts_with("topicbook-")
    };
    Ok(files.filter(is_ours).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).at(folder)?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect())
}

/// Copies a file or a folder with the times of change, by which Cargo knows what is fresh.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to).at(to)?;
        for entry in entries(from)? {
            copy(&entry, &to.join(entry.file_name().unwrap_or_default()))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).at(folder)?;
    }
    fs::copy(from, to).at(from)?;
    let changed = fs::metadata(from)
        .and_then(|data| data.modified())
        .at(from)?;
    let file = fs::File::options().write(true).open(to).at(to)?;
    file.set_modified(changed).at(to)
}

/// Builds the shared library and returns Cargo's messages. Says once a minute how long it will take.
pub fn build_dylib(places: &Places) -> Result<String> {
    let start = Instant::now();
    let (mut built, mut found, mut said) = (0, 0, 0);
    output_by_line(
        command("cargo")
            .args(["build", "--package", "topicbook-dylib"])
            .args(["--message-format", "json-render-diagnostics"])
            .current_dir(&places.root)
            .env("CARGO_TARGET_DIR", &places.target),
        |message| {
            let is_crate = message.contains("\"compiler-artifact\"");
            found += usize::from(is_crate && message.contains("\"fresh\":true"));
            built += usize::from(is_crate && message.contains("\"fresh\":false"));
            let minutes = start.elapsed().as_secs() / 60;
            if minutes > said && found < CRATES / 2 {
                said = minutes;
                let left = minutes_left(start.elapsed(), built);
                eprintln!(
                    "topicbook: {minutes} min of building the library, about {left} min left"
                );
            }
        },
    )
}

/// Crates of a build from nothing, with procedural macros and build scripts.
const CRATES: usize = 480;

/// The share of the time that has passed after each tenth of the crates, measured on 2 cores while the kernel was built, too.
const PASSED: [f64; 11] = [
    0.0, 0.06, 0.09, 0.12, 0.14, 0.2, 0.24, 0.37, 0.65, 0.73, 1.0,
];

/// Minutes that a build takes which has built this number of crates.
fn minutes_left(passed: Duration, built: usize) -> u64 {
    let tenths = (built * 10) as f64 / CRATES as f64;
    let at = (tenths as usize).min(PASSED.len() - 2);
    let share = PASSED[at] + (PASSED[at + 1] - PASSED[at]) * (tenths - at as f64).min(1.0);
    let whole = passed.as_secs_f64() / share.max(0.01);
    ((whole - passed.as_secs_f64()).max(0.0) / 60.0).ceil() as u64
}

/// The paths of the metadata of our crates, from Cargo's messages. Cells need the metadata, and the names of the files
/// have hashes that only Cargo can tell.
fn metadata(messages: &str) -> Result<Vec<&Path>> {
    let paths: Vec<&str> = messages
        .split('"')
        .filter(|path| path.contains("/libtopicbook") && path.ends_with(".rmeta"))
        .collect();
    match paths.iter().any(|path| path.contains("/libtopicbook-")) {
        true => Ok(paths.into_iter().map(Path::new).collect()),
        false => Err(Fail::new(
            "the messages of cargo do not contain the path of the library's metadata",
        )),
    }
}

/// The crates that the build has compiled or found compiled, from Cargo's messages: a line `name version file` for each.
fn stack(messages: &str) -> String {
    let crates: BTreeSet<String> = messages
        .lines()
        .filter_map(|message| {
            let mut texts = message.split('"');
            let package = texts.find(|text| text.starts_with("registry+"))?;
            let (name, version) = package.rsplit_once('#')?.1.split_once('@')?;
            let file = texts.find(|text| text.ends_with(".rlib"))?;
            Some(format!("{name} {version} {file}\n"))
        })
        .collect();
    crates.into_iter().collect()
}

/// Writes the package `facade` into `folder`.
fn facade(folder: &Path) -> Result<()> {
    let facade = folder.join("facade");
    fs::create_dir_all(&facade).at(&facade)?;
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
         topicbook_lib = { path = \"../outline/topicbook\", package = \"topicbook-outline\" }\n",
    )?;
    write(&facade.join("lib.rs"), "pub use topicbook_lib::*;\n")?;
    Ok(())
}

/// Writes the packages of the outline into `folder`.
fn outline(places: &Places, folder: &Path) -> Result<()> {
    let program = places.outliner();
    run(command(&program)
        .arg(&places.root)
        .arg(folder.join("outline"))
        // The standard library that it was linked to is next to it.
        .env("LD_LIBRARY_PATH", program.parent().unwrap_or(&places.cache)))
    .map_err(|error| {
        Fail::new(format!(
            "{error}\nThe library's outline cannot be written: run `cargo xtask setup`"
        ))
    })
}

/// A hash of everything that the library's build and its outline depend on.
fn fingerprint(places: &Places, toolchain: &Toolchain) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (&toolchain.release, &places.root, &places.target).hash(&mut hasher);
    let mut files = vec![
        places.root.join("Cargo.toml"),
        places.root.join("Cargo.lock"),
        places.root.join(".cargo").join("config.toml"),
        places.outliner(),
    ];
    let crates = places.root.join("crates");
    let mut folders = vec![places.root.join("src"), crates.join("topicbook-dylib")];
    for name in places.crates_below()? {
        files.push(crates.join(&name).join("Cargo.toml"));
        folders.push(crates.join(&name).join("src"));
    }
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

#[cfg(test)]
mod tests {
    use super::stack;

    #[test]
    fn crates_of_a_build_are_listed_with_their_files() {
        let message = |crate_: &str, file: &str| {
            format!(
                "{{\"package_id\":\"{crate_}\",\"filenames\":[\"/t/{file}\",\"/t/x.rmeta\"]}}\n"
            )
        };
        let messages = message("registry+https://a/b#rand@0.9.5", "librand-2.rlib")
            + &message("registry+https://a/b#either@1.0.0", "libeither-1.rlib")
            + &message(
                "registry+https://a/b#serde_derive@1.0.0",
                "libserde_derive-1.so",
            )
            + &message("path+file:///home/topicbook#0.1.0", "libtopicbook-1.rlib");
        assert_eq!(
            stack(&messages),
            "either 1.0.0 /t/libeither-1.rlib\nrand 0.9.5 /t/librand-2.rlib\n"
        );
    }
}
