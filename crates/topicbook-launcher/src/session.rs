//! Starts a kernel: creates its folder, sets its environment, and removes the folder when it has ended.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::crates::Crates;
use crate::linker;
use crate::places::Places;
use crate::task::{At, Fail, Result};
use crate::toolchain::Toolchain;
use crate::warm::{self, Build};

/// First argument of the launcher as the process that waits for the end of a kernel.
pub const REAP: &str = "--reap";

/// First argument of the launcher as the process that builds the library for a kernel that has already started.
pub const BUILD: &str = "--build";

/// Replaces this process by the kernel that Jupyter connects to through `connection_file`. Returns only if that fails.
///
/// If sources, lock file or Rust have changed since the last build, the kernel starts nevertheless: another process
/// builds the library, and the first cell waits for it and shows its progress (see crates/kernel/src/waiting.rs).
pub fn start(places: &Places, connection_file: &Path) -> Result<()> {
    let toolchain = Toolchain::find(places)?;
    let build = Build::present(places, &toolchain)?;
    let notebooks = env::current_dir()?;
    let crates = Crates::of(&notebooks, &build)?;
    let folder = Folder::new(places, &toolchain, &build, crates.as_ref())?;
    if !build.is_ready() || crates.is_some_and(|crates| !crates.is_ready()) {
        folder.build_meanwhile(places, &build, &notebooks)?;
    }
    let pipe = folder.reap_at_end()?;
    let tools = toolchain.sysroot.join("bin");
    let mut kernel = Command::new(places.kernel_exe());
    kernel
        .arg(connection_file)
        .env("EVCXR_TMPDIR", folder.cells())
        .env("EVCXR_CONFIG_DIR", folder.config())
        .env("TOPICBOOK_KERNEL", &folder.path)
        // For the `cargo metadata` of rust-analyzer; builds have flags of their own (see `Build`).
        .env("RUSTFLAGS", "--cfg topicbook_outline")
        // rust-analyzer needs the sources of the standard library to infer the type of a `?`.
        .env("RUST_SRC_PATH", folder.std())
        // The tools themselves instead of rustup's proxies, which look them up at every call.
        .env("PATH", path_with(&tools)?)
        .env("RUSTC", tools.join("rustc"))
        .env("CARGO", tools.join("cargo"))
        .env_remove("CARGO_TARGET_DIR")
        .envs(linker::instead_of_cc(places, &toolchain)?.map(|linker| (linker::VARIABLE, linker)))
        .env("LD_LIBRARY_PATH", build.libraries(&toolchain)?)
        // The write end of a pipe, which the kernel never uses: the reaper sees it closed when the kernel has ended for
        // any reason.
        .stdin(Stdio::from(OwnedFd::from(pipe)))
        // The output of cells uses Jupyter's protocol.
        .stdout(Stdio::null());
    let error = kernel.exec();
    Err(Fail::new(format!(
        "cannot start {}: {error}\nto do: {}, then restart the kernel",
        places.kernel_exe().display(),
        match places.is_wheel {
            true => "install the wheel again".to_owned(),
            false => format!("run `cargo xtask setup` in {}", places.root.display()),
        }
    )))
}

/// Waits until the kernel has ended, then removes its folder. This process holds the folder's lock until then: it
/// inherited the locked file as its standard output.
pub fn reap(folder: &Path) -> Result<()> {
    io::stdin().read_to_end(&mut Vec::new())?;
    remove(folder)
}

/// The value of `PATH` with a folder in front.
pub fn path_with(first: &Path) -> Result<OsString> {
    let rest = env::var_os("PATH").unwrap_or_default();
    env::join_paths(
        [first.to_path_buf()]
            .into_iter()
            .chain(env::split_paths(&rest)),
    )
    .map_err(|error| Fail::new(error.to_string()))
}

/// The folder of the cells. evcxr sends the path of a compiled cell to the process that runs it, and a space ends it there: so
/// it is a folder for temporary files where the kernel's own path has one.
fn cells_of(folder: &Path) -> PathBuf {
    match folder.to_string_lossy().contains(char::is_whitespace) {
        true => {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            env::temp_dir().join(format!("topicbook-kernel-{name}"))
        }
        false => folder.join("cells"),
    }
}

/// Removes the folder of a kernel that has ended. What Cargo has compiled for all kernels of its build stays with the build.
fn remove(folder: &Path) -> Result<()> {
    let cells = cells_of(folder);
    if cells.is_dir() {
        if let Ok(build) = fs::read_link(folder.join(LINKED)) {
            // It only makes the start of the next kernel quicker.
            let _ = warm::keep(&build, &cells);
        }
        fs::remove_dir_all(&cells).at(&cells)?;
    }
    fs::remove_dir_all(folder).at(folder)
}

/// The link in a kernel's folder to the build or the crates that its cells link to.
const LINKED: &str = "build";

struct Folder {
    path: PathBuf,
    lock: File,
}

