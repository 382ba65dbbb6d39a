//! The program that Jupyter starts as the kernel. It uses only the standard library, linked statically, so that it
//! starts even after the toolchain has changed.

mod crates;
// Only `cargo xtask` uses some of the functions of these modules.
#[allow(dead_code)]
mod places;
mod session;
#[allow(dead_code)]
mod task;
mod toolchain;
mod warm;

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use task::Fail;

fn main() -> ExitCode {
    rust_first();
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let result = match arguments.as_slice() {
        [reap, folder] if reap == session::REAP => session::reap(Path::new(folder)),
        [build, notebooks] if build == session::BUILD => {
            places().and_then(|places| crates::build(&places, Path::new(notebooks)))
        }
        [connection_file] => {
            let connection_file = Path::new(connection_file);
            places()
                .and_then(|places| session::start(&places, connection_file))
                .map_err(|error| excuse(error, connection_file))
        }
        _ => Err(Fail::new(
            "usage: topicbook-kernel <connection file>; Jupyter starts this program",
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("topicbook: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Puts the folder of the Rust that `cargo xtask` used in front of PATH. A Jupyter that a desktop starts does not have it
/// there, or has an older Rust of the system.
fn rust_first() {
    let Some(folder) = env::var_os("TOPICBOOK_RUST").map(PathBuf::from) else {
        return;
    };
    let rest = env::var_os("PATH").unwrap_or_default();
    if let Ok(path) = env::join_paths([folder].into_iter().chain(env::split_paths(&rest))) {
        // SAFETY: this is the first statement of the program, so no other thread reads the environment.
        unsafe { env::set_var("PATH", path) };
    }
}

/// The three folders, from the variables that the kernel spec sets.
fn places() -> task::Result<places::Places> {
    let folder = |name: &str| {
        env::var_os(name).map(PathBuf::from).ok_or_else(|| {
            Fail::new(format!(
                "{name} is not set; use the kernel spec that `cargo xtask kernel install` writes"
            ))
        })
    };
    let places = places::Places {
        root: folder("TOPICBOOK_ROOT")?,
        cache: folder("TOPICBOOK_CACHE")?,
        target: folder("CARGO_TARGET_DIR")?,
    };
    if !places.root.join("Cargo.toml").is_file() {
        return Err(Fail::new(format!(
            "the repository of this kernel is no longer in {}: it was moved or deleted.\nto do: run `cargo xtask kernel \
             install` in the folder where it is now, then restart the kernel",
            places.root.display()
        )));
    }
    Ok(places)
}

/// Replaces this process by a kernel that answers every cell with the error, because Jupyter shows the output of a kernel
/// that ends only in the server's log. Returns if there is no such kernel.
fn excuse(error: Fail, connection_file: &Path) -> Fail {
    eprintln!("topicbook: {error}");
    let Some(cache) = env::var_os("TOPICBOOK_CACHE") else {
        return error;
    };
    let cause = task::command(places::kernel_exe(Path::new(&cache)))
        .arg("--say")
        .arg(format!("The kernel cannot start: {error}"))
        .arg(connection_file)
        .exec();
    Fail::new(format!(
        "no kernel can be started that says so in the notebook: {cause}"
    ))
}
