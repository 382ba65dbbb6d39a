//! Builds `topicbook-worker`, the program of the ranks of a fit on a cluster.
//!
//! The library and the kernel link no MPI, and no other command needs it. Where the site has a compiler wrapper, the program is
//! linked with the site's MPI; elsewhere Open MPI comes from Python packages, so that nobody needs to be root.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::places::Places;
use crate::setup;
use crate::task::{At, Fail, Result, command, output, run, step};

/// Builds the program, and writes the path of its MPI's `mpiexec` next to it. Cargo finds out what has changed.
pub fn build(places: &Places) -> Result<()> {
    setup::environment(
        "installing libclang, and Open MPI, into the cache (a minute)",
        &places.mpi(),
        &places.root.join("xtask/python/mpi.txt"),
        &["--no-deps"],
    )?;
    let mpicc = mpicc(places);
    let mpiexec = mpicc.with_file_name("mpiexec");
    step(
        "building topicbook-worker (five minutes the first time)",
        || {
            let mut build = cargo(places, &mpicc)?;
            build.args(["rustc", "--locked", "--quiet", "--"]);
            run(build.args(library_path(&mpicc)))?;
            let built = places
                .worker_target()
                .join("debug")
                .join("topicbook-worker");
            let program = places.worker();
            setup::replaced(&program, |made| fs::copy(&built, made).at(&built).map(drop))?;
            let beside = program.with_extension("mpiexec");
            fs::write(&beside, mpiexec.display().to_string()).at(&beside)
        },
    )?;
    eprintln!(
        "topicbook: {} uses the MPI of {}",
        places.worker().display(),
        mpicc.display()
    );
    Ok(())
}

/// Builds the program for the tests. If it cannot be built, those that start ranks are skipped.
pub fn for_tests(places: &Places) {
    if let Err(error) = build(places) {
        eprintln!("topicbook: topicbook-worker cannot be built, so no test starts ranks: {error}");
    }
}

/// Fails if the lock file of the worker's own workspace is not that of its dependencies. Nothing else notices before CI.
pub fn lock_file(places: &Places) -> Result<()> {
    run(command("cargo")
        // Downloads no crate, unlike `cargo metadata`.
        .args(["update", "--workspace", "--locked", "--quiet"])
        .current_dir(places.root.join("crates/topicbook-worker")))
}

/// Format and Clippy of the program, which is a workspace of its own.
pub fn lints(places: &Places) -> Result<()> {
    let cargo = || cargo(places, &mpicc(places));
    run(cargo()?.args(["fmt", "--check"]))?;
    run(cargo()?
        .args(["clippy", "--locked", "--quiet"])
        .args(["--", "--deny", "warnings"]))
}

/// A call of Cargo for the worker's own workspace. Its program links the standard library statically, so that it starts on
/// machines without Rust.
fn cargo(places: &Places, mpicc: &Path) -> Result<Command> {
    let headers = output(command("gcc").arg("-print-file-name=include"))?;
    let mut cargo = command("cargo");
    cargo
        .current_dir(places.root.join("crates").join("topicbook-worker"))
        .env("CARGO_TARGET_DIR", places.worker_target())
        .env("RUSTFLAGS", "")
        .env("MPICC", mpicc)
        .env("LIBCLANG_PATH", libclang(places)?)
        // The package of libclang has no headers of the compiler, such as `stddef.h`.
        .env("BINDGEN_EXTRA_CLANG_ARGS", format!("-I{headers}"));
    Ok(cargo)
}

/// Has the program find its MPI where other launchers than this MPI's `mpiexec` start it, such as Slurm's `srun`.
fn library_path(mpicc: &Path) -> Option<String> {
    let folder = mpicc.parent()?.parent()?.join("lib");
    let found = folder.join("libmpi.so").is_file();
    found.then(|| format!("-Clink-arg=-Wl,-rpath,{}", folder.display()))
}

/// The compiler wrapper: `MPICC`, else `mpicc` in the `PATH`, else the Python package's.
fn mpicc(places: &Places) -> PathBuf {
    let named = env::var_os("MPICC").map(PathBuf::from);
    let paths = env::var_os("PATH").unwrap_or_default();
    let in_path = || {
        env::split_paths(&paths)
            .map(|folder| folder.join("mpicc"))
            .find(|path| path.is_file())
    };
    let installed = || places.mpi().join("bin").join("mpicc");
    named.or_else(in_path).unwrap_or_else(installed)
}

/// The folder of libclang in its Python environment, whose path has Python's version in it.
fn libclang(places: &Places) -> Result<PathBuf> {
    let lib = places.mpi().join("lib");
    for entry in fs::read_dir(&lib).at(&lib)? {
        let folder = entry.at(&lib)?.path().join("site-packages/clang/native");
        if folder.is_dir() {
            return Ok(folder);
        }
    }
    Err(Fail::new(format!(
        "{} has no libclang: remove the folder, and try again",
        places.mpi().display()
    )))
}
