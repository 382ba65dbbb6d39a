//! The program that Jupyter starts as the kernel, in a checkout and from a wheel, and the command of an installed wheel.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use topicbook_launcher::places::Places;
use topicbook_launcher::task::{self, At, Fail, Result, run};
use topicbook_launcher::toolchain::Toolchain;
use topicbook_launcher::{corpus, crates, doctor, jupyter, kernel_spec, session};

const HELP: &str = "\
topicbook <command>

  course FOLDER    copies the notebooks of the course into a new folder, with the data that they open
  lab [PATH] [options]
                   opens JupyterLab with the kernel \"Rust (topicbook)\" here, or on a folder or notebook; the options are
                   JupyterLab's
  run NOTEBOOK     runs a notebook; the executed .ipynb, an .html and an .md go to a folder build next to it
  kernel install [--user | --prefix FOLDER] [--remove]
                   makes the kernel known to every Jupyter and VS Code of yours, or of an environment
  doctor           looks for Rust, a linker, processor, memory and GPU, and fits a small model on each device

What the wheel has unpacked lies in a cache folder, which may be deleted: $XDG_CACHE_HOME/topicbook, else ~/.cache/topicbook;
TOPICBOOK_CACHE names another one.
";

fn main() -> ExitCode {
    rust_first();
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let path = |at: usize| Path::new(&arguments[at]);
    let result = match words.as_slice() {
        ["help" | "-h", ..] | [_, .., "--help" | "-h"] | ["--help"] => {
            print!("{HELP}");
            Ok(())
        }
        [session::REAP, _] => session::reap(path(1)),
        [session::BUILD, _] => places().and_then(|places| crates::build(&places, path(1))),
        ["kernel", "install", ..] => places().and_then(|places| {
            kernel_spec::install(&places, &arguments[2..], |places| {
                Toolchain::ready(places).map(drop)
            })
        }),
        ["kernel", _] => kernel(path(1)),
        ["course", _] => places().and_then(|places| course(&places, path(1))),
        ["lab", ..] => places().and_then(|places| lab(&places, &arguments[1..])),
        ["run", _] => places().and_then(|places| run_notebook(&places, path(1))),
        ["doctor"] => places().and_then(|places| doctor::doctor(&places)),
        _ => Err(Fail::new(format!("no such command\n{HELP}"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("topicbook: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Puts the folder of the Rust that `cargo xtask` used in front of PATH. A Jupyter that a desktop starts does not have it
/// there, or has an older Rust of the system.
fn rust_first() {
    let Some(folder) = env::var_os("TOPICBOOK_RUST").map(PathBuf::from) else {
        return;
    };
    if let Ok(path) = session::path_with(&folder) {
        // SAFETY: this is the first statement of the program, so no other thread reads the environment.
        unsafe { env::set_var("PATH", path) };
    }
}

/// The folders, from the variables that the kernel spec of a checkout or the Python package of a wheel sets.
fn places() -> Result<Places> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from);
    let (Some(root), Some(cache), Some(target)) = (
        folder("TOPICBOOK_ROOT"),
        folder("TOPICBOOK_CACHE"),
        folder("CARGO_TARGET_DIR"),
    ) else {
        return Places::of_wheel();
    };
    if !root.join("Cargo.toml").is_file() {
        return Err(Fail::new(format!(
            "the repository of this kernel is no longer in {}: it was moved or deleted.\nto do: run `cargo xtask kernel \
             install` in the folder where it is now, then restart the kernel",
            root.display()
        )));
    }
    Ok(Places::of_checkout(root, cache, target))
}

/// Replaces this process by the kernel, or by one that answers every cell with the error, because Jupyter shows the output of
/// a kernel that ends only in the server's log.
fn kernel(connection_file: &Path) -> Result<()> {
    places()
        .and_then(|places| session::start(&places, connection_file))
        .map_err(|error| {
            eprintln!("topicbook: {error}");
            let Ok(program) = env::current_exe() else {
                return error;
            };
            let cause = task::command(program.with_file_name("topicbook-evcxr"))
                .arg("--say")
                .arg(format!("The kernel cannot start: {error}"))
                .arg(connection_file)
                .exec();
            Fail::new(format!(
                "no kernel can be started that says so in the notebook: {cause}"
            ))
        })
}

/// Copies the notebooks of the course, and writes what they open.
fn course(places: &Places, folder: &Path) -> Result<()> {
    if folder.exists() {
        return Err(Fail::new(format!(
            "{} exists\nto do: name a new folder, because notebooks in it may be yours",
            folder.display()
        )));
    }
    Toolchain::ready(places)?;
    let notebooks = folder.join("notebooks");
    for part in ["notebooks", "data"] {
        copy(&places.root.join("course").join(part), &folder.join(part))?;
    }
    // They work in this folder, and find there what they open.
    let places = &Places {
        build: notebooks.clone(),
        ..places.clone()
    };
    corpus::draw_cells(places)?;
    // Without Rust's documentation three notebooks lack their text.
    match corpus::documentation(places)? {
        Some(_) => corpus::prepare(places)?,
        None => eprintln!(
            "topicbook: notebooks 02, 06 and 08 have no text: install the component rust-docs of Rust, then make a new course"
        ),
    }
    eprintln!(
        "topicbook: `topicbook lab {}` opens them",
        notebooks.display()
    );
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).at(to)?;
    for entry in fs::read_dir(from).at(from)? {
        let from = entry.at(from)?.path();
        let to = to.join(from.file_name().unwrap_or_default());
        match from.is_dir() {
            true => copy(&from, &to)?,
            false => corpus::copy(&from, &to)?,
        }
    }
    Ok(())
}

/// What `lab` and `run` need: the toolchain, and a kernel spec that their Jupyter finds.
fn ready(places: &Places) -> Result<()> {
    Toolchain::ready(places)?;
    kernel_spec::write(places, &places.jupyter())
}

fn lab(places: &Places, arguments: &[OsString]) -> Result<()> {
    let (path, options) = jupyter::path_and_options(arguments)?;
    ready(places)?;
    jupyter::lab(places, path.unwrap_or(Path::new(".")), options)
}

fn run_notebook(places: &Places, notebook: &Path) -> Result<()> {
    if !notebook.is_file() {
        return Err(Fail::new(format!(
            "there is no notebook {}",
            notebook.display()
        )));
    }
    ready(places)?;
    let notebook = notebook.canonicalize().at(notebook)?;
    let folder = notebook.parent().unwrap_or(Path::new("/"));
    run(&mut jupyter::run_notebook(
        places,
        &notebook,
        &folder.join("build"),
        folder,
    ))
}
