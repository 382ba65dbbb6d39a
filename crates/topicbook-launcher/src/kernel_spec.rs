//! The kernel spec: the file from which Jupyter and VS Code learn the name of the kernel, its logo and how it starts.
//! Next to it is a small extension of JupyterLab, which gives charts their descriptions.
//!
//! Set-up writes one into the cache, where only `cargo xtask lab` and `run` look. `cargo xtask kernel install` writes the
//! same one where the person's own Jupyter looks.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result};

/// The kernel's name, which notebooks keep in their metadata.
const NAME: &str = "topicbook";

const LOGOS: [(&str, &[u8]); 2] = [
    (
        "logo-svg.svg",
        include_bytes!("../logo/logo-svg.svg").as_slice(),
    ),
    (
        "logo-64x64.png",
        include_bytes!("../logo/logo-64x64.png").as_slice(),
    ),
];

/// The extension of JupyterLab, in the form in which JupyterLab loads it.
const EXTENSION: [(&str, &[u8]); 2] = [
    (
        "package.json",
        include_bytes!("../lab/package.json").as_slice(),
    ),
    (
        "remoteEntry.js",
        include_bytes!("../lab/remoteEntry.js").as_slice(),
    ),
];

/// `cargo xtask kernel install`, with the words that follow it.
///
/// `ready` sets up what the kernel needs.
pub fn install(
    places: &Places,
    options: &[OsString],
    ready: impl FnOnce(&Places) -> Result<()>,
) -> Result<()> {
    let options = Options::read(options, |name| env::var_os(name))?;
    let folder = spec_folder(&options.data);
    if options.remove {
        return match remove(&options.data)? {
            true => {
                eprintln!("topicbook: removed {}", folder.display());
                Ok(())
            }
            false => Err(Fail::new(format!(
                "no kernel is installed in {}",
                folder.display()
            ))),
        };
    }
    ready(places)?;
    write(places, &options.data)?;
    eprintln!(
        "topicbook: installed {}\nAny Jupyter, JupyterLab or VS Code that looks there now offers \"Rust (topicbook)\", in \
         every folder. When {} moves, install again; `--remove` takes it away.",
        folder.display(),
        match places.is_wheel {
            true => "this Python environment",
            false => "this repository",
        }
    );
    Ok(())
}

/// Writes the kernel spec and the extension below `data`, a data folder of Jupyter.
pub fn write(places: &Places, data: &Path) -> Result<()> {
    let folder = spec_folder(data);
    write_files(&folder, &LOGOS)?;
    write_files(&extension_folder(data), &EXTENSION)?;
    let mut variables = Vec::new();
    let mut arguments = Vec::new();
    if places.is_wheel {
        arguments.extend([text(&places.python)?, "-m", "topicbook"].map(quoted));
    } else {
        arguments.push(quoted(text(&places.launcher())?));
        for (name, path) in [
            ("TOPICBOOK_ROOT", &places.root),
            ("TOPICBOOK_CACHE", &places.cache),
            ("CARGO_TARGET_DIR", &places.target),
        ] {
            variables.push((name, quoted(text(path)?)));
        }
        // A Jupyter that a desktop starts has neither Rust in its PATH nor the variables of a shell's start-up file.
        if let Some(folder) = rust_folder() {
            variables.push(("TOPICBOOK_RUST", quoted(text(&folder)?)));
        }
    }
    for name in ["CARGO_HOME", "RUSTUP_HOME"] {
        if let Some(path) = env::var_os(name) {
            variables.push((name, quoted(text(Path::new(&path))?)));
        }
    }
    arguments.extend(["kernel", "{connection_file}"].map(quoted));
    let variables: Vec<String> = variables
        .into_iter()
        .map(|(name, value)| format!("{}: {value}", quoted(name)))
        .collect();
    let spec = format!(
        "{{\n  \"argv\": [{}],\n  \"display_name\": \"Rust (topicbook)\",\n  \"language\": \"rust\",\n  \
         \"interrupt_mode\": \"message\",\n  \"env\": {{{}}}\n}}\n",
        arguments.join(", "),
        variables.join(", ")
    );
    let file = folder.join("kernel.json");
    fs::write(&file, spec).at(&file)
}

/// Removes the kernel spec and the extension below `data`; whether there was a spec.
fn remove(data: &Path) -> Result<bool> {
    remove_folder(&extension_folder(data))?;
    remove_folder(&spec_folder(data))
}

fn write_files(folder: &Path, files: &[(&str, &[u8])]) -> Result<()> {
    fs::create_dir_all(folder).at(folder)?;
    for (name, bytes) in files {
        let file = folder.join(name);
        fs::write(&file, bytes).at(&file)?;
    }
    Ok(())
}

/// Removes a folder; whether it was there.
fn remove_folder(folder: &Path) -> Result<bool> {
    if !folder.exists() {
        return Ok(false);
    }
    fs::remove_dir_all(folder).at(folder).map(|()| true)
}

/// The folder of the kernel spec below a data folder of Jupyter.
pub fn spec_folder(data: &Path) -> PathBuf {
    data.join("kernels").join(NAME)
}

fn extension_folder(data: &Path) -> PathBuf {
    data.join("labextensions").join(NAME)
}

/// The options of `cargo xtask kernel install`.
#[derive(Debug, PartialEq)]
struct Options {
    /// The data folder of Jupyter that gets or loses the kernel.
    data: PathBuf,
    remove: bool,
}

