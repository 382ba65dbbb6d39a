//! Where the ranks of a fit on several machines run.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::data::or_ref;
use crate::error::{Error, Result};
use crate::text::shown_path;

/// Ranks that fit one model together: processes of an MPI job, on this machine or on several.
///
/// `TopicModel::cluster` takes it. Each rank runs the program `topicbook-worker`, which
/// `cargo xtask worker` builds with the site's MPI, or with Open MPI from Python's package index; cells and notebooks need no MPI.
/// A rank streams its share of the documents and holds their rows of L; after each pass, or each gradient step, the ranks add F's
/// statistics. Counts in several files may lie with the ranks: each opens only those that have documents of its share, which
/// `TopicModel::plan` lists, under the paths that this process has opened. L and F have the same bits for every number of ranks, and with a solver that passes over all documents those of the
/// fit in one process.
///
/// ```
/// use std::time::Duration;
/// use topicbook::{Cluster, Solver, TopicModel};
/// let cluster = Cluster::local(4).retries(2).patience(Duration::from_secs(30));
/// assert_eq!(cluster.to_string(), "4 ranks on this machine");
/// let model = TopicModel::new(20).solver(Solver::em()).cluster(cluster);
/// # let _ = model;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[doc(alias("MPI", "distributed"))]
pub struct Cluster {
    launch: Launch,
    retries: usize,
    patience: Duration,
    folder: Option<PathBuf>,
}

/// How the ranks are started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Launch {
    Local(usize),
    Hosts(PathBuf),
    /// A command that starts the program behind it on every rank.
    Command(String),
}

or_ref!(Cluster);

impl Cluster {
    /// So many ranks on this machine, 1 or more; they share its cores, and exchange by shared memory.
    ///
    /// The launcher of Open MPI 5.0 listens on a port of every interface, also for ranks of one machine, and cannot be told
    /// otherwise (ompi issue 14441; mended in September 2026 by pull request 2788 of PRRTE, for later versions). The ranks
    /// themselves listen nowhere.
    ///
    /// ```
    /// use topicbook::Cluster;
    /// assert_eq!(Cluster::local(2).to_string(), "2 ranks on this machine");
    /// ```
    pub fn local(ranks: usize) -> Self {
        Self::of(Launch::Local(ranks))
    }

    /// The hosts of a file of Open MPI: one a line, with `slots=` and its number of ranks (1 without). `mpiexec` starts them, by
    /// SSH.
    ///
    /// ```
    /// use topicbook::Cluster;
    /// let cluster = Cluster::hosts("hosts.txt").folder("/shared/runs");
    /// assert_eq!(cluster.to_string(), "the hosts of hosts.txt");
    /// ```
    pub fn hosts(file: impl Into<PathBuf>) -> Self {
        Self::of(Launch::Hosts(file.into()))
    }

    /// A job of Slurm: `srun` with these options, which name the number of ranks by `-n` or `--ntasks`.
    ///
    /// ```
    /// use topicbook::Cluster;
    /// let cluster = Cluster::slurm("-N 4 -n 4 -t 2:00:00").folder("/shared/runs");
    /// assert_eq!(cluster.to_string(), "srun -N 4 -n 4 -t 2:00:00");
    /// ```
    pub fn slurm(options: impl Into<String>) -> Self {
        Self::of(Launch::Command(format!("srun {}", options.into())))
    }

    /// Any launcher: the program is appended to this command, whose words are separated by spaces. It names the number of ranks
    /// by `-n`, `-np` or `--ntasks`.
    ///
    /// ```
    /// use topicbook::Cluster;
    /// let cluster = Cluster::command("mpiexec -n 64 --hostfile hosts").folder("/shared/runs");
    /// assert_eq!(cluster.to_string(), "mpiexec -n 64 --hostfile hosts");
    /// ```
    pub fn command(command: impl Into<String>) -> Self {
        Self::of(Launch::Command(command.into()))
    }

    fn of(launch: Launch) -> Self {
        Self {
            launch,
            retries: 0,
            patience: Duration::from_secs(120),
            folder: None,
        }
    }

    /// How often a job that has lost a rank is started again, from its last checkpoint; 0 by default. The result has the same
    /// bits as without the loss. Hosts of a file ([`hosts`](Self::hosts)) that do not start a program any more, within 20 seconds,
    /// are left out: the ranks of the others then have more documents each.
    ///
    /// ```
    /// use topicbook::Cluster;
    /// let cluster = Cluster::local(2).retries(3);
    /// assert_ne!(cluster, Cluster::local(2));
    /// ```
    pub fn retries(mut self, times: usize) -> Self {
        self.retries = times;
        self
    }

