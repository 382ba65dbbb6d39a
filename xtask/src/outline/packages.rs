//! The packages to outline, with the features that the build of the library turns on.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A package to outline.
pub struct Package {
    pub name: String,
    /// The name of its library.
    pub library: String,
    pub edition: String,
    /// The file of its crate root.
    pub source: PathBuf,
    pub features: Vec<String>,
    /// The outlined packages that it depends on, by the name that it calls them.
    pub dependencies: BTreeMap<String, String>,
    pub kept: Kept,
}

/// How much of a package stays.
#[derive(Clone, Copy, PartialEq)]
pub enum Kept {
    /// Every public item: the crate that cells import.
    Ours,
    /// Of a crate below it what that one shows, and what its signatures mention.
    Below,
    /// Every public item; completion does not offer those that are unsafe or internal.
    All,
    /// What the signatures in other packages mention.
    Mentioned,
    /// Of what they mention only types, traits and which type has which trait.
    Types,
}

impl Kept {
    /// Whether cells may name the public items.
    pub fn is_named(self) -> bool {
        matches!(self, Kept::Ours | Kept::All)
    }

    /// Whether it is a crate of this repository.
    pub fn is_ours(self) -> bool {
        matches!(self, Kept::Ours | Kept::Below)
    }
}

/// The packages of an outline: the library with the crates below it (`topicbook-*`), the fronts of Polars and Burn, the values in
/// their signatures, and what these need. `num-traits` bounds the operators of Polars: with an unknown bound every type would fit.
const PACKAGES: [(&str, Kept); 24] = [
    ("topicbook", Kept::Ours),
    ("polars", Kept::All),
    ("polars-core", Kept::All),
    ("polars-error", Kept::All),
    ("polars-io", Kept::All),
    ("polars-lazy", Kept::All),
    ("polars-ops", Kept::All),
    ("polars-plan", Kept::All),
    ("polars-time", Kept::All),
    ("polars-schema", Kept::Mentioned),
    ("polars-utils", Kept::Mentioned),
    ("polars-arrow", Kept::Types),
    ("polars-buffer", Kept::Types),
    ("polars-dtype", Kept::Types),
    ("num-traits", Kept::Types),
    ("burn", Kept::All),
    ("burn-core", Kept::All),
    ("burn-nn", Kept::All),
    ("burn-optim", Kept::All),
    ("burn-tensor", Kept::All),
    ("burn-autodiff", Kept::Mentioned),
    ("burn-backend", Kept::Mentioned),
    ("burn-flex", Kept::Mentioned),
    ("burn-std", Kept::Types),
];

/// The library and the packages of Polars that its build links.
pub fn find(root: &Path) -> Result<Vec<Package>, String> {
    let built = built(root)?;
    // Without the platform, Cargo needs packages of other platforms, which nobody has downloaded.
    let mut host = Command::new("rustc");
    let host = output(host.args(["--print", "host-tuple"]).current_dir(root))?;
    let metadata = cargo(
        root,
        &[
            "metadata",
            "--format-version",
            "1",
            "--filter-platform",
            host.trim(),
        ],
    )?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| format!("cannot read the output of `cargo metadata`: {error}"))?;
    let mut found = Vec::new();
    for package in array(&metadata["packages"]) {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let listed = PACKAGES.iter().find(|(listed, _)| *listed == name);
        let below = name.starts_with("topicbook-") && name != "topicbook-dylib";
        let Some(kept) = listed
            .map(|(_, kept)| *kept)
            .or(below.then_some(Kept::Below))
        else {
            continue;
        };
        let Some(features) = built.get(&(name.to_owned(), version.to_owned())) else {
            continue;
        };
        let library = array(&package["targets"])
            .iter()
            .find(|target| array(&target["kind"]).iter().any(|kind| kind == "lib"))
            .ok_or_else(|| format!("the package {name} has no library"))?;
        found.push(Package {
            name: name.to_owned(),
            library: text(&library["name"]).replace('-', "_"),
            edition: text(&library["edition"]).to_owned(),
            source: PathBuf::from(text(&library["src_path"])),
            features: features.clone(),
            dependencies: dependencies(package),
            kept,
        });
    }
    let names: Vec<String> = found.iter().map(|package| package.name.clone()).collect();
    for package in &mut found {
        package.dependencies.retain(|_, name| names.contains(name));
    }
    Ok(found)
}

/// Names in the source of the packages that `package` may depend on.
fn dependencies(package: &Value) -> BTreeMap<String, String> {
    array(&package["dependencies"])
        .iter()
        .filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| {
            let name = text(&dependency["name"]);
            let called = dependency["rename"].as_str().unwrap_or(name);
            (called.to_owned(), name.to_owned())
        })
        .collect()
}

/// The features of each package, by name and version, in the build that cells link to. `cargo metadata` would list the
/// features of all builds of the workspace together.
fn built(root: &Path) -> Result<HashMap<(String, String), Vec<String>>, String> {
    let tree = cargo(
        root,
        &[
            "tree",
            "--package",
            "topicbook-dylib",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}|{f}",
        ],
    )?;
    let mut built = HashMap::new();
    for line in tree.lines() {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let mut words = package.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        let version = words
            .next()
            .unwrap_or_default()
            .trim_start_matches('v')
            .to_owned();
        // A package that was listed before has ` (*)` after its features.
        let features = features.trim_end_matches(" (*)").split(',');
        let features = features
            .filter(|feature| !matches!(*feature, "" | "default"))
            .map(str::to_owned);
        built
            .entry((name, version))
            .or_insert_with(|| features.collect());
    }
    Ok(built)
}

/// What Cargo prints. The flag for rust-analyzer's view of a notebook would change the answer.
fn cargo(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("cargo");
    command
        .args(arguments)
        .current_dir(root)
        .env_remove("RUSTFLAGS");
    output(&mut command)
}

/// What `command` prints to stdout.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{command:?} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