impl Options {
    fn read(words: &[OsString], variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let mut prefix = None;
        let mut remove = false;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match &*word.to_string_lossy() {
                "--user" => prefix = None,
                "--remove" => remove = true,
                "--prefix" => {
                    let folder = words.next().ok_or_else(|| {
                        Fail::new("--prefix needs a folder, such as a virtual environment")
                    })?;
                    prefix = Some(std::path::absolute(folder)?);
                }
                other => {
                    return Err(Fail::new(format!(
                        "`kernel install` has no option {other}; it has --user (the default), --prefix FOLDER and --remove"
                    )));
                }
            }
        }
        let data = match prefix {
            Some(prefix) => prefix.join("share").join("jupyter"),
            None => user_data(variable)?,
        };
        Ok(Self { data, remove })
    }
}

/// The folder in which the person's own Jupyter looks for kernels, found as Jupyter finds it.
pub fn user_data(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    // Jupyter, too, treats an empty variable as unset.
    let folder = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let data = match (
        folder("JUPYTER_DATA_DIR"),
        folder("XDG_DATA_HOME"),
        folder("HOME"),
    ) {
        (Some(data), _, _) => data,
        (_, Some(share), _) => share.join("jupyter"),
        (_, _, Some(home)) => home.join(".local").join("share").join("jupyter"),
        _ => {
            return Err(Fail::new(
                "HOME is not set, so Jupyter's folder is not known: name a folder with --prefix",
            ));
        }
    };
    Ok(std::path::absolute(data)?)
}

/// The first folder of PATH with a `rustc`: with rustup its own, so that updates of Rust are followed.
fn rust_folder() -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .find(|folder| folder.is_absolute() && folder.join("rustc").is_file())
}

/// A text in JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Fail::new(format!(
            "{} is not valid UTF-8, which Jupyter requires",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn options(words: &[&str], variables: &[(&str, &str)]) -> std::result::Result<Options, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Options::read(&words, |name| {
            let (_, value) = variables.iter().find(|(other, _)| *other == name)?;
            Some(OsString::from(value))
        })
        .map_err(|error| error.to_string())
    }

    fn data(words: &[&str], variables: &[(&str, &str)]) -> PathBuf {
        options(words, variables).expect("known options").data
    }

    #[test]
    fn the_folder_is_the_one_in_which_jupyter_looks() {
        let home = ("HOME", "/home/ada");
        let share = ("XDG_DATA_HOME", "/data");
        let jupyter = ("JUPYTER_DATA_DIR", "/jupyter");
        let none = ("JUPYTER_DATA_DIR", "");
        assert_eq!(
            data(&[], &[home]),
            Path::new("/home/ada/.local/share/jupyter")
        );
        assert_eq!(
            data(&["--user"], &[share, home]),
            Path::new("/data/jupyter")
        );
        assert_eq!(data(&[], &[jupyter, share, home]), Path::new("/jupyter"));
        assert_eq!(
            data(&[], &[none, home]),
            Path::new("/home/ada/.local/share/jupyter")
        );
        assert_eq!(
            data(&["--prefix", "/env"], &[jupyter]),
            Path::new("/env/share/jupyter")
        );
        assert!(options(&[], &[]).is_err_and(|error| error.contains("--prefix")));
    }

    #[test]
    fn unknown_options_are_named() {
        assert!(options(&["--sys-prefix"], &[]).is_err_and(|error| error.contains("--sys-prefix")));
        assert!(options(&["--prefix"], &[]).is_err_and(|error| error.contains("needs a folder")));
        let both = options(&["--remove", "--prefix", "/env"], &[]).expect("both are known");
        assert!(both.remove && both.data == Path::new("/env/share/jupyter"));
    }

    #[test]
    fn a_kernel_is_installed_and_removed() {
        let folder = env::temp_dir().join(format!("topicbook-kernel-spec-{}", std::process::id()));
        let [root, cache, target] = ["a \"root\"", "cache", "target"].map(|name| folder.join(name));
        let places = Places::of_checkout(root, cache, target);
        let data = folder.join("share/jupyter");
        // The second installation replaces the first one.
        for _ in 0..2 {
            assert!(write(&places, &data).is_ok());
        }
        let spec = data.join("kernels/topicbook");
        let text = fs::read_to_string(spec.join("kernel.json")).expect("the spec is written");
        let json: Value = serde_json::from_str(&text).expect("the spec is JSON");
        assert_eq!(json["env"]["TOPICBOOK_ROOT"], json!(places.root));
        assert_eq!(json["argv"][0], json!(places.launcher()));
        let rust = json["env"]["TOPICBOOK_RUST"].as_str().map(Path::new);
        assert!(rust.is_some_and(|rust| rust.join("rustc").is_file()));
        let logo = fs::read(spec.join("logo-64x64.png")).expect("the logo is written");
        assert!(logo.starts_with(b"\x89PNG"));
        let extension = data.join("labextensions/topicbook");
        assert!(extension.join("remoteEntry.js").is_file());
        assert!(matches!(remove(&data), Ok(true)));
        assert!(!extension.exists() && !spec.exists() && data.join("kernels").exists());
        assert!(matches!(remove(&data), Ok(false)));
        let _ = fs::remove_dir_all(&folder);
    }
}
