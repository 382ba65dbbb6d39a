//! Set-up: installs what a kernel needs. Each part is installed once and stays in the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kernel_spec;
use crate::layers::rust_files;
use crate::places::Places;
use crate::task::{At, Fail, Result, command, run, step};
use crate::toolchain::Toolchain;
use crate::warm::Build;

/// Installs what is missing or out of date.
pub fn all(places: &Places) -> Result<()> {
    fs::create_dir_all(&places.cache).at(&places.cache)?;
    python(places)?;
    std_sources(places)?;
    // The builds run at the same time: each ends with large crates that leave cores idle.
    std::thread::scope(|scope| {
        let kernel = scope.spawn(|| kernel(places));
        library(places)?;
        kernel
            .join()
            .unwrap_or_else(|_| Err(Fail::new("the build of the kernel has panicked")))
    })?;
    launcher(places)?;
    kernel_spec::write(places, &places.jupyter())
}

/// Builds the library for cells, and before it the program that writes its outline.
pub fn library(places: &Places) -> Result<()> {
    outliner(places)?;
    Build::ready(places, &Toolchain::find(places)?).map(drop)
}

/// Installs only the Python environment, which the tests of file formats need.
pub fn python(places: &Places) -> Result<()> {
    environment(
        "installing Jupyter, NumPy and SciPy into the cache (half a minute)",
        &places.environment(),
        &places.root.join("xtask/python/requirements.txt"),
        // The file names every package.
        &["--no-deps"],
    )
}

/// Installs NVIDIA's run-time compiler (NVRTC), with which a test compiles the kernels; it needs neither a GPU nor a
/// driver. If its packages cannot be installed, that test is skipped.
pub fn nvrtc(places: &Places) {
    let installed = environment(
        "installing NVRTC into the cache (90 MB)",
        &places.nvrtc(),
        &places.root.join("xtask/python/nvrtc.txt"),
        &["--no-deps"],
    );
    if let Err(error) = installed {
        eprintln!(
            "topicbook: NVRTC could not be installed, so no test compiles the GPU kernels: {error}"
        );
    }
}

/// Installs a Python environment in `folder` with the packages of `requirements`; again if that file has changed or an
/// earlier installation was interrupted.
pub fn environment(what: &str, folder: &Path, requirements: &Path, options: &[&str]) -> Result<()> {
    let wanted = fs::read_to_string(requirements).at(requirements)?;
    let done = folder.join("topicbook-requirements.txt");
    if fs::read_to_string(&done).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    step(what, || {
        if folder.exists() {
            fs::remove_dir_all(folder).at(folder)?;
        }
        run(command("python3").args(["-m", "venv"]).arg(folder)).map_err(|error| {
            Fail::new(format!(
                "{error}\nPython 3 with its module venv is needed (on Debian and Ubuntu: apt install python3-venv)"
            ))
        })?;
        run(command(folder.join("bin").join("python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
            ])
            .args(options)
            .arg("--requirement")
            .arg(requirements))?;
        fs::write(&done, &wanted).at(&done)
    })
}

/// Installs the sources of the standard library: rust-analyzer, which evcxr contains, needs them to infer the type of a
/// `?` or a `collect`.
fn std_sources(places: &Places) -> Result<()> {
    if Toolchain::find(places)?.std_sources().is_some() {
        return Ok(());
    }
    step(
        "installing the sources of the standard library (rustup component rust-src)",
        || {
            run(command("rustup")
            .args(["component", "add", "rust-src"])
            .current_dir(&places.root))
        .map_err(|error| {
            Fail::new(format!(
                "{error}\nThe notebook kernel needs the sources of Rust's standard library. Install them as Rust itself \
                 was installed: with rustup, `rustup component add rust-src`"
            ))
        })
        },
    )
}

/// Builds the kernel, which has other crates than the library. Cargo finds out what has changed.
fn kernel(places: &Places) -> Result<()> {
    let folder = places.root.join("crates").join("kernel");
    let mut files = rust_files(&folder.join("src"))?;
    files.extend(["Cargo.toml", "Cargo.lock"].map(|name| folder.join(name)));
    let what = "building the kernel (evcxr with rust-analyzer: 6 to 10 minutes the first time)";
    made_from(&places.kernel_exe(), &files, what, |made| {
        run(kernel_cargo(places).args(["build", "--release", "--locked", "--quiet"]))?;
        let built = places
            .kernel_target()
            .join("release")
            .join("topicbook-evcxr");
        fs::copy(&built, made).at(&built).map(drop)
    })
}

