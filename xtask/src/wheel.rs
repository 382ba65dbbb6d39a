//! Python wheels of the published build, with which a kernel starts on a machine that compiles nothing but cells.
//! `xtask/python/wheel.py` writes them and says what is in them.

use std::path::PathBuf;

use crate::places::Places;
use crate::setup;
use crate::task::{Result, command, run, step};
use crate::toolchain::Toolchain;
use crate::warm::Build;

/// Builds the library and the kernel, and writes the wheels into `build/wheel`. A lower level of xz is quicker to write: the
/// tests take 0.
pub fn make(places: &Places, level: &str) -> Result<PathBuf> {
    setup::all(places)?;
    let build = Build::ready(places, &Toolchain::find(places)?)?;
    let out = places.build().join("wheel");
    step("writing the wheels (five minutes)", || {
        run(command(&places.python)
            .arg(places.scripts().join("wheel.py"))
            .args([&places.root, build.folder(), build.crates()])
            .args([&places.kernel_exe(), &places.launcher(), &out])
            .arg(level)
            .current_dir(&places.root))
    })?;
    Ok(out)
}
