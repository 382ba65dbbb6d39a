//! Runs notebooks headless, and opens them in JupyterLab.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::corpus;
use crate::crates;
use crate::jupyter;
use crate::places::Places;
use crate::setup;
use crate::task::{At, Fail, Result, run, step};
use crate::worker;

/// Whether cells of a notebook start ranks.
pub fn starts_ranks(notebook: &Path) -> Result<bool> {
    let text = fs::read_to_string(notebook).at(notebook)?;
    Ok(text.contains("Cluster::"))
}

/// Runs one notebook and writes the executed notebook and its pages. The results of a notebook of the repository go to the
/// build folder, and its cells run in a folder of their own in there. Any other one runs in its own folder, as in Jupyter,
/// and its results go to a folder `build` beside it.
pub fn execute(places: &Places, notebook: &Path) -> Result<()> {
    let mut program = prepared(places, notebook)?;
    step(&format!("running {}", notebook.display()), || {
        run(&mut program)
    })
}

/// Sets up what a notebook needs; the command that runs it.
pub fn prepared(places: &Places, notebook: &Path) -> Result<Command> {
    if !notebook.is_file() {
        return Err(Fail::new(format!(
            "there is no notebook {}",
            notebook.display()
        )));
    }
    let notebook = &notebook.canonicalize().at(notebook)?;
    setup::all(places)?;
    let folder = notebook.parent().unwrap_or(Path::new("/"));
    let (results, cells) = match ours(places, folder) {
        true => {
            let name = notebook.file_stem().unwrap_or_default();
            (
                places.build.clone(),
                places.build.join("cells_of").join(name),
            )
        }
        false => (folder.join("build"), folder.to_path_buf()),
    };
    if ours(places, folder) {
        let text = fs::read_to_string(notebook).at(notebook)?;
        corpus::prepare_for(places, &text)?;
        corpus::link(places, &cells)?;
        if starts_ranks(notebook)? {
            worker::build(places)?;
        }
    }
    crates::build(places, &cells)?;
    Ok(jupyter::run_notebook(places, notebook, &results, &cells))
}

/// Opens JupyterLab with the kernel ready: on the folder or the notebook that `arguments` begin with, and otherwise on the
/// notebooks of the repository. The other arguments go to JupyterLab.
pub fn lab(places: &Places, arguments: &[OsString]) -> Result<()> {
    let (path, options) = jupyter::path_and_options(arguments)?;
    let path = path.map_or(places.root.join("notebooks"), Path::to_path_buf);
    let path = path.canonicalize().at(&path)?;
    setup::all(places)?;
    if ours(places, &path) || path.parent().is_some_and(|folder| ours(places, folder)) {
        corpus::prepare(places)?;
        corpus::documentation(places)?;
        corpus::draw_cells(places)?;
        corpus::link(places, &places.root.join("notebooks"))?;
    }
    crates::build(
        places,
        if path.is_dir() {
            &path
        } else {
            path.parent().unwrap_or(&path)
        },
    )?;
    jupyter::lab(places, &path, options)
}

/// Whether this is the folder of the repository's notebooks.
fn ours(places: &Places, folder: &Path) -> bool {
    let notebooks = places.root.join("notebooks");
    notebooks.canonicalize().is_ok_and(|path| path == folder)
}

/// The notebooks of the repository, in their order.
pub fn all(places: &Places) -> Result<Vec<PathBuf>> {
    let folder = places.root.join("notebooks");
    let mut notebooks = Vec::new();
    for entry in fs::read_dir(&folder).at(&folder)? {
        let path = entry.at(&folder)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "ipynb")
        {
            notebooks.push(path);
        }
    }
    notebooks.sort();
    Ok(notebooks)
}
