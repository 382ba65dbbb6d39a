//! Runs the examples in the documentation of the crates below the library with the library itself, which they name. Cargo alone
//! cannot, because the library depends on these crates; so rustdoc gets the files of Cargo's build.

use std::collections::HashMap;
use std::process::Command;

use serde_json::Value;

use crate::places::Places;
use crate::task::{Fail, Result, command, output};

/// What Cargo has built: the library of each package, and folders with native libraries.
struct Built {
    libraries: HashMap<String, String>,
    native: Vec<String>,
}

/// A call of rustdoc for each crate below the library.
pub fn commands(places: &Places) -> Result<Vec<Command>> {
    let cargo = |arguments: &[&str]| {
        output(
            command("cargo")
                .args(arguments)
                .current_dir(&places.root)
                .env("CARGO_TARGET_DIR", &places.target),
        )
    };
    let built = built(&cargo(&[
        "build",
        "--quiet",
        "--package",
        "topicbook-dylib",
        "--message-format",
        "json-render-diagnostics",
    ])?);
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--format-version", "1"])?)
        .map_err(|error| Fail::new(format!("cargo metadata: {error}")))?;
    let named = |name: &str| {
        let mut packages = array(&metadata["packages"]).iter();
        let package = packages.find(|package| package["name"] == name);
        let id = package.and_then(|package| package["id"].as_str());
        id.ok_or_else(|| Fail::new(format!("cargo metadata names no package {name}")))
    };
    let file = |id: &str| built.libraries.get(id);
    let shown = ["topicbook", "tempfile"].map(|name| {
        let file = named(name).ok().and_then(file);
        format!("{name}={}", file.map_or("", String::as_str))
    });
    let mut calls = Vec::new();
    for folder in places.library()? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if name == "src" {
            continue;
        }
        let id = named(&name)?;
        let mut nodes = array(&metadata["resolve"]["nodes"]).iter();
        let node = nodes.find(|node| node["id"] == id).unwrap_or(&Value::Null);
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
            if let Some(file) = dependency["pkg"].as_str().and_then(file) {
                rustdoc.args(["--extern", &format!("{called}={file}")]);
            }
        }
        for library in &shown {
            rustdoc.args(["--extern", library]);
        }
        calls.push(rustdoc);
    }
    Ok(calls)
}

/// What Cargo's messages say.
fn built(messages: &str) -> Built {
    let mut built = Built {
        libraries: HashMap::new(),
        native: Vec::new(),
    };
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let paths = array(&message["linked_paths"]).iter();
        built
            .native
            .extend(paths.filter_map(Value::as_str).map(str::to_owned));
        let is_library = array(&message["target"]["kind"])
            .iter()
            .any(|kind| kind == "lib" || kind == "proc-macro" || kind == "rlib");
        let files = array(&message["filenames"]).iter();
        let file = files
            .filter_map(Value::as_str)
            .find(|file| file.ends_with(".rlib") || file.ends_with(".so"));
        if let (true, Some(id), Some(file)) = (is_library, message["package_id"].as_str(), file) {
            built.libraries.insert(id.to_owned(), file.to_owned());
        }
    }
    built
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