    /// How long a rank may show no progress before the job is ended: 2 minutes by default, at least a second. A rank shows it once
    /// a second while it is alive, and with each block of documents that it has read, and each sum that it has sent or received; one that waits for others need not, unless
    /// all of them wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// use topicbook::Cluster;
    /// let cluster = Cluster::local(2).patience(Duration::from_secs(600));
    /// assert_ne!(cluster, Cluster::local(2));
    /// ```
    #[doc(alias = "timeout")]
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// The folder in which the fit makes a folder of its own, readable to this user alone, for the job and for L and F
    /// (4 bytes x k x (documents + terms), twice). Every rank must see it under this path. By default that of temporary files, for
    /// [`local`](Self::local) ranks only.
    ///
    /// A run in a folder that is named here goes on when the notebook's process dies, and
    /// `TopicModel::attach` finds it there, to join it or to stop it. Without one it ends with that
    /// process.
    ///
    /// ```
    /// use topicbook::Cluster;
    /// let cluster = Cluster::local(2).folder("/var/tmp");
    /// assert_ne!(cluster, Cluster::local(2));
    /// ```
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    #[doc(hidden)]
    pub fn retries_left(&self, used: usize) -> bool {
        used < self.retries
    }

    #[doc(hidden)]
    pub fn time_without_progress(&self) -> Duration {
        self.patience
    }

    /// Whether a run goes on when the notebook's process dies: someone can find its folder.
    #[doc(hidden)]
    pub fn outlives_the_notebook(&self) -> bool {
        self.folder.is_some()
    }

    /// The same cluster for a process that is in another folder.
    #[doc(hidden)]
    pub fn with_absolute_paths(&self) -> Result<Self> {
        let absolute =
            |path: &Path| std::path::absolute(path).map_err(|error| Error::io("find", path, error));
        let mut cluster = self.clone();
        if let Launch::Hosts(file) = &mut cluster.launch {
            *file = absolute(file)?;
        }
        cluster.folder = self.folder.as_deref().map(absolute).transpose()?;
        Ok(cluster)
    }

    /// The hosts of the cluster's file; none if another launcher knows them.
    #[doc(hidden)]
    pub fn named_hosts(&self) -> Result<Vec<Host>> {
        match &self.launch {
            Launch::Hosts(file) => hosts(file),
            Launch::Local(_) | Launch::Command(_) => Ok(Vec::new()),
        }
    }

    /// The same cluster on these of its hosts, which are written into a file.
    #[doc(hidden)]
    pub fn on_hosts(&self, hosts: &[Host], file: &Path) -> Result<Self> {
        let lines = hosts.iter().map(|host| format!("{}\n", host.line));
        fs::write(file, lines.collect::<String>()).map_err(|e| Error::io("write", file, e))?;
        Ok(Self {
            launch: Launch::Hosts(file.into()),
            ..self.clone()
        })
    }

    /// Whether all ranks run on this machine.
    #[doc(hidden)]
    pub fn is_local(&self) -> bool {
        matches!(self.launch, Launch::Local(_))
    }

    /// The folder that holds the folders of runs.
    #[doc(hidden)]
    pub fn run_parent(&self) -> Result<PathBuf> {
        match (&self.folder, self.is_local()) {
            (Some(folder), _) => Ok(folder.clone()),
            (None, true) => Ok(std::env::temp_dir()),
            (None, false) => Err(Error::setting(format!(
                "ranks of {self} without a folder that all of them see"
            ))
            .fix("name one on a shared file system: Cluster::folder(\"/shared/runs\")")),
        }
    }

    /// The number of ranks that the launch asks for.
    #[doc(hidden)]
    pub fn ranks(&self) -> Result<usize> {
        let ranks = match &self.launch {
            Launch::Local(ranks) => *ranks,
            Launch::Hosts(file) => hosts(file)?.iter().map(|host| host.ranks).sum(),
            Launch::Command(command) => ranks_of(command).ok_or_else(|| {
                Error::setting(format!("the command {command:?} names no number of ranks"))
                    .fix("name it by -n, -np or --ntasks, as in \"srun -n 64\"")
            })?,
        };
        match ranks {
            0 => Err(Error::setting("a cluster of 0 ranks").fix("use at least 1")),
            ranks => Ok(ranks),
        }
    }

