//! Python wheels of the published build, with which a kernel starts on a machine that compiles nothing but cells.
//! `xtask/python/wheel.py` writes them and says what is in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::jupyter;
use crate::places::Places;
use crate::setup;
use crate::task::{Result, command, run, step};
use crate::toolchain::Toolchain;
use crate::warm::Build;

/// Builds the library and the kernel, and writes the wheels into `build/wheel`.
pub fn make(places: &Places, level: &str) -> Result<PathBuf> {
    setup::all(places)?;
    write(places, level)
}

/// Writes the wheels. A lower level of xz is quicker: the tests take 0.
fn write(places: &Places, level: &str) -> Result<PathBuf> {
    let build = Build::ready(places, &Toolchain::find(places)?)?;
    let out = places.build.join("wheel");
    step("writing the wheels (seven minutes)", || {
        run(command(&places.python)
            .arg(places.scripts().join("wheel.py"))
            .args([&places.root, build.folder(), build.crates()])
            .args([&places.kernel_exe(), &places.launcher(), &out])
            .arg(level)
            .current_dir(&places.root))
    })?;
    Ok(out)
}

/// Packs the wheels with those of JupyterLab and with Rust, for machines without a network.
pub fn bundle(places: &Places, level: &str) -> Result<PathBuf> {
    pack(places, &make(places, level)?, level)
}

fn pack(places: &Places, wheels: &Path, level: &str) -> Result<PathBuf> {
    let out = places.build.join("topicbook-bundle.tar");
    step("packing the bundle (five minutes)", || {
        run(command(&places.python)
            .arg(places.scripts().join("bundle.py"))
            .args([&places.root, wheels, &out])
            .arg(level)
            .current_dir(&places.root))
    })?;
    Ok(out)
}

/// A command that installs wheels of what is set up as a person does, and uses them; with a bundle, in a bare Debian, too.
pub fn tests(places: &Places, with_bundle: bool) -> Result<Command> {
    let wheels = write(places, "0")?;
    let mut python = jupyter::python(places);
    python
        .arg(places.scripts().join("wheel_tests.py"))
        .arg(&wheels)
        .env("CARGO_TARGET_DIR", &places.target);
    if with_bundle {
        python.arg(pack(places, &wheels, "0")?);
    }
    Ok(python)
}
