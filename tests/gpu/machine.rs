//! Child processes that load the fake CUDA driver: their environment, and the driver's report.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fake_cuda::Report;

/// A simulated machine, as the environment of a child process.
#[derive(Clone)]
pub struct Machine {
    has_driver: bool,
    compiler: Compiler,
    has_headers: bool,
    variables: Vec<(&'static str, String)>,
    /// Whether the GPU is used as if it had passed its self-check, which no GPU passes whose kernels do nothing.
    is_trusted: bool,
    /// The cache folder; by default one of the child's own.
    cache: Option<PathBuf>,
}

/// The library that is found as NVRTC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// The stand-in of the fake driver, which compiles every kernel to an empty one.
    StandIn,
    /// NVIDIA's, from the Python packages that `cargo xtask` installs.
    Nvidia,
    Missing,
}

/// Set in child processes, to the name of their test.
const CHILD: &str = "TOPICBOOK_TEST_CHILD";

impl Default for Machine {
    /// One GPU with 8 GiB of free memory.
    fn default() -> Self {
        Self {
            has_driver: true,
            compiler: Compiler::StandIn,
            has_headers: true,
            variables: Vec::new(),
            is_trusted: true,
            cache: None,
        }
    }
}

impl Machine {
    pub fn without_driver(mut self) -> Self {
        self.has_driver = false;
        self
    }

    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.compiler = compiler;
        self
    }

    pub fn without_headers(mut self) -> Self {
        self.has_headers = false;
        self
    }

    /// Sets a variable of the fake driver's `Settings`; `name` has no `FAKE_CUDA_` prefix.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.variables.push((name, value.to_string()));
        self
    }

    /// Lets the GPU's self-check run.
    pub fn untrusted(mut self) -> Self {
        self.is_trusted = false;
        self
    }

    /// Sets the cache folder, in which the result of the self-check is kept.
    pub fn cache(mut self, folder: &Path) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Runs `body`, which is the body of the test `test`, in a child process on this machine, and returns the
    /// driver's report. Called in that child process, runs `body` itself and returns `None`.
    #[track_caller]
    pub fn run(&self, test: &str, body: impl FnOnce()) -> Option<Report> {
        self.run_with_output(test, body).map(|(report, _)| report)
    }

    /// [`run`](Self::run) that also returns the standard output of the child.
    #[track_caller]
    pub fn run_with_output(&self, test: &str, body: impl FnOnce()) -> Option<(Report, String)> {
        if env::var_os(CHILD).is_some() {
            if self.is_trusted {
                topicbook::bench_hooks::trust_gpu(0);
            }
            body();
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = env::current_exe().unwrap();
        let report = folder.path().join("report");
        let output = self
            .command(&program, folder.path())
            .args(["--exact", test, "--nocapture", "--include-ignored"])
            .env(CHILD, test)
            .env("FAKE_CUDA_REPORT", &report)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{test}: {}", text(&output));
        assert!(text(&output).contains("1 passed"), "no test {test}");
        // The body's own output, without the lines of the test harness, which `cargo xtask test` counts.
        let stdout = String::from_utf8_lossy(&output.stdout);
        for line in stdout.lines() {
            if !line.starts_with("test ") && !line.starts_with("running ") && !line.is_empty() {
                println!("{line}");
            }
        }
        let report = Report::read(&report).unwrap_or_default();
        assert_eq!(
            (report.invalid_accesses, report.overwritten),
            (0, 0),
            "{}",
            text(&output)
        );
        Some((report, stdout.into_owned()))
    }

    /// A program with the environment of this machine; links to the libraries are created in `folder`.
    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        let libraries = folder.join("lib");
        fs::create_dir_all(&libraries).unwrap();
        let fake_cuda = env::current_exe()
            .unwrap()
            .with_file_name("libfake_cuda.so");
        let link = |name: &str, to: &Path| {
            let _ = symlink(to, libraries.join(name));
        };
        if self.has_driver {
            link("libcuda.so.1", &fake_cuda);
            link("libcuda.so", &fake_cuda);
            link("libnvidia-ml.so.1", &fake_cuda);
        }
        let (toolkit, cache) = (folder.join("toolkit"), folder.join("cache"));
        let mut library_path = vec![libraries.clone()];
        match self.compiler {
            Compiler::StandIn => link("libnvrtc.so", &fake_cuda),
            Compiler::Nvidia => {
                library_path.extend(nvidia().map(|nvidia| nvidia.join("cuda_nvrtc/lib")))
            }
            Compiler::Missing => {}
        }
        fs::create_dir_all(toolkit.join("include")).unwrap();
        if self.has_headers {
            match (self.compiler, nvidia()) {
                (Compiler::Nvidia, Some(nvidia)) => {
                    let _ = fs::remove_dir(toolkit.join("include"));
                    let _ = symlink(nvidia.join("cuda_runtime/include"), toolkit.join("include"));
                }
                _ => fs::write(toolkit.join("include/cuda_runtime.h"), "").unwrap(),
            }
        }
        let inherited = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        library_path.extend(env::split_paths(&inherited));
        let mut command = Command::new(program);
        command
            .env("LD_LIBRARY_PATH", env::join_paths(library_path).unwrap())
            .env("CUDA_PATH", &toolkit)
            .env("TOPICBOOK_CACHE", self.cache.as_deref().unwrap_or(&cache));
        for (name, value) in &self.variables {
            command.env(format!("FAKE_CUDA_{name}"), value);
        }
        command
    }
}

/// The folder of NVIDIA's Python packages, in the environment that `TOPICBOOK_NVRTC` names.
pub fn nvidia() -> Option<PathBuf> {
    let python = PathBuf::from(env::var_os("TOPICBOOK_NVRTC")?);
    let versions = fs::read_dir(python.join("lib")).ok()?;
    versions
        .filter_map(|version| Some(version.ok()?.path().join("site-packages/nvidia")))
        .find(|folder| folder.join("cuda_nvrtc/lib").is_dir())
}

/// Standard output and standard error of a process.
pub fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}
