//! What an installation has and lacks, within seconds: it builds nothing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::kernel_spec;
use crate::linker;
use crate::places::Places;
use crate::programs;
use crate::task::{Result, command, output};
use crate::toolchain::Toolchain;
use crate::warm::Build;

/// Prints a line for each part, and then what the library says of processor, memory and GPUs.
pub fn doctor(places: &Places) -> Result<()> {
    let root = places.root.display();
    println!("topicbook   {root}");
    let caches = match places.is_wheel {
        true => places.cache.parent().unwrap_or(&places.cache),
        false => &places.cache,
    };
    println!(
        "cache       {}, {} MB; what is deleted there is made again",
        caches.display(),
        size(caches) / 1_000_000
    );
    println!("disk        {}", free(&places.cache));
    let toolchain = Toolchain::ready(places)?;
    println!("Rust        {}", toolchain.sysroot.display());
    println!(
        "linker      {}",
        match linker::is_on_path("cc") {
            true => "cc",
            false => "rust-lld, which comes with Rust (no cc in the PATH)",
        }
    );
    let python = places.environment().join("bin").join("python");
    let lab = python.with_file_name("jupyter-lab");
    let set_up = match places.is_wheel {
        true => "pip install 'topicbook[lab]'",
        false => "cargo xtask setup",
    };
    let found = |path: &Path| match path.is_file() {
        true => path.display().to_string(),
        false => format!("missing: {set_up}"),
    };
    println!("Python      {}", found(&python));
    println!("JupyterLab  {}", found(&lab));
    println!("kernel      {}", found(&places.kernel_exe()));
    println!("            {}", installed(places));
    let build = Build::present(places, &toolchain)?;
    if !build.is_ready() {
        println!(
            "library     not built since the last change: the next kernel builds it, or {set_up}"
        );
        return Ok(());
    }
    println!("library     {}", build.folder().display());
    programs::run_compiled(places, "doctor")
}

/// Where Jupyter finds the kernel.
fn installed(places: &Places) -> String {
    let mut folders = vec![places.jupyter()];
    folders.extend(kernel_spec::user_data(|name| env::var_os(name)));
    let specs = folders
        .iter()
        .map(|data| kernel_spec::spec_folder(data).join("kernel.json"));
    let known: Vec<PathBuf> = specs.filter(|spec| spec.is_file()).collect();
    match known.as_slice() {
        [] => "no kernel.json: `kernel install` makes it known to your Jupyter and VS Code".into(),
        all => {
            let all = all.iter().map(|spec| match fs::read_to_string(spec) {
                Ok(text) if text.contains(&*places.root.to_string_lossy()) || places.is_wheel => {
                    spec.display().to_string()
                }
                _ => format!("{} (of another folder: install it again)", spec.display()),
            });
            all.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The free space of the disk of a folder, in words.
fn free(folder: &Path) -> String {
    let table = output(command("df").args(["-P", "-m"]).arg(folder)).unwrap_or_default();
    let megabytes = table
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().nth(3));
    megabytes.map_or("unknown".into(), |free| format!("{free} MB free"))
}

/// The bytes of the files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |file| file.len()),
            _ => 0,
        })
        .sum()
}
