//! The crates that a notebook folder names in its `topicbook.toml`: built once for each build of the library, so that cells
//! use them as quickly as the library. `python/crates.py` builds them and says how.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result, command, run, step};
use crate::toolchain::Toolchain;
use crate::warm::{Build, LIBRARY};

/// The manifest's name.
const MANIFEST: &str = "topicbook.toml";

/// The crates of one manifest for one build of the library.
pub struct Crates {
    manifest: PathBuf,
    names: Vec<String>,
    folder: PathBuf,
}

/// Builds the library, and the crates for a folder of notebooks.
pub fn build(places: &Places, notebooks: &Path) -> Result<()> {
    let build = Build::ready(places, &Toolchain::find(places)?)?;
    match Crates::of(notebooks, &build)? {
        Some(crates) => crates.ready(places, &build),
        None => Ok(()),
    }
}

impl Crates {
    /// Those that `topicbook.toml` in a folder of notebooks names; none without that file.
    pub fn of(notebooks: &Path, build: &Build) -> Result<Option<Self>> {
        let manifest = notebooks.join(MANIFEST);
        if !manifest.is_file() {
            return Ok(None);
        }
        let text = fs::read_to_string(&manifest).at(&manifest)?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Ok(Some(Self {
            manifest,
            names: names(&text),
            folder: build
                .folder()
                .join("crates")
                .join(format!("{:016x}", hasher.finish())),
        }))
    }

    /// The folder of the crates. As in a build of the library, the file `LIBRARY` appears in it when all is there.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether cells can link to the crates.
    pub fn is_ready(&self) -> bool {
        self.folder.join(LIBRARY).is_file()
    }

    /// Builds the crates, unless they are ready. The library must be.
    fn ready(&self, places: &Places, build: &Build) -> Result<()> {
        if self.is_ready() {
            return Ok(());
        }
        if places.is_wheel {
            return Err(Fail::new(format!(
                "{}: only a checkout of topicbook builds the crates of such a file; with the wheel, write `:dep` with the \
                 crate's name in a cell, and move this file away",
                self.manifest.display()
            )));
        }
        let unfinished = build
            .folder()
            .join("crates")
            .join(format!("unfinished-{}", std::process::id()));
        fs::create_dir_all(&unfinished).at(&unfinished)?;
        let made = step("building the crates of topicbook.toml", || {
            run(command(&places.python)
                .args(["-c", include_str!("../python/crates.py")])
                .args([&self.manifest, &unfinished, &self.folder, &places.root])
                .args(&self.names)
                .env("CARGO_TARGET_DIR", &places.target)
                // The flags of the library (.cargo/config.toml).
                .env("RUSTFLAGS", "-Cprefer-dynamic"))?;
            let library = build.folder().join(LIBRARY);
            fs::hard_link(&library, unfinished.join(LIBRARY)).at(&library)
        });
        // Another process may have built the same crates meanwhile.
        if made.is_ok() && !self.is_ready() {
            return fs::rename(&unfinished, &self.folder).at(&self.folder);
        }
        let _ = fs::remove_dir_all(&unfinished);
        made
    }

    /// The flags with which a cell's compiler finds the crates.
    pub fn flag(&self) -> String {
        format!(
            "--extern=topicbook_crates={}",
            self.folder.join("libtopicbook_crates.rlib").display()
        )
    }

    /// The lines with which a kernel that starts gets the crates.
    pub fn start(&self) -> String {
        let line = |name: &String| {
            let stub = self.folder.join("stubs").join(name);
            format!(":dep {name} = {{ path = {stub:?} }}\n")
        };
        self.names.iter().map(line).collect()
    }
}

/// The crates under `[dependencies]`, one on each line. Everything else in the manifest is refused when they are built.
fn names(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.starts_with("[dependencies]");
        } else if let Some((name, _)) = line.split_once('=')
            && inside
            && !line.starts_with('#')
        {
            names.push(name.trim().trim_matches('"').to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn crates_are_named_one_on_each_line() {
        let manifest = "# ours\n[dependencies]\nitertools = \"0.14\"\n# old = \"1\"\n\"serde-json\" = { version = \"1\" }\n\
                        [features]\nmore = []\n";
        assert_eq!(names(manifest), ["itertools", "serde-json"]);
    }
}
