//! One running kernel: its folder, its environment, its end.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::places::Places;
use crate::task::{At, Fail, Result};
use crate::toolchain::Toolchain;
use crate::warm::{Build, packages};

/// The launcher's own first argument when it waits for a kernel's end.
pub const REAP: &str = "--reap";

/// The same when it builds the library for a kernel that has started already.
pub const BUILD: &str = "--build";

/// Becomes the kernel that Jupyter talks to through `connection_file`. Returns only when that fails.
///
/// When sources, lock file or Rust have changed since the last build, the kernel starts all the same: the library is
/// built beside it, and the first cell waits for it and shows how far it is (see `waiting`).
pub fn start(places: &Places, connection_file: &Path) -> Result<()> {
    let toolchain = Toolchain::find(places)?;
    let build = Build::present(places, &toolchain)?;
    let folder = Folder::new(places, &toolchain, &build)?;
    if !build.is_ready() {
        folder.build_meanwhile(places, &build)?;
    }
    let pipe = folder.reap_at_end()?;
    let mut kernel = Command::new(places.evcxr_exe());
    kernel
        .arg("--control_file")
        .arg(connection_file)
        .env("EVCXR_TMPDIR", folder.cells())
        .env("EVCXR_CONFIG_DIR", folder.config())
        .env("TOPICBOOK_KERNEL", &folder.path)
        // Seen by rust-analyzer's `cargo metadata`; builds get flags of their own (see `Build`).
        .env("RUSTFLAGS", "--cfg topicbook_outline")
        // rust-analyzer needs sources of the standard library, or it cannot follow a `?`.
        .env("RUST_SRC_PATH", folder.std())
        // Straight to the tools instead of through rustup, which looks them up at every call.
        .env("PATH", path_with(&toolchain.sysroot.join("bin"))?)
        .env("RUSTC", toolchain.sysroot.join("bin").join("rustc"))
        // evcxr refreshes a kernel spec of its own where it finds one: not in the user's home.
        .env("JUPYTER_PATH", places.jupyter())
        .env_remove("CARGO_TARGET_DIR")
        .env("LD_LIBRARY_PATH", libraries(&build, &toolchain)?)
        // Never read. Its closing tells the reaper that the kernel has ended, however it ended.
        .stdin(Stdio::from(OwnedFd::from(pipe)))
        // evcxr's remarks about its configuration. What cells print goes through Jupyter's protocol.
        .stdout(Stdio::null());
    let error = kernel.exec();
    Err(Fail::new(format!(
        "cannot start {}: {error}",
        places.evcxr_exe().display()
    )))
}

/// Builds the library.
pub fn build(places: &Places) -> Result<()> {
    Build::ready(places, &Toolchain::find(places)?).map(drop)
}

/// Waits until the kernel has ended, then removes its folder. The folder's lock came as standard output and
/// is held until then.
pub fn reap(folder: &Path) -> Result<()> {
    io::stdin().read_to_end(&mut Vec::new())?;
    fs::remove_dir_all(folder).at(folder)
}

/// Where the process that runs the cells finds the library, and Rust's own: the path that rustc writes into a cell is
/// relative to the folder it is compiled in, and evcxr moves the cell out of it. Then what the user has named, as CUDA's
/// compiler may lie there.
fn libraries(build: &Build, toolchain: &Toolchain) -> Result<std::ffi::OsString> {
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let ours = [build.folder(), toolchain.libraries.as_path()];
    env::join_paths(
        ours.into_iter()
            .map(Path::to_path_buf)
            .chain(env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty())),
    )
    .map_err(|error| Fail::new(error.to_string()))
}

fn path_with(first: &Path) -> Result<std::ffi::OsString> {
    let rest = env::var_os("PATH").unwrap_or_default();
    env::join_paths(
        [first.to_path_buf()]
            .into_iter()
            .chain(env::split_paths(&rest)),
    )
    .map_err(|error| Fail::new(error.to_string()))
}

struct Folder {
    path: PathBuf,
    lock: File,
}

