//! Writes what rust-analyzer reads in place of the library and of Polars: their public items without bodies.
//!
//! rust-analyzer infers the types of a notebook's variables. It would take half a minute to read the 300 crates of the
//! library, so it gets an outline of the crates that a notebook names. It has the same modules, paths, signatures and
//! documentation. It has no bodies, no private fields or methods, and no dependency that a signature does not need.
//!
//! A program of its own, because the launcher publishes builds too and has only the standard library.

mod cfg;
mod clean;
mod load;
mod macros;
mod packages;
mod reach;
mod strip;
mod write;

use std::env;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [root, folder] = arguments.as_slice() else {
        eprintln!("usage: topicbook-outline <repository> <folder>");
        return ExitCode::FAILURE;
    };
    match outline(Path::new(root), Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("topicbook-outline: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes one package for each outlined crate into `folder`.
fn outline(root: &Path, folder: &Path) -> Result<(), String> {
    let packages = packages::find(root)?;
    let target = cfg::target(root)?;
    let mut crates = Vec::new();
    for package in packages {
        let cfg = cfg::Cfg::new(&target, &package.features);
        let items = strip::items(load::file(&package.source, &cfg)?, package.kept);
        crates.push((package, items));
    }
    reach::keep(&mut crates);
    write::crates(&crates, folder)
}
