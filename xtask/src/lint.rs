//! Clippy and the documentation, with warnings as errors.
//!
//! Both want the metadata of all dependencies; `.cargo/rustc-wrapper` gives them that of the ordinary build.

use crate::places::Places;
use crate::task::{Result, command, run};

/// Clippy over every target of every crate of ours.
pub fn clippy(places: &Places) -> Result<()> {
    run(command("cargo")
        .args(["clippy", "--workspace", "--all-targets", "--quiet"])
        .args(["--", "--deny", "warnings"])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target))
}

/// The pages of the library, as its users see them.
pub fn documentation(places: &Places) -> Result<()> {
    run(command("cargo")
        .args(["doc", "--package", "topicbook", "--no-deps", "--quiet"])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target)
        .env("RUSTDOCFLAGS", "-Dwarnings"))
}