impl Folder {
    fn new(places: &Places, toolchain: &Toolchain, build: &Build) -> Result<Self> {
        fs::create_dir_all(places.kernels()).at(&places.kernels())?;
        // Kernels that start at the same time must not take each other's new folder for a stale one.
        let turn = places.cache.join("kernels.lock");
        let turn = File::create(&turn)
            .and_then(|file| file.lock().map(|()| file))
            .at(&turn)?;
        sweep(places);
        let path = places.kernels().join(std::process::id().to_string());
        fs::create_dir(&path).at(&path)?;
        let lock = File::create(path.join("lock")).at(&path)?;
        lock.lock().at(&path)?;
        drop(turn);
        let folder = Self { path, lock };
        fs::create_dir_all(folder.cells()).at(&folder.path)?;
        fs::create_dir_all(folder.config()).at(&folder.path)?;
        // So that the build is not swept away while this kernel runs.
        symlink(build.folder(), folder.path.join("build")).at(&folder.path)?;
        fs::create_dir(folder.std()).at(&folder.path)?;
        if let Some(sources) = toolchain.std_sources() {
            for part in STD {
                symlink(sources.join(part), folder.std().join(part)).at(&folder.path)?;
            }
        }
        let (facade, first_cell) = match build.is_ready() {
            true => (build.facade(), WARM_UP),
            false => {
                packages(places, &folder.path)?;
                let script = folder.path.join("facade").join("build.rs");
                fs::write(&script, include_str!("waiting/build.rs")).at(&script)?;
                (
                    folder.path.join("facade"),
                    include_str!("waiting/prelude.rs"),
                )
            }
        };
        let start = folder.config().join("init.evcxr");
        fs::write(
            &start,
            format!(
                ":build_env CARGO_ENCODED_RUSTFLAGS={}\n:dep topicbook = {{ path = {:?} }}\n",
                build.encoded_rustflags(),
                facade
            ),
        )
        .at(&start)?;
        let prelude = folder.config().join("prelude.rs");
        fs::write(&prelude, first_cell).at(&prelude)?;
        Ok(folder)
    }

    fn cells(&self) -> PathBuf {
        self.path.join("cells")
    }

    fn config(&self) -> PathBuf {
        self.path.join("config")
    }

    fn std(&self) -> PathBuf {
        self.path.join("std")
    }

    /// Starts the process that builds the library, out of reach of what happens to the kernel: the next one will want it.
    /// Its output goes to a file that it holds locked to its end.
    fn build_meanwhile(&self, places: &Places, build: &Build) -> Result<()> {
        // The dynamic linker never again looks into a folder that is not there the first time.
        fs::create_dir_all(build.folder()).at(build.folder())?;
        let path = self.path.join("build.log");
        let log = File::create(&path).at(&path)?;
        log.lock().at(&path)?;
        eprintln!("topicbook: building the library; the notebook's first cell shows how far it is");
        Command::new(env::current_exe()?)
            .arg(BUILD)
            .stdin(Stdio::null())
            .stdout(Stdio::from(log.try_clone()?))
            .stderr(Stdio::from(log))
            .process_group(0)
            .current_dir(&places.root)
            .spawn()?;
        Ok(())
    }

    /// Starts the process that removes the folder when the returned end of a pipe is closed.
    fn reap_at_end(&self) -> Result<io::PipeWriter> {
        let (reader, writer) = io::pipe()?;
        Command::new(env::current_exe()?)
            .arg(REAP)
            .arg(&self.path)
            .stdin(Stdio::from(OwnedFd::from(reader)))
            .stdout(Stdio::from(OwnedFd::from(self.lock.try_clone()?)))
            // Out of reach of the signals that end or interrupt the kernel.
            .process_group(0)
            .current_dir("/")
            .spawn()?;
        Ok(writer)
    }
}

/// The parts of the standard library whose sources rust-analyzer gets to see. With all of them it would also
/// read every processor's intrinsics and ask Cargo about a dozen more packages: two seconds of the start.
const STD: [&str; 4] = ["core", "alloc", "std", "proc_macro"];

/// What a kernel does before the first cell, while the person still reads: rust-analyzer is slow only once.
/// The variable is gone when it is done.
const WARM_UP: &str =
    "let topicbook_ready = topicbook::Matrix::new(0, 0, Vec::new())?;\ndrop(topicbook_ready);\n";

/// Removes folders of kernels that ended without a reaper, and builds that are neither used nor recent.
fn sweep(places: &Places) {
    let mut used = Vec::new();
    for folder in entries(&places.kernels()) {
        let running = File::open(folder.join("lock")).is_ok_and(|lock| lock.try_lock().is_err());
        if !running {
            let _ = fs::remove_dir_all(&folder);
        } else if let Ok(build) = fs::read_link(folder.join("build")) {
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
        if !used.contains(&build) {
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
