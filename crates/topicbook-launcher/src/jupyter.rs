//! Jupyter's programs, with the kernel that they find.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::places::Places;
use crate::task::{Fail, Result, command};

/// A command that runs Python, with a Jupyter that finds the kernel. In a checkout, all of Jupyter's folders are in the cache.
pub fn python(places: &Places) -> Command {
    let mut command = command(&places.python);
    match places.is_wheel {
        true => {
            let others = env::var_os("JUPYTER_PATH").unwrap_or_default();
            let folders = [places.jupyter()]
                .into_iter()
                .chain(env::split_paths(&others));
            let folders = folders.filter(|folder| !folder.as_os_str().is_empty());
            // A path with a colon, which nothing can quote, is found by Jupyter's own rules or not at all.
            if let Ok(all) = env::join_paths(folders) {
                command.env("JUPYTER_PATH", all);
            }
        }
        false => {
            command
                .env("JUPYTER_PATH", places.jupyter())
                .env("JUPYTER_DATA_DIR", places.jupyter())
                .env("JUPYTER_CONFIG_DIR", places.cache.join("jupyter-config"))
                .env("JUPYTER_RUNTIME_DIR", places.cache.join("jupyter-runtime"))
                .env("IPYTHONDIR", places.cache.join("ipython"));
        }
    }
    command
}

/// A command that runs a notebook, whose cells work in the folder `cells`, and writes its pages to `results`.
pub fn run_notebook(places: &Places, notebook: &Path, results: &Path, cells: &Path) -> Command {
    let mut python = python(places);
    python
        .arg(places.scripts().join("run_notebook.py"))
        .args([notebook, results, cells]);
    python
}

/// Replaces this process by JupyterLab on a path, so that it gets the signals and can ask before it stops. Returns only
/// if that fails.
pub fn lab(places: &Places, path: &Path, options: &[OsString]) -> Result<()> {
    let error = python(places)
        .args(["-m", "jupyterlab"])
        .arg(path)
        .args(options)
        .stdin(Stdio::inherit())
        .exec();
    let remedy = match places.is_wheel {
        true => "\nto do: pip install 'topicbook[lab]'",
        false => "",
    };
    Err(Fail::new(format!(
        "cannot start JupyterLab: {error}{remedy}"
    )))
}

/// The path that the arguments of `lab` begin with, which must exist, and JupyterLab's options after it.
pub fn path_and_options(arguments: &[OsString]) -> Result<(Option<&Path>, &[OsString])> {
    match arguments {
        [path, options @ ..] if !path.to_string_lossy().starts_with('-') => {
            let path = Path::new(path);
            match path.exists() {
                true => Ok((Some(path), options)),
                false => Err(Fail::new(format!(
                    "there is no folder or notebook {}",
                    path.display()
                ))),
            }
        }
        options => Ok((None, options)),
    }
}
