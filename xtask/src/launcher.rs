//! The program that Jupyter starts as the kernel. It uses only the standard library, linked statically, so that it
//! starts even after the toolchain has changed.

// Only `cargo xtask` uses some of the functions of these modules.
#[allow(dead_code)]
mod places;
mod session;
#[allow(dead_code)]
mod task;
mod toolchain;
mod warm;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let result = match arguments.as_slice() {
        [reap, folder] if reap == session::REAP => session::reap(Path::new(folder)),
        [build] if build == session::BUILD => places().and_then(|places| session::build(&places)),
        [connection_file] => {
            places().and_then(|places| session::start(&places, Path::new(connection_file)))
        }
        _ => Err(task::Fail::new(
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

/// The three folders, from the variables that the kernel spec sets.
fn places() -> task::Result<places::Places> {
    let folder = |name: &str| {
        env::var_os(name).map(PathBuf::from).ok_or_else(|| {
            task::Fail::new(format!(
                "{name} is not set; use the kernel spec that `cargo xtask setup` writes"
            ))
        })
    };
    Ok(places::Places {
        root: folder("TOPICBOOK_ROOT")?,
        cache: folder("TOPICBOOK_CACHE")?,
        target: folder("CARGO_TARGET_DIR")?,
    })
}
