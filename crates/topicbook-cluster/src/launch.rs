//! Starts the ranks, and ends them.

use std::env;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::config::Cluster;
use crate::error::{Error, Result};
use crate::system::cache_folder;
use crate::text::shown_path;

use super::process::Process;
use super::run_folder::{RunFolder, read_json, write_json};

/// Variables of this process that a launcher receives; ranks receive no others from a notebook.
const VARIABLES: [&str; 10] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "KRB5CCNAME",
    "SLURM_CONF",
    "LD_LIBRARY_PATH",
];
/// With these variables Open MPI runs as root, the user in most containers.
const AS_ROOT: [&str; 4] = [
    "OMPI_ALLOW_RUN_AS_ROOT",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
    "PRTE_ALLOW_RUN_AS_ROOT",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
];
/// How long a launcher may take to end its ranks before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// Interval at which the state of a launcher is checked.
const POLL: Duration = Duration::from_millis(10);

/// The program of the ranks, and the `mpiexec` that belongs to its MPI.
#[derive(Debug, Clone)]
pub struct Launcher {
    worker: PathBuf,
    mpiexec: PathBuf,
}

impl Launcher {
    /// The program that `TOPICBOOK_WORKER` names, else the program in the cache folder.
    pub fn find() -> Result<Self> {
        let named = env::var_os("TOPICBOOK_WORKER").map(PathBuf::from);
        let cached = || cache_folder().map(|cache| cache.join("bin").join("topicbook-worker"));
        let worker = named.or_else(cached).filter(|path| path.is_file());
        let Some(worker) = worker else {
            return Err(Error::cluster("the program of the ranks, topicbook-worker, is not built")
                .fix(
                "run `cargo xtask worker` once; it installs Open MPI where the site has no mpicc",
            ));
        };
        let worker =
            std::path::absolute(&worker).map_err(|error| Error::io("find", &worker, error))?;
        let mpiexec = fs::read_to_string(worker.with_extension("mpiexec"));
        Ok(Self {
            mpiexec: mpiexec.map_or("mpiexec".into(), |path| path.trim().into()),
            worker,
        })
    }

    /// A launcher without a worker.
    #[cfg(test)]
    pub(super) fn of(mpiexec: PathBuf) -> Self {
        Self {
            worker: PathBuf::new(),
            mpiexec,
        }
    }

    /// A command with the variables of a launcher and an empty standard input.
    pub(super) fn command(program: &str) -> Command {
        let mut command = Command::new(program);
        let variables = VARIABLES.into_iter();
        command
            .env_clear()
            .envs(variables.filter_map(|name| Some((name, env::var_os(name)?))))
            .stdin(Stdio::null())
            // A Ctrl-C in a terminal goes only to the notebook, which ends the ranks itself.
            .process_group(0);
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } == 0 {
            command.envs(AS_ROOT.map(|name| (name, "1")));
        }
        command
    }

    /// The launcher that belongs to the worker's MPI.
    pub(super) fn mpiexec(&self) -> &Path {
        &self.mpiexec
    }

    /// Starts the ranks. They end with the thread that calls this, unless the run outlives the notebook.
    pub fn start(&self, cluster: &Cluster, folder: &RunFolder) -> Result<Launched> {
        let words = cluster.words(&self.mpiexec);
        let Some((program, arguments)) = words.split_first() else {
            return Err(Error::setting("the command of the cluster is empty"));
        };
        let output = folder.output();
        let output = File::create(&output).map_err(|error| Error::io("write", &output, error))?;
        let mut command = Self::command(program);
        command
            .args(arguments)
            .arg(&self.worker)
            .arg(folder.path())
            .stdout(
                output
                    .try_clone()
                    .map_err(|e| Error::io("write", folder.path(), e))?,
            )
            .stderr(output);
        // Another process can only find the run of a fit.
        if !(cluster.outlives_the_notebook() && folder.started().is_file()) {
            end_with_parent(&mut command, libc::SIGTERM);
        }
        let child = command.spawn().map_err(|error| {
            let program = shown_path(Path::new(program));
            Error::cluster(format!("cannot start {program}: {error}"))
                .fix("check the command of the cluster, and that the program is in the PATH")
                .because(error)
        })?;
        let process = Process::of(child.id());
        let launched = Launched::Child(child);
        if let Some(process) = process {
            write_json(&folder.launcher(), &process)?;
        }
        Ok(launched)
    }
}

/// Makes the system send a signal to the process when the thread that starts it ends (`PR_SET_PDEATHSIG`).
pub(super) fn end_with_parent(command: &mut Command, signal: libc::c_int) {
    // SAFETY: prctl with these arguments is safe to call between fork and exec, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            match libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}

/// A launcher that runs. Its ranks are ended when it is dropped.
#[derive(Debug)]
pub enum Launched {
    Child(Child),
    /// Started by a process that has died; `None` if that process had not yet written it down.
    Found(Option<Process>),
}

impl Launched {
    /// The launcher of a run that another process has started.
    pub fn find(folder: &RunFolder) -> Self {
        Self::Found(read_json(&folder.launcher()).ok())
    }

    /// How the launcher has ended; `None` while it runs, or where that cannot be seen from this machine.
    pub fn ended(&mut self) -> Option<String> {
        match self {
            Self::Child(child) => Some(child.try_wait().ok()??.to_string()),
            Self::Found(Some(process)) => {
                (process.runs() == Some(false)).then(|| "its launcher has ended".into())
            }
            Self::Found(None) => Some("its launcher was not started".into()),
        }
    }

    /// Waits for the end of ranks that have done their work, for 5 seconds at most.
    pub fn wait(&mut self) {
        let began = Instant::now();
        while self.ended().is_none() && began.elapsed() < GRACE {
            std::thread::sleep(POLL);
        }
    }

    /// Ends the ranks: sends `SIGTERM` to the launcher, and kills it if it takes longer than 5 seconds. The ranks of a
    /// launcher on another machine end when the folder of their run is missing.
    pub fn end(&mut self) {
        if self.ended().is_some() {
            return;
        }
        self.signal(libc::SIGTERM);
        self.wait();
        if self.ended().is_none() {
            // The supervisors of the ranks on this machine end with it. This process cannot reach the others.
            self.signal(libc::SIGKILL);
            if let Self::Child(child) = self {
                let _ = child.wait();
            }
        }
    }

    /// Leaves the ranks as they are.
    pub fn leave(&mut self) {
        // Dropping it would end them.
        std::mem::forget(std::mem::replace(self, Self::Found(None)));
    }

    fn signal(&self, signal: libc::c_int) {
        match self {
            Self::Child(child) => {
                if let Ok(process) = i32::try_from(child.id()) {
                    // SAFETY: the process is a child that has not been waited for, so the number is its own.
                    unsafe { libc::kill(process, signal) };
                }
            }
            Self::Found(Some(process)) => process.signal(signal),
            Self::Found(None) => {}
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.end();
    }
}
