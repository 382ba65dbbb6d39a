//! The paths of the repository, of the cache, and of the folders in them.

use std::env;
use std::path::{Path, PathBuf};

use crate::task::{At, Fail, Result};

/// Crates of our name that the library is not made of.
const BESIDE: [&str; 3] = ["topicbook-bench", "topicbook-dylib", "topicbook-worker"];

/// Folders of this repository and of its cache. Nothing is written elsewhere.
#[derive(Clone)]
pub struct Places {
    /// The repository.
    pub root: PathBuf,
    /// The cache of `cargo xtask setup`: Python environment, evcxr, kernel spec, published builds, running kernels.
    pub cache: PathBuf,
    /// Cargo's target folder, which the library, its tests, the kernel and the user's own Cargo commands share.
    pub target: PathBuf,
}

impl Places {
    /// The folders for a command of `cargo xtask`, which sets the path of the repository.
    pub fn of_xtask() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .ok_or_else(|| Fail::new("start this with `cargo xtask`"))?;
        let root = Path::new(&manifest)
            .parent()
            .ok_or_else(|| Fail::new("xtask has no parent folder"))?
            .to_path_buf();
        let cache = match (
            env::var_os("TOPICBOOK_CACHE"),
            env::var_os("XDG_CACHE_HOME"),
            env::var_os("HOME"),
        ) {
            (Some(cache), _, _) => PathBuf::from(cache),
            (_, Some(caches), _) => Path::new(&caches).join("topicbook"),
            (_, _, Some(home)) => Path::new(&home).join(".cache").join("topicbook"),
            _ => {
                return Err(Fail::new(
                    "there is no folder for the cache: set TOPICBOOK_CACHE or HOME",
                ));
            }
        };
        let cache = std::path::absolute(cache)?;
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(target) => std::path::absolute(PathBuf::from(target))?,
            // The folder that `cargo check` and rust-analyzer use by default.
            None => root.join("target"),
        };
        Ok(Self {
            root,
            cache,
            target,
        })
    }

    /// The names of the crates below the one that cells import, which are also the names of their folders in `crates`.
    pub fn crates_below(&self) -> Result<Vec<String>> {
        let crates = self.root.join("crates");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&crates).at(&crates)? {
            let name = entry.at(&crates)?.file_name();
            let name = name.into_string().unwrap_or_default();
            if name.starts_with("topicbook-") && !BESIDE.contains(&&*name) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The names of all crates of the library.
    pub fn crates(&self) -> Result<Vec<String>> {
        let mut names = self.crates_below()?;
        names.push("topicbook".into());
        Ok(names)
    }

    /// Executed notebooks and their data.
    pub fn build(&self) -> PathBuf {
        self.root.join("build")
    }

    /// The Python environment with Jupyter, NumPy and SciPy.
    pub fn python(&self) -> PathBuf {
        self.cache.join("python")
    }

    /// The Python of that environment.
    pub fn python_exe(&self) -> PathBuf {
        self.python().join("bin").join("python")
    }

    /// The Python environment that has only NVIDIA's compiler and its headers.
    pub fn nvrtc(&self) -> PathBuf {
        self.cache.join("nvrtc")
    }

    /// The Python environment that has Open MPI, and libclang.
    pub fn mpi(&self) -> PathBuf {
        self.cache.join("mpi")
    }

    /// The program of the ranks of a fit on a cluster.
    pub fn worker(&self) -> PathBuf {
        self.cache.join("bin").join("topicbook-worker")
    }

    /// Cargo's target folder for that program, which is built with fewer features and flags of its own.
    pub fn worker_target(&self) -> PathBuf {
        self.target.join("worker")
    }

    /// The kernel, which runs the cells.
    pub fn kernel_exe(&self) -> PathBuf {
        kernel_exe(&self.cache)
    }

    /// Cargo's target folder for the kernel, which has a profile and flags of its own.
    pub fn kernel_target(&self) -> PathBuf {
        self.target.join("kernel")
    }

    /// The program that the kernel spec starts.
    pub fn launcher(&self) -> PathBuf {
        self.cache.join("bin").join("topicbook-kernel")
    }

    /// The program that writes what rust-analyzer reads.
    pub fn outliner(&self) -> PathBuf {
        self.cache.join("bin").join("topicbook-outline")
    }

    /// A data folder for Jupyter with our kernel spec, so that the user's own folder is not changed.
    pub fn jupyter(&self) -> PathBuf {
        self.cache.join("jupyter")
    }

    /// One folder per running kernel.
    pub fn kernels(&self) -> PathBuf {
        self.cache.join("kernels")
    }

    /// One folder per published build of the library.
    pub fn builds(&self) -> PathBuf {
        self.cache.join("builds")
    }
}

/// The kernel in a cache.
pub fn kernel_exe(cache: &Path) -> PathBuf {
    cache.join("bin").join("topicbook-evcxr")
}
