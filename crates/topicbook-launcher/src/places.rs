//! The paths of the repository, of the cache, and of the folders in them.

use std::env;
use std::path::{Path, PathBuf};

use crate::task::{At, Fail, Result};

/// Crates of our name that the library is not made of.
const BESIDE: [&str; 4] = [
    "topicbook-bench",
    "topicbook-dylib",
    "topicbook-launcher",
    "topicbook-worker",
];

/// The folders of a checkout or of a wheel, and of the cache. Nothing is written elsewhere.
#[derive(Clone)]
pub struct Places {
    /// The repository, or the Python package that the wheel has installed.
    pub root: PathBuf,
    /// The cache. In a checkout, of `cargo xtask setup`: Python environment, evcxr, kernel spec, published builds, running
    /// kernels. With a wheel, what its Python package has unpacked.
    pub cache: PathBuf,
    /// Cargo's target folder, which the library, its tests, the kernel and the user's own Cargo commands share.
    pub target: PathBuf,
    /// The Python with Jupyter; in a checkout its environment has NumPy and SciPy, too.
    pub python: PathBuf,
    /// Executed notebooks and their data; with a wheel, the data of the course alone.
    pub build: PathBuf,
    /// Whether these are the folders of a wheel, whose library is built.
    pub is_wheel: bool,
}

impl Places {
    /// The folders of an installed wheel, from the variables that its Python package sets.
    pub fn of_wheel() -> Result<Self> {
        let [root, cache, python] =
            ["TOPICBOOK_WHEEL", "TOPICBOOK_UNPACKED", "TOPICBOOK_PYTHON"].map(env::var_os);
        let (Some(root), Some(cache), Some(python)) = (root, cache, python) else {
            return Err(Fail::new(
                "start this as `topicbook`, or as `python -m topicbook`",
            ));
        };
        let cache = PathBuf::from(cache);
        Ok(Self {
            root: root.into(),
            target: cache.join("target"),
            build: cache.join("course"),
            cache,
            python: python.into(),
            is_wheel: true,
        })
    }

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
        Ok(Self::of_checkout(root, cache, target))
    }

    /// The folders of a repository, its cache and its target folder.
    pub fn of_checkout(root: PathBuf, cache: PathBuf, target: PathBuf) -> Self {
        Self {
            build: root.join("build"),
            python: cache.join("python").join("bin").join("python"),
            root,
            cache,
            target,
            is_wheel: false,
        }
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

    /// The programs in Python.
    pub fn scripts(&self) -> PathBuf {
        match self.is_wheel {
            true => self.root.clone(),
            false => self.root.join("xtask").join("python"),
        }
    }

    /// The Python environment of a checkout.
    pub fn environment(&self) -> PathBuf {
        self.cache.join("python")
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
        self.programs().join("topicbook-worker")
    }

    /// Cargo's target folder for that program, which is built with fewer features and flags of its own.
    pub fn worker_target(&self) -> PathBuf {
        self.target.join("worker")
    }

    /// The kernel, which runs the cells.
    pub fn kernel_exe(&self) -> PathBuf {
        self.programs().join("topicbook-evcxr")
    }

    /// The folder of the programs that kernels need.
    fn programs(&self) -> PathBuf {
        match self.is_wheel {
            true => self.root.join("bin"),
            false => self.cache.join("bin"),
        }
    }

    /// Cargo's target folder for the kernel, which has a profile and flags of its own.
    pub fn kernel_target(&self) -> PathBuf {
        self.target.join("kernel")
    }

    /// The program that the kernel spec starts.
    pub fn launcher(&self) -> PathBuf {
        self.programs().join("topicbook")
    }

    /// The program that writes what rust-analyzer reads.
    pub fn outliner(&self) -> PathBuf {
        self.programs().join("topicbook-outline")
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

    pub fn wheel_build(&self) -> PathBuf {
        self.cache.join("build")
    }

    /// The sources of the standard library that a wheel brings: a toolchain without the component `rust-src` is enough.
    pub fn std_sources(&self) -> Option<PathBuf> {
        self.is_wheel.then(|| self.cache.join("std"))
    }
}
