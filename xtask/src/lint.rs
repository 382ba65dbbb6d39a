//! Clippy and the documentation, with warnings as errors.
//!
//! Both need the metadata of all dependencies; `.cargo/rustc-wrapper` takes it from the ordinary build.

use crate::places::Places;
use crate::setup;
use crate::task::{Result, command, run};

/// Clippy over every target of every crate of ours.
pub fn clippy(places: &Places) -> Result<()> {
    clippy_of(places, &["--workspace", "--all-targets"])
}

/// Clippy over every library and program, and over the tests of some crates: half the time.
pub fn changed(places: &Places, crates: &[String]) -> Result<()> {
    clippy_of(places, &["--workspace"])?;
    if crates.is_empty() {
        return Ok(());
    }
    // With this package the crates below have the features that they have in the workspace.
    let mut some = vec!["--all-targets", "--package", "topicbook-dylib"];
    some.extend(crates.iter().flat_map(|name| ["--package", name.as_str()]));
    clippy_of(places, &some)
}

fn clippy_of(places: &Places, targets: &[&str]) -> Result<()> {
    run(command("cargo")
        .args(["clippy", "--quiet"])
        .args(targets)
        .args(["--", "--deny", "warnings"])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target))
}

/// Format, Clippy and unit tests of the kernel, which is a workspace of its own.
pub fn kernel(places: &Places) -> Result<()> {
    run(setup::kernel_cargo(places).args(["fmt", "--check"]))?;
    run(setup::kernel_cargo(places)
        .args([
            "clippy",
            "--release",
            "--locked",
            "--all-targets",
            "--quiet",
        ])
        .args(["--", "--deny", "warnings"]))?;
    run(setup::kernel_cargo(places).args(["test", "--release", "--locked", "--quiet"]))
}

/// The pages of the library and of the crates below it.
pub fn documentation(places: &Places) -> Result<()> {
    let mut cargo = command("cargo");
    cargo.args(["doc", "--workspace", "--lib", "--no-deps", "--quiet"]);
    for name in ["fake-cuda", "fuzz", "testkit", "topicbook-dylib", "xtask"] {
        cargo.args(["--exclude", name]);
    }
    run(cargo
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target)
        .env("RUSTDOCFLAGS", "-Dwarnings"))
}
