//! Runs notebooks headless, and opens them in JupyterLab.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::corpus;
use crate::places::Places;
use crate::setup;
use crate::task::{At, Fail, Result, run, step};

/// Runs one notebook; the executed notebook and its HTML page go to the build folder.
pub fn execute(places: &Places, notebook: &Path) -> Result<()> {
    if !notebook.is_file() {
        return Err(Fail::new(format!(
            "there is no notebook {}",
            notebook.display()
        )));
    }
    setup::all(places)?;
    let text = fs::read_to_string(notebook).at(notebook)?;
    if corpus::FILES.iter().any(|file| text.contains(file)) {
        corpus::prepare(places)?;
    }
    step(&format!("running {}", notebook.display()), || {
        run(setup::jupyter(places, "python")
            .arg(places.root.join("xtask/python/run_notebook.py"))
            .arg(notebook)
            .arg(places.build()))
    })
}

/// Opens JupyterLab on the notebooks folder, with the kernel ready.
pub fn lab(places: &Places, arguments: &[OsString]) -> Result<()> {
    setup::all(places)?;
    corpus::prepare(places)?;
    let notebooks = places.root.join("notebooks");
    for file in corpus::FILES {
        let link = notebooks.join(file);
        if !link.exists() {
            std::os::unix::fs::symlink(Path::new("../build").join(file), &link).at(&link)?;
        }
    }
    // JupyterLab replaces this process, so that it gets the signals and can ask before it stops.
    let error = setup::jupyter(places, "jupyter-lab")
        .arg("--ServerApp.root_dir")
        .arg(&notebooks)
        .args(arguments)
        .stdin(Stdio::inherit())
        .exec();
    Err(Fail::new(format!("cannot start JupyterLab: {error}")))
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
