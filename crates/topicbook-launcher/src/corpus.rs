//! What the notebooks open, in the build folder: the counts of real text, `corpus.npz` and `corpus_terms.txt`; the pages of
//! Rust's documentation in `documentation`; the drawn counts of cells in `cells`. And the counts of these pages, for benchmarks.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::programs::run_example;
use crate::task::{At, Fail, Result, step};
use crate::toolchain::Toolchain;

/// The counts and their terms.
const FILES: [&str; 2] = ["corpus.npz", "corpus_terms.txt"];

/// The folder with the pages of Rust's documentation.
const DOCUMENTATION: &str = "documentation";

/// The folder with their counts.
const COUNTED: &str = "documentation_counts";

/// The folder with the counts of cells, and their file.
const CELLS: &str = "cells";
const CELLS_FILE: &str = "cells.h5ad";

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
    if notebook.contains(&format!(r#"\"{DOCUMENTATION}\""#)) {
        return documentation(places)?
            .map(drop)
            .ok_or_else(no_documentation);
    }
    if notebook.contains(&format!("{CELLS}/{CELLS_FILE}")) {
        return draw_cells(places);
    }
    match FILES.iter().any(|file| notebook.contains(file)) {
        true => prepare(places),
        false => Ok(()),
    }
}

/// Puts what there is of these files into a folder of notebooks or of their cells, as links into the build folder.
pub fn link(places: &Places, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).at(folder)?;
    for name in FILES.into_iter().chain([DOCUMENTATION, CELLS]) {
        let [file, link] = [places.build.join(name), folder.join(name)];
        if file.exists() && !link.exists() {
            // A link of a clone that has moved.
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&file, &link).at(&link)?;
        }
    }
    Ok(())
}

/// Writes the counts unless they exist: those of the NIPS papers if `../shared/data` has them, and otherwise those of
/// the documentation that came with this installation of Rust, so that every machine has real text.
pub fn prepare(places: &Places) -> Result<()> {
    let build = &places.build;
    let [counts, terms] = FILES.map(|file| build.join(file));
    if counts.is_file() && terms.is_file() {
        return Ok(());
    }
    fs::create_dir_all(build).at(build)?;
    let shared = places.root.join("../shared/data");
    let papers = [shared.join("nips.npz"), shared.join("nips_terms.txt")];
    if papers.iter().all(|file| file.is_file()) {
        for (from, to) in papers.iter().zip([&counts, &terms]) {
            copy(from, to)?;
        }
        return Ok(());
    }
    count_documentation(places, build)?.ok_or_else(no_documentation)
}

fn no_documentation() -> Fail {
    Fail::new(
        "this notebook needs some text: install Rust's documentation with `rustup component add rust-docs`",
    )
}

/// The counts of Rust's documentation, if it is installed.
pub fn of_documentation(places: &Places) -> Result<Option<PathBuf>> {
    let folder = places.build.join(COUNTED);
    let counts = folder.join(FILES[0]);
    if !counts.is_file() {
        fs::create_dir_all(&folder).at(&folder)?;
        if count_documentation(places, &folder)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(counts))
}

/// Writes the counts and terms of Rust's documentation into a folder; `None` where it is not installed.
fn count_documentation(places: &Places, folder: &Path) -> Result<Option<()>> {
    let Some(pages) = documentation(places)? else {
        return Ok(None);
    };
    step("counting the words of Rust's documentation", || {
        run_example(places, "count_texts", &[&pages, &folder.join(FILES[0])])
    })?;
    Ok(Some(()))
}

/// A folder with the English pages of Rust's documentation, as links in a folder for each book; `None` where it is not
/// installed.
pub fn documentation(places: &Places) -> Result<Option<PathBuf>> {
    let pages = places.build.join(DOCUMENTATION);
    if pages.is_dir() {
        return Ok(Some(pages));
    }
    let Some(docs) = Toolchain::find(places)?.documentation() else {
        return Ok(None);
    };
    let new = places.build.join(format!("{DOCUMENTATION}.new"));
    if new.is_dir() {
        fs::remove_dir_all(&new).at(&new)?;
    }
    for book in BOOKS {
        let from = docs.join(book);
        if from.is_dir() {
            link_pages(&from, &new.join(book))?;
        }
    }
    fs::rename(&new, &pages).at(&pages)?;
    Ok(Some(pages))
}

/// Links the pages of a book, without those that repeat others and those that only refer to another page.
fn link_pages(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).at(to)?;
    for entry in fs::read_dir(from).at(from)? {
        let path = entry.at(from)?.path();
        let link = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            // Old editions of the book, whose pages say where the new ones are.
            if !path.to_string_lossy().ends_with("-edition") {
                link_pages(&path, &link)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "html")
            // mdBook writes a whole book as one page, and tables of contents as pages.
            && !["print.html", "toc.html", "404.html"].iter().any(|name| path.ends_with(name))
        {
            let bytes = fs::read(&path).at(&path)?;
            let page = String::from_utf8_lossy(&bytes);
            if page.contains("lang=\"en\"") && page.contains("<main") {
                std::os::unix::fs::symlink(&path, &link).at(&link)?;
            }
        }
    }
    Ok(())
}

/// Draws the counts of the notebook on cells, unless they exist.
pub fn draw_cells(places: &Places) -> Result<()> {
    let folder = places.build.join(CELLS);
    if folder.join(CELLS_FILE).is_file() {
        return Ok(());
    }
    fs::create_dir_all(&folder).at(&folder)?;
    step("drawing the counts of cells", || {
        run_example(places, "draw_cells", &[&folder])
    })
}

/// Copies a file, but not its mode: shared and installed files may be read-only.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).at(from)?;
    fs::write(to, bytes).at(to)
}
