//! Runs the programs of `examples/`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::linker;
use crate::places::Places;
use crate::task::{At, Result, command, run};
use crate::toolchain::Toolchain;
use crate::warm::{Build, LIBRARY};

/// Runs an example with `arguments` until it ends: in a checkout by Cargo; from a wheel, by rustc and the library of the
/// cells, in some seconds.
pub fn run_example(places: &Places, name: &str, arguments: &[&Path]) -> Result<()> {
    let mut program = match places.is_wheel {
        true => compiled(places, name)?,
        false => {
            let mut cargo = command("cargo");
            cargo
                .args(["run", "--quiet", "--example", name, "--"])
                .current_dir(&places.root)
                .env("CARGO_TARGET_DIR", &places.target);
            cargo
        }
    };
    run(program.args(arguments))
}

/// Runs an example that uses the library alone, without Cargo: the library of the cells must be there.
pub fn run_compiled(places: &Places, name: &str) -> Result<()> {
    run(&mut compiled(places, name)?)
}

/// The program of an example, which rustc compiles unless it has been.
fn compiled(places: &Places, name: &str) -> Result<Command> {
    let toolchain = Toolchain::find(places)?;
    let build = Build::present(places, &toolchain)?;
    let folder = build.folder().join("examples");
    let program = folder.join(name);
    if !program.is_file() {
        fs::create_dir_all(&folder).at(&folder)?;
        let library = build.folder().join(LIBRARY);
        let mut rustc = command(toolchain.sysroot.join("bin").join("rustc"));
        rustc
            .args(["--edition", "2024", "-Cprefer-dynamic", "-o"])
            .arg(&program)
            .arg(places.root.join("examples").join(format!("{name}.rs")))
            .arg(format!("--extern=topicbook={}", library.display()))
            .arg(format!("-Ldependency={}", build.folder().display()))
            .arg(format!("-Ldependency={}", build.crates().display()));
        if let Some(linker) = linker::instead_of_cc(places, &toolchain)? {
            rustc.arg(format!("-Clinker={}", linker.display()));
        }
        // What it uses beside the library is in a wheel, too.
        let externs = build.folder().join("externs");
        for line in fs::read_to_string(&externs).unwrap_or_default().lines() {
            if let Some((name, file)) = line.split_once('=') {
                let file = build.folder().join(file);
                rustc.arg(format!("--extern={name}={}", file.display()));
            }
        }
        run(&mut rustc)?;
    }
    let mut command = command(&program);
    command.env("LD_LIBRARY_PATH", build.libraries(&toolchain)?);
    Ok(command)
}