/// A call of Cargo for the kernel's own workspace, and for what is built as it is. These programs link the standard library statically, so that they start
/// after an update of Rust, too.
pub fn kernel_cargo(places: &Places) -> Command {
    let mut cargo = command("cargo");
    cargo
        .current_dir(places.root.join("crates").join("kernel"))
        .env("CARGO_TARGET_DIR", places.kernel_target())
        .env("RUSTFLAGS", "");
    cargo
}

/// Installs evcxr's own kernel, with which the benchmarks compare ours.
pub fn evcxr_jupyter(places: &Places) -> Result<PathBuf> {
    let folder = places.cache.join("evcxr");
    let program = folder.join("bin").join("evcxr_jupyter");
    if !program.is_file() {
        step(
            "building evcxr_jupyter (6 to 10 minutes on 2 cores)",
            || {
                run(command("cargo")
                    .args(["install", "evcxr_jupyter", "--version", "0.22.0"])
                    // It does not compile with newer versions of its dependencies than its lock file names.
                    .args(["--locked", "--force", "--root"])
                    .arg(&folder)
                    .env("CARGO_TARGET_DIR", places.kernel_target())
                    .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2"))
            },
        )?;
    }
    Ok(program)
}

/// Builds the launcher. As the kernel it links the standard library statically, so that it starts after an update of Rust, too.
fn launcher(places: &Places) -> Result<()> {
    let folder = places.root.join("crates").join("topicbook-launcher");
    let mut files = rust_files(&folder.join("src"))?;
    // With what it compiles in.
    let parts = [
        "Cargo.toml",
        "python/crates.py",
        "lab/package.json",
        "lab/remoteEntry.js",
    ];
    files.extend(parts.map(|name| folder.join(name)));
    let program = places.launcher();
    made_from(&program, &files, "building the kernel's launcher", |made| {
        run(kernel_cargo(places)
            .args(["build", "--release", "--quiet"])
            .args(["--package", "topicbook-launcher"])
            .current_dir(&places.root))?;
        let built = places.kernel_target().join("release").join("topicbook");
        fs::copy(&built, made).at(&built).map(drop)
    })
}

/// Compiles the program that writes outlines, and copies the standard library that it was linked to next to it: the
/// launcher starts it even after the toolchain has changed.
fn outliner(places: &Places) -> Result<()> {
    let mut files = rust_files(&places.root.join("xtask/src/outline"))?;
    files.push(places.root.join("xtask").join("Cargo.toml"));
    files.sort();
    let program = places.outliner();
    made_from(&program, &files, "building the outliner", |made| {
        run(command("cargo")
            .args(["build", "--quiet", "--package", "xtask"])
            .args(["--bin", "topicbook-outline"])
            .current_dir(&places.root)
            .env("CARGO_TARGET_DIR", &places.target))?;
        let toolchain = Toolchain::find(places)?;
        let std = toolchain.libraries.join(&toolchain.release);
        fs::copy(&std, program.with_file_name(&toolchain.release)).at(&std)?;
        let built = places.target.join("debug").join("topicbook-outline");
        fs::copy(&built, made).at(&built).map(drop)
    })
}

/// Makes `program` by `make`, unless it was made from the same `files`.
fn made_from(
    program: &Path,
    files: &[PathBuf],
    what: &str,
    make: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let mut wanted = String::new();
    for file in files {
        wanted.push_str(&fs::read_to_string(file).at(file)?);
    }
    let done = program.with_extension("made-from");
    if program.is_file() && fs::read_to_string(&done).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    step(what, || {
        replaced(program, make)?;
        fs::write(&done, &wanted).at(&done)
    })
}

/// Makes `program` by `make` in another file, and puts that in its place: processes that run keep the file that they were started
/// from.
pub fn replaced(program: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if let Some(folder) = program.parent() {
        fs::create_dir_all(folder).at(folder)?;
    }
    let unfinished = program.with_extension("unfinished");
    make(&unfinished)?;
    fs::rename(&unfinished, program).at(program)
}