    /// What can be refused before a job is made.
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        if self.patience < Duration::from_secs(1) {
            return Err(
                Error::setting(format!("patience of {:?} with a cluster", self.patience))
                    .fix("use at least a second: ranks show once a second that they are alive"),
            );
        }
        self.ranks()?;
        self.run_parent().map(drop)
    }

    /// The words of the command that starts the program behind it on every rank. `mpiexec`: that of the MPI with which the worker
    /// was built.
    #[doc(hidden)]
    pub fn words(&self, mpiexec: &Path) -> Vec<String> {
        let mpiexec = mpiexec.display().to_string();
        match &self.launch {
            Launch::Local(ranks) => {
                let mut words = vec![mpiexec, "-n".into(), ranks.to_string()];
                // Ranks exchange by shared memory.
                let local = "--oversubscribe --bind-to none --mca btl self,sm --mca pml ob1";
                words.extend(local.split(' ').map(String::from));
                words
            }
            Launch::Hosts(file) => {
                let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                vec![mpiexec, "--hostfile".into(), file.display().to_string()]
            }
            Launch::Command(command) => command.split_whitespace().map(String::from).collect(),
        }
    }
}

/// A line of a file of hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub name: String,
    pub ranks: usize,
    /// The line as it is written.
    line: String,
}

fn hosts(file: &Path) -> Result<Vec<Host>> {
    let text = fs::read_to_string(file).map_err(|error| Error::io("read", file, error))?;
    let mut hosts = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else {
            continue;
        };
        let slots = words.find_map(|word| word.strip_prefix("slots="));
        let ranks = match slots.map(str::parse::<usize>) {
            None => 1,
            Some(Ok(slots)) => slots,
            Some(Err(_)) => {
                return Err(Error::format(file, "the number of slots is no number")
                    .at(format!("line {}", at + 1))
                    .fix("write hosts as in `node1 slots=2`"));
            }
        };
        hosts.push(Host {
            name: name.into(),
            ranks,
            line: line.into(),
        });
    }
    match hosts.is_empty() {
        true => Err(Error::format(file, "it names no host").fix("write one host a line")),
        false => Ok(hosts),
    }
}

/// The number behind `-n`, `-np` or `--ntasks`.
fn ranks_of(command: &str) -> Option<usize> {
    let words: Vec<&str> = command.split_whitespace().collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let number = match word.strip_prefix("--ntasks=") {
            Some(number) => number,
            None if matches!(*word, "-n" | "-np" | "--ntasks") => words.get(at + 1)?,
            None => return None,
        };
        number.parse().ok()
    })
}

/// Writes where the ranks are.
impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.launch {
            Launch::Local(1) => f.write_str("1 rank on this machine"),
            Launch::Local(ranks) => write!(f, "{ranks} ranks on this machine"),
            Launch::Hosts(file) => write!(f, "the hosts of {}", shown_path(file)),
            Launch::Command(command) => f.write_str(command),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_name_their_ranks() -> Result<()> {
        let folder = tempfile::tempdir().unwrap();
        let hosts = folder.path().join("hosts");
        fs::write(&hosts, "# two nodes\nnode1 slots=3\n\nnode2\n").unwrap();
        assert_eq!(Cluster::hosts(&hosts).ranks()?, 4);
        assert_eq!(Cluster::local(3).ranks()?, 3);
        assert_eq!(Cluster::slurm("-N 4 --ntasks=8").ranks()?, 8);
        assert_eq!(Cluster::command("mpiexec -np 5").ranks()?, 5);
        Ok(())
    }

    #[test]
    fn what_cannot_be_started_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = folder.path().join("hosts");
        fs::write(&hosts, "node1 slots=many\n").unwrap();
        let second = Duration::from_secs(1);
        for (cluster, expected) in [
            (Cluster::local(0), "a cluster of 0 ranks"),
            (Cluster::hosts(&hosts), "line 1"),
            (Cluster::hosts("no-such-file"), "cannot read"),
            (Cluster::command("srun"), "names no number of ranks"),
            (Cluster::slurm("-n 4"), "without a folder"),
            (Cluster::local(2).patience(second / 2), "patience of 500ms"),
        ] {
            let error = cluster.check().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
