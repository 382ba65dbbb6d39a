//! Runs the programs in `examples/`, each in an empty folder.

use std::fs;

use crate::places::Places;
use crate::task::{At, Result, command, run};

/// The examples that take arguments, and run for notebooks: 02 and 09.
const WITH_ARGUMENTS: [&str; 2] = ["count_texts", "draw_cells"];

/// Runs every example that takes no arguments.
pub fn run_all(places: &Places) -> Result<()> {
    let examples = places.root.join("examples");
    let mut names = Vec::new();
    for entry in fs::read_dir(&examples).at(&examples)? {
        let file = entry?.path();
        if let Some(name) = file.file_stem()
            && WITH_ARGUMENTS.iter().all(|other| name != *other)
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    for name in names {
        let folder = places.build.join("examples").join(&name);
        if folder.is_dir() {
            fs::remove_dir_all(&folder).at(&folder)?;
        }
        fs::create_dir_all(&folder).at(&folder)?;
        run(command("cargo")
            .args(["run", "--quiet", "--manifest-path"])
            .arg(places.root.join("Cargo.toml"))
            .arg("--example")
            .arg(&name)
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &places.target))?;
    }
    Ok(())
}
