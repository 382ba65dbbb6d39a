//! Processes that find a driver without a card: their environment, and what the driver has seen.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cardless::Report;

/// A machine as a child process sees it.
#[derive(Clone)]
pub struct Machine {
    driver: bool,
    compiler: Compiler,
    headers: bool,
    variables: Vec<(&'static str, String)>,
}

/// What is found as NVRTC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// Takes every kernel for one that does nothing, at once.
    StandIn,
    /// NVIDIA's, from the packages of Python that `cargo xtask` installs.
    Nvidia,
    Missing,
}

/// Set in a child process, to the name of its test.
const CHILD: &str = "TOPICBOOK_TEST_CHILD";

impl Default for Machine {
    /// One card of 8 GiB with nothing on it.
    fn default() -> Self {
        Self {
            driver: true,
            compiler: Compiler::StandIn,
            headers: true,
            variables: Vec::new(),
        }
    }
}

impl Machine {
    pub fn without_driver(mut self) -> Self {
        self.driver = false;
        self
    }

    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.compiler = compiler;
        self
    }

    pub fn without_headers(mut self) -> Self {
        self.headers = false;
        self
    }

    /// A variable of the driver's [`Settings`](cardless), without its prefix.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.variables.push((name, value.to_string()));
        self
    }

    /// Runs a test's body in a process of its own, and gives what the driver has seen; in that process, gives nothing.
    #[track_caller]
    pub fn run(&self, test: &str, body: impl FnOnce()) -> Option<Report> {
        if env::var_os(CHILD).is_some() {
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
            .env("CARDLESS_REPORT", &report)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{test}: {}", text(&output));
        assert!(text(&output).contains("1 passed"), "no test {test}");
        // What it measured; not the harness's own lines, which would be counted twice.
        let said = String::from_utf8_lossy(&output.stdout);
        for line in said.lines() {
            if !line.starts_with("test ") && !line.starts_with("running ") && !line.is_empty() {
                println!("{line}");
            }
        }
        let report = Report::read(&report).unwrap_or_default();
        assert_eq!(
            (report.wrong, report.overwritten),
            (0, 0),
            "{}",
            text(&output)
        );
        Some(report)
    }

    /// A program on this machine; `folder` takes the libraries' names.
    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        let libraries = folder.join("lib");
        fs::create_dir_all(&libraries).unwrap();
        let ours = env::current_exe().unwrap().with_file_name("libcardless.so");
        let link = |name: &str, to: &Path| {
            let _ = symlink(to, libraries.join(name));
        };
        if self.driver {
            link("libcuda.so.1", &ours);
            link("libcuda.so", &ours);
            link("libnvidia-ml.so.1", &ours);
        }
        let toolkit = folder.join("toolkit");
        let mut path = vec![libraries.clone()];
        match self.compiler {
            Compiler::StandIn => link("libnvrtc.so", &ours),
            Compiler::Nvidia => path.extend(nvidia().map(|nvidia| nvidia.join("cuda_nvrtc/lib"))),
            Compiler::Missing => {}
        }
        fs::create_dir_all(toolkit.join("include")).unwrap();
        if self.headers {
            match (self.compiler, nvidia()) {
                (Compiler::Nvidia, Some(nvidia)) => {
                    let _ = fs::remove_dir(toolkit.join("include"));
                    let _ = symlink(nvidia.join("cuda_runtime/include"), toolkit.join("include"));
                }
                _ => fs::write(toolkit.join("include/cuda_runtime.h"), "").unwrap(),
            }
        }
        let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        path.extend(env::split_paths(&before));
        let mut command = Command::new(program);
        command
            .env("LD_LIBRARY_PATH", env::join_paths(path).unwrap())
            .env("CUDA_PATH", &toolkit);
        for (name, value) in &self.variables {
            command.env(format!("CARDLESS_{name}"), value);
        }
        command
    }
}

/// The folder of NVIDIA's Python packages.
pub fn nvidia() -> Option<PathBuf> {
    let python = PathBuf::from(env::var_os("TOPICBOOK_NVRTC")?);
    let versions = fs::read_dir(python.join("lib")).ok()?;
    versions
        .filter_map(|version| Some(version.ok()?.path().join("site-packages/nvidia")))
        .find(|folder| folder.join("cuda_nvrtc/lib").is_dir())
}

/// All that a process has said.
pub fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}
