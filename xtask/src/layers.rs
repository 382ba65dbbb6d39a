//! A folder of `src` imports only folders below it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result};

/// The folders (and single files) of `src`, from top to bottom: each may import those after it. ARCHITECTURE.md shows
/// the same order, and the order of the crates below, which Cargo enforces.
const ORDER: [&str; 10] = [
    "lib",
    "notebook",
    "bench_hooks",
    "doctor",
    "model",
    "plan",
    "trainer",
    "training",
    "fit",
    "absent",
];

/// Fails on every import that points up, and names it. Tests inside `src` keep the same order.
pub fn check(places: &Places) -> Result<()> {
    let src = places.root.join("src");
    let mut wrong = Vec::new();
    for file in rust_files(&src)? {
        let text = fs::read_to_string(&file).at(&file)?;
        let inside = file.strip_prefix(&src).unwrap_or(&file);
        for (line, imported) in upward(&own_folder(inside), &text) {
            wrong.push(format!(
                "src/{}:{line} imports crate::{imported}, which is above it",
                inside.display()
            ));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    wrong.push("the order of the folders is in xtask/src/layers.rs and ARCHITECTURE.md".into());
    Err(Fail::new(wrong.join("\n")))
}

/// `counts` for `counts/formats/npy.rs`, `error` for `error.rs`.
fn own_folder(inside: &Path) -> String {
    let first = inside.iter().next().unwrap_or_default().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The lines of a file of `folder` that import from above, with what they import.
fn upward(folder: &str, text: &str) -> Vec<(usize, String)> {
    let rank = |name: &str| ORDER.iter().position(|other| *other == name);
    let Some(own) = rank(folder) else {
        return vec![(
            1,
            format!("... (the order does not contain the folder {folder})"),
        )];
    };
    let mut found = Vec::new();
    for (start, _) in text.match_indices("crate::") {
        let line = text[..start].matches('\n').count() + 1;
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        if text[begin..start].contains("//") {
            continue;
        }
        for name in names(&text[start + "crate::".len()..]) {
            if rank(name).is_some_and(|other| other < own) {
                found.push((line, name.to_owned()));
            }
        }
    }
    found
}

/// The first parts of the paths after `crate::`: one name, or all of a braced list.
fn names(rest: &str) -> Vec<&str> {
    let word = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let Some(list) = rest.strip_prefix('{') else {
        return vec![&rest[..word(rest).unwrap_or(rest.len())]];
    };
    let (mut depth, mut expected, mut names) = (0, true, Vec::new());
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expected = true,
            c if expected && c.is_alphanumeric() => {
                let name = &list[at..];
                names.push(&name[..word(name).unwrap_or(name.len())]);
                expected = false;
            }
            _ => {}
        }
    }
    names
}

/// All Rust files in a folder and the folders in it.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::upward;

    #[test]
    fn imports_that_point_up_are_found() {
        let down =
            "use crate::error::Result;\nuse crate::fit::{Fit, align};\n// crate::model is above\n";
        assert_eq!(upward("plan", down), []);
        let up = "use crate::error::Result;\nuse crate::{data::Matrix, model::{self, fit}};\n";
        assert_eq!(upward("training", up), [(2, "model".to_owned())]);
        let inline = "fn f() { crate::plan::go() }";
        assert_eq!(upward("fit", inline), [(1, "plan".to_owned())]);
        assert_eq!(upward("elsewhere", "").len(), 1);
    }
}
