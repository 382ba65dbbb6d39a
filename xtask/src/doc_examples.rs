//! Runs the examples in the documentation of the crates below the library with the library itself, which they name. Cargo alone
//! cannot, because the library depends on these crates; so rustdoc gets the files of Cargo's build.

use std::process::Command;

use serde_json::Value;

use crate::built::Built;
use crate::places::Places;
use crate::task::{Fail, Result, command, output};
use crate::warm;

/// A call of rustdoc for each crate below the library.
pub fn commands(places: &Places) -> Result<Vec<Command>> {
    let built = Built::of(&warm::build_dylib(places)?);
    let metadata = output(
        command("cargo")
            .args(["metadata", "--format-version", "1"])
            .current_dir(&places.root),
    )?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| Fail::new(format!("cargo metadata: {error}")))?;
    let names = places.crates_below()?;
    names
        .iter()
        .map(|name| rustdoc(places, name, &built, &metadata))
        .collect()
}

fn rustdoc(places: &Places, name: &str, built: &Built, metadata: &Value) -> Result<Command> {
    let mut packages = array(&metadata["packages"]).iter();
    let package = packages
        .find(|package| package["name"] == name)
        .ok_or_else(|| Fail::new(format!("cargo metadata names no package {name}")))?;
    let mut nodes = array(&metadata["resolve"]["nodes"]).iter();
    let node = nodes
        .find(|node| node["id"] == package["id"])
        .unwrap_or(&Value::Null);
    let folder = places.root.join("crates").join(name);
    let mut rustdoc = command("rustdoc");
    rustdoc
        .args(["--test", "--edition", "2024", "--crate-type", "lib"])
        .args(["--crate-name", &name.replace('-', "_")])
        .arg(folder.join("src/lib.rs"))
        .args(["-C", "prefer-dynamic", "-L"])
        .arg(places.target.join("debug/deps"))
        .env("CARGO_PKG_VERSION", env!("CARGO_PKG_VERSION"))
        .env("CARGO_MANIFEST_DIR", &folder)
        .current_dir(&places.root);
    for path in &built.native {
        rustdoc.args(["-L", path]);
    }
    for feature in array(&node["features"]).iter().filter_map(Value::as_str) {
        rustdoc.args(["--cfg", &format!("feature={feature:?}")]);
    }
    for dependency in array(&node["deps"]) {
        let called = dependency["name"].as_str().unwrap_or_default();
        let id = dependency["pkg"].as_str().unwrap_or_default();
        if let Some(file) = built.of_package(id) {
            rustdoc.args(["--extern", &format!("{called}={file}")]);
        }
    }
    for library in ["topicbook", "tempfile"] {
        rustdoc.args(["--extern", &built.named(library)?]);
    }
    Ok(rustdoc)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