impl Folder {
    fn new(
        places: &Places,
        toolchain: &Toolchain,
        build: &Build,
        crates: Option<&Crates>,
    ) -> Result<Self> {
        fs::create_dir_all(places.kernels()).at(&places.kernels())?;
        // The lock keeps kernels that start at the same time from removing each other's new folders as stale.
        let turn = places.cache.join("kernels.lock");
        let turn = File::create(&turn)
            .and_then(|file| file.lock().map(|()| file))
            .at(&turn)?;
        remove_stale(places);
        let path = places.kernels().join(std::process::id().to_string());
        fs::create_dir(&path).at(&path)?;
        let lock = File::create(path.join("lock")).at(&path)?;
        lock.lock().at(&path)?;
        drop(turn);
        let folder = Self { path, lock };
        let cells = folder.cells();
        fs::create_dir(&cells).at(&cells)?;
        fs::create_dir_all(folder.config()).at(&folder.path)?;
        // `remove_stale` keeps the builds that a running kernel links to.
        let linked = crates.map_or(build.folder(), Crates::folder);
        symlink(linked, folder.path.join(LINKED)).at(&folder.path)?;
        // Without it, the kernel only starts later.
        let _ = warm::restore(linked, &cells);
        let sources = folder.path.join(SOURCES);
        fs::create_dir(&sources).at(&folder.path)?;
        if let Some(all) = places.std_sources().or_else(|| toolchain.std_sources()) {
            for part in STD {
                symlink(all.join(part), sources.join(part)).at(&folder.path)?;
            }
        }
        // Without `core`, rust-analyzer would look elsewhere.
        fs::create_dir_all(folder.std().join("core")).at(&folder.path)?;
        let start = folder.config().join("init.evcxr");
        fs::write(
            &start,
            format!(
                ":opt 0\n:build_env CARGO_ENCODED_RUSTFLAGS={}\n:dep topicbook = {{ path = {:?} }}\n{}{STRICT}",
                build.encoded_rustflags(crates.map(Crates::flag)),
                build.facade(),
                crates.map(Crates::start).unwrap_or_default(),
            ),
        )
        .at(&start)?;
        let cargo = folder.path.join(".cargo");
        fs::create_dir(&cargo).at(&folder.path)?;
        let settings = cargo.join("config.toml");
        fs::write(&settings, CARGO).at(&settings)?;
        Ok(folder)
    }

    fn cells(&self) -> PathBuf {
        cells_of(&self.path)
    }

    fn config(&self) -> PathBuf {
        self.path.join("config")
    }

    fn std(&self) -> PathBuf {
        self.path.join("std")
    }

    /// Starts the process that builds the library, in a process group of its own, so that it continues if the kernel
    /// ends: the next kernel needs the build as well. Its output goes to a file that it keeps locked until it ends.
    fn build_meanwhile(&self, places: &Places, build: &Build, notebooks: &Path) -> Result<()> {
        // The dynamic linker ignores a folder that does not exist at its first look-up.
        fs::create_dir_all(build.folder()).at(build.folder())?;
        let path = self.path.join("build.log");
        let log = File::create(&path).at(&path)?;
        log.lock().at(&path)?;
        eprintln!("topicbook: building the library; the notebook's first cell shows the progress");
        Command::new(env::current_exe()?)
            .arg(BUILD)
            .arg(notebooks)
            .stdin(Stdio::null())
            .stdout(Stdio::from(log.try_clone()?))
            .stderr(Stdio::from(log))
            .process_group(0)
            .current_dir(&places.root)
            .spawn()?;
        Ok(())
    }

    /// Starts the process that removes the folder when the returned end of a pipe is closed (the reaper).
    fn reap_at_end(&self) -> Result<io::PipeWriter> {
        let (reader, writer) = io::pipe()?;
        Command::new(env::current_exe()?)
            .arg(REAP)
            .arg(&self.path)
            .stdin(Stdio::from(OwnedFd::from(reader)))
            .stdout(Stdio::from(OwnedFd::from(self.lock.try_clone()?)))
            // A process group of its own, which the signals that end or interrupt the kernel do not reach.
            .process_group(0)
            .current_dir("/")
            .spawn()?;
        Ok(writer)
    }
}

/// The parts of the standard library whose sources rust-analyzer gets. With all parts it would also read the intrinsics
/// of all processors and ask Cargo about a dozen more packages, which takes two seconds at the start.
const STD: [&str; 4] = ["core", "alloc", "std", "proc_macro"];

/// Cargo's configuration for the cells. The kernel compiles some cells with optimisation and some without (see
/// crates/kernel/src/speed.rs); the crates that they use are compiled once, with optimisation.
const CARGO: &str = "[profile.dev.package.\"*\"]\nopt-level = 2\n";

/// The folder of the kernel's folder with links to them. The kernel puts it into the place of the empty folder that rust-analyzer
/// gets first: evcxr evaluates a cell before it knows the library, and rust-analyzer would read all sources for that, and again
/// with the library.
const SOURCES: &str = "std-sources";

/// Holds for all cells: a `Result` that is neither bound nor followed by `?` is an error, because the failure of
/// `fit.save("...");` would go unnoticed. evcxr compiles the first `?` twice, and would then show the value of its line as text
/// alone.
const STRICT: &str = "#![deny(unused_must_use)]\nOk::<(), std::fmt::Error>(())?;\n";

/// Removes the folders of kernels that ended without a reaper, and builds that no kernel uses, except the three newest.
fn remove_stale(places: &Places) {
    let mut used = Vec::new();
    for folder in entries(&places.kernels()) {
        let running = File::open(folder.join("lock")).is_ok_and(|lock| lock.try_lock().is_err());
        if !running {
            let _ = remove(&folder);
        } else if let Ok(build) = fs::read_link(folder.join(LINKED)) {
            used.push(build);
        }
    }
    let mut builds: Vec<_> = entries(&places.builds())
        .into_iter()
        .filter_map(|build| Some((fs::metadata(&build).ok()?.modified().ok()?, build)))
        .collect();
    builds.sort();
    builds.reverse();
    for (_, build) in builds.into_iter().skip(3) {
        if !used.iter().any(|used| used.starts_with(&build)) {
            let _ = fs::remove_dir_all(&build);
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .map(|entries| {
            entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .collect()
        })
        .unwrap_or_default()
}
