//! What a build has made, from Cargo's messages. `warm.rs` reads them too: the launcher has no JSON parser.

use std::collections::HashMap;

use serde_json::Value;

use crate::task::{Fail, Result};

/// Libraries, and folders with native ones.
pub struct Built {
    /// The file of each library, by the id of its package and by its own name.
    libraries: HashMap<String, String>,
    pub native: Vec<String>,
}

impl Built {
    pub fn of(messages: &str) -> Self {
        let mut built = Self {
            libraries: HashMap::new(),
            native: Vec::new(),
        };
        for line in messages.lines() {
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            built.native.extend(texts(&message["linked_paths"]));
            let target = &message["target"];
            if !texts(&target["kind"]).any(|kind| ["lib", "rlib", "proc-macro"].contains(&&*kind)) {
                continue;
            }
            let file = texts(&message["filenames"])
                .find(|file| file.ends_with(".rlib") || file.ends_with(".so"));
            // A library may exist once more for proc-macros and build scripts, which have level 0.
            let is_for_the_host = message["profile"]["opt_level"] == "0";
            for key in [&message["package_id"], &target["name"]] {
                let (Some(key), Some(file)) = (key.as_str(), &file) else {
                    continue;
                };
                if !is_for_the_host || !built.libraries.contains_key(key) {
                    built.libraries.insert(key.to_owned(), file.clone());
                }
            }
        }
        built
    }

    /// The library of a package by its id, if it was built.
    pub fn of_package(&self, id: &str) -> Option<&str> {
        self.libraries.get(id).map(String::as_str)
    }

    /// The argument of `--extern` for a library by its name.
    pub fn named(&self, name: &str) -> Result<String> {
        let file = self.libraries.get(name);
        file.map(|file| format!("{name}={file}"))
            .ok_or_else(|| Fail::new(format!("cargo names no library {name}")))
    }
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    let texts = value.as_array().map_or(&[][..], Vec::as_slice);
    texts
        .iter()
        .filter_map(|text| Some(text.as_str()?.to_owned()))
}
