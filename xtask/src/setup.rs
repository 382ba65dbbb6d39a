//! Set-up: installs what a kernel needs. Each part is installed once and stays in the cache.

use std::fs;
use std::path::Path;

use crate::kernel_spec;
use crate::places::Places;
use crate::task::{At, Fail, Result, command, output, run, step};
use crate::toolchain::Toolchain;
use crate::warm::Build;

/// The version of evcxr with which the kernel has been tested.
const EVCXR: &str = "0.22.0";

/// Installs what is missing or out of date.
pub fn all(places: &Places) -> Result<()> {
    fs::create_dir_all(&places.cache).at(&places.cache)?;
    python(places)?;
    std_sources(places)?;
    evcxr(places)?;
    Build::ready(places, &Toolchain::find(places)?)?;
    launcher(places)?;
    kernel_spec::write(places, &places.jupyter())
}

/// Installs only the Python environment, which the tests of file formats need.
pub fn python(places: &Places) -> Result<()> {
    environment(
        "installing Jupyter, NumPy and SciPy into the cache (half a minute)",
        &places.python(),
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

fn evcxr(places: &Places) -> Result<()> {
    let done = places.evcxr().join("topicbook-version.txt");
    if places.evcxr_exe().is_file() && fs::read_to_string(&done).is_ok_and(|made| made == EVCXR) {
        return Ok(());
    }
    step(
        "building evcxr_jupyter (6 to 10 minutes on 2 cores)",
        || {
            let scratch = places.cache.join("evcxr-build");
            run(command("cargo")
                // It does not compile with newer versions of its dependencies than those of its lock file.
                .args([
                    "install",
                    "evcxr_jupyter",
                    "--version",
                    EVCXR,
                    "--locked",
                    "--force",
                    "--root",
                ])
                .arg(places.evcxr())
                .env("CARGO_TARGET_DIR", &scratch)
                // Takes a third of the time of the release profile; cells wait for rustc and not for evcxr.
                .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2"))?;
            fs::remove_dir_all(&scratch).at(&scratch)?;
            fs::write(&done, EVCXR).at(&done)
        },
    )
}

/// Compiles the launcher with rustc and without Cargo: with this repository's flags for Cargo it would need the shared
/// standard library of one toolchain, and could not start after an update of Rust.
fn launcher(places: &Places) -> Result<()> {
    let sources = places.root.join("xtask").join("src");
    let mut wanted = String::new();
    for file in [
        "../python/crates.py",
        "../python/excuse.py",
        "crates.rs",
        "launcher.rs",
        "places.rs",
        "session.rs",
        "task.rs",
        "toolchain.rs",
        "waiting/build.rs",
        "waiting/prelude.rs",
        "warm.rs",
    ] {
        let file = sources.join(file);
        wanted.push_str(&fs::read_to_string(&file).at(&file)?);
    }
    let done = places.launcher().with_extension("made-from");
    if places.launcher().is_file() && fs::read_to_string(&done).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    step("building the kernel's launcher", || {
        let folder = places.cache.join("bin");
        fs::create_dir_all(&folder).at(&folder)?;
        let unfinished = folder.join("unfinished");
        run(command("rustc")
            .args(["--edition", "2024", "-O", "-o"])
            .arg(&unfinished)
            .arg(sources.join("launcher.rs"))
            .current_dir(&places.root))?;
        fs::rename(&unfinished, places.launcher()).at(&places.launcher())?;
        fs::write(&done, &wanted).at(&done)
    })
}

/// A command that runs a program of the Python environment, with all of Jupyter's folders in the cache.
pub fn jupyter(places: &Places, program: &str) -> std::process::Command {
    let mut command = command(places.python().join("bin").join(program));
    command
        .env("JUPYTER_PATH", places.jupyter())
        .env("JUPYTER_DATA_DIR", places.jupyter())
        .env("JUPYTER_CONFIG_DIR", places.cache.join("jupyter-config"))
        .env("JUPYTER_RUNTIME_DIR", places.cache.join("jupyter-runtime"))
        .env("IPYTHONDIR", places.cache.join("ipython"));
    command
}

/// The folder of Rust's documentation, if it is installed.
pub fn rust_docs(places: &Places) -> Result<Option<std::path::PathBuf>> {
    let sysroot = output(
        command("rustc")
            .args(["--print", "sysroot"])
            .current_dir(&places.root),
    )?;
    let docs = Path::new(&sysroot).join("share/doc/rust/html");
    Ok(docs.is_dir().then_some(docs))
}
