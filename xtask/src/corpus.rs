//! The counts of the notebooks on real text, in the build folder: `corpus.npz` and `corpus_terms.txt`, and those of Rust's
//! documentation in `documentation`, with a table of its pages. And the drawn counts of the notebook on cells, in `cells`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::setup;
use crate::task::{At, Fail, Result, command, run, step};

/// The counts and their terms.
pub const FILES: [&str; 2] = ["corpus.npz", "corpus_terms.txt"];

/// The folder with the counts of Rust's documentation, and its table of pages, which is written last.
pub const DOCUMENTATION: &str = "documentation";
const PAGES: &str = "corpus_documents.csv";

/// The folder with the counts of cells, and its table of cells, which is written last.
pub const CELLS: &str = "cells";
const CELLS_TABLE: &str = "cells.csv";

/// Parts of Rust's documentation that are mostly prose.
const BOOKS: [&str; 12] = [
    "book",
    "cargo",
    "clippy",
    "edition-guide",
    "embedded-book",
    "error_codes",
    "nomicon",
    "reference",
    "rust-by-example",
    "rustc",
    "rustdoc",
    "unstable-book",
];

/// Writes what a notebook with this text opens.
pub fn prepare_for(places: &Places, notebook: &str) -> Result<()> {
    if notebook.contains(&format!("{DOCUMENTATION}/{}", FILES[0])) {
        return of_documentation(places)?
            .map(drop)
            .ok_or_else(no_documentation);
    }
    if notebook.contains(&format!("{CELLS}/{CELLS_TABLE}")) {
        return draw_cells(places);
    }
    match FILES.iter().any(|file| notebook.contains(file)) {
        true => prepare(places),
        false => Ok(()),
    }
}

/// Writes the counts unless they exist: those of the NIPS papers if `../shared/data` has them, and otherwise those of
/// the documentation that came with this installation of Rust, so that every machine has real text.
pub fn prepare(places: &Places) -> Result<()> {
    let build = places.build();
    let [counts, terms] = FILES.map(|file| build.join(file));
    if counts.is_file() && terms.is_file() {
        return Ok(());
    }
    fs::create_dir_all(&build).at(&build)?;
    let shared = places.root.join("../shared/data");
    let papers = [shared.join("nips.npz"), shared.join("nips_terms.txt")];
    if papers.iter().all(|file| file.is_file()) {
        for (from, to) in papers.iter().zip([&counts, &terms]) {
            copy(from, to)?;
        }
        return Ok(());
    }
    count_documentation(places, &build)?.ok_or_else(no_documentation)
}

fn no_documentation() -> Fail {
    Fail::new(
        "this notebook needs some text: install Rust's documentation with `rustup component add rust-docs`",
    )
}

/// The counts of Rust's documentation, if it is installed.
pub fn of_documentation(places: &Places) -> Result<Option<PathBuf>> {
    let folder = places.build().join(DOCUMENTATION);
    let counts = folder.join(FILES[0]);
    if !folder.join(PAGES).is_file() {
        fs::create_dir_all(&folder).at(&folder)?;
        if count_documentation(places, &folder)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(counts))
}

/// Writes the counts and terms of Rust's documentation into a folder; `None` where it is not installed.
fn count_documentation(places: &Places, folder: &Path) -> Result<Option<()>> {
    let Some(docs) = setup::rust_docs(places)? else {
        return Ok(None);
    };
    step("counting the words of Rust's documentation", || {
        run(command("cargo")
            .args(["run", "--quiet", "--example", "count_words", "--"])
            .arg(folder)
            .args(
                BOOKS
                    .iter()
                    .map(|book| docs.join(book))
                    .filter(|book| book.is_dir()),
            )
            .current_dir(&places.root)
            .env("CARGO_TARGET_DIR", &places.target))
    })?;
    Ok(Some(()))
}

/// Draws the counts of the notebook on cells, unless they exist.
pub fn draw_cells(places: &Places) -> Result<()> {
    let folder = places.build().join(CELLS);
    if folder.join(CELLS_TABLE).is_file() {
        return Ok(());
    }
    fs::create_dir_all(&folder).at(&folder)?;
    step("drawing the counts of cells", || {
        run(command("cargo")
            .args(["run", "--quiet", "--example", "draw_cells", "--"])
            .arg(&folder)
            .current_dir(&places.root)
            .env("CARGO_TARGET_DIR", &places.target))
    })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    // Shared files may be read-only, and a copy would be too.
    let bytes = fs::read(from).at(from)?;
    fs::write(to, bytes).at(to)
}
