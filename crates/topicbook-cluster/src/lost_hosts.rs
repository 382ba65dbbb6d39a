//! Finds the hosts on which programs can no longer be started.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::config::{Cluster, Host};
use crate::error::Result;

use super::job::Job;
use super::launch::Launcher;
use super::run_folder::{RunFolder, read_json};
use super::started::Started;

/// How long a host may take to run a program that does nothing.
const ANSWER: Duration = Duration::from_secs(20);
/// Attempts per host: the launcher fails or hangs if a network interface comes or goes meanwhile, as when a host is lost.
const ASKED: usize = 2;
/// Pause after a failed attempt.
const PAUSE: Duration = Duration::from_secs(1);
/// Interval at which the answers are polled.
const POLL: Duration = Duration::from_millis(20);

/// The rest of a cluster.
pub struct Left {
    pub cluster: Cluster,
    /// Which hosts do not answer, and how many ranks are left.
    pub note: String,
}

impl Launcher {
    /// The cluster without the hosts that do not answer; the job is rewritten for it. `None` if all hosts answer or none does,
    /// and for launchers that choose the hosts themselves.
    pub fn without_lost_hosts(
        &self,
        cluster: &Cluster,
        folder: &RunFolder,
    ) -> Result<Option<Left>> {
        let hosts = cluster.named_hosts()?;
        let answers = thread::scope(|scope| {
            let asked: Vec<_> = hosts
                .iter()
                .map(|host| scope.spawn(|| self.answers(&host.name)))
                .collect();
            let answers = asked.into_iter().map(|thread| thread.join());
            answers
                .map(|answer| answer.unwrap_or(true))
                .collect::<Vec<_>>()
        });
        let pairs = || hosts.iter().zip(&answers);
        let left = pairs().filter(|(_, answers)| **answers);
        let left: Vec<Host> = left.map(|(host, _)| host.clone()).collect();
        if left.is_empty() || left.len() == hosts.len() {
            return Ok(None);
        }
        let lost = pairs().filter(|(_, answers)| !**answers);
        let lost: Vec<&str> = lost.map(|(host, _)| &*host.name).collect();
        let cluster = cluster.on_hosts(&left, &folder.hosts())?;
        let mut job: Job = read_json(&folder.job())?;
        let note = format!(
            "{} {} not answer: {} of {} ranks are left",
            lost.join(", "),
            if lost.len() == 1 { "does" } else { "do" },
            cluster.ranks()?,
            job.ranks
        );
        job.ranks = cluster.ranks()?;
        job.write(folder)?;
        Started::move_to(&cluster, folder)?;
        Ok(Some(Left { cluster, note }))
    }

    /// Whether a program runs on a host.
    fn answers(&self, host: &str) -> bool {
        (0..ASKED).any(|before| {
            if before > 0 {
                thread::sleep(PAUSE);
            }
            self.runs_on(host)
        })
    }

    fn runs_on(&self, host: &str) -> bool {
        let mpiexec = self.mpiexec().display().to_string();
        let mut command = Self::command(&mpiexec);
        command.args(["--host", host, "-n", "1", "true"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else {
            return false;
        };
        let asked = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if asked.elapsed() < ANSWER => thread::sleep(POLL),
                _ => {
                    // It is harmless if the program continues to run: `true` does nothing.
                    let _ = child.kill();
                    let _ = child.wait();
                    return false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    #[test]
    fn a_host_that_does_not_answer_is_asked_again() {
        for (runs_on, answers) in [("node2", true), ("no host", false)] {
            let folder = tempfile::tempdir().unwrap();
            let [script, mpiexec, asked] =
                ["script", "mpiexec", "asked"].map(|name| folder.path().join(name));
            // The script fails the first time.
            let lines = format!(
                "#!/bin/sh\necho \"$2\" >> {0}\n[ \"$2\" = \"{runs_on}\" ] && [ $(wc -l < {0}) = 2 ]\n",
                asked.display()
            );
            fs::write(&script, lines).unwrap();
            // Written by `install`: a child of another thread could inherit an open file, which then cannot run (`ETXTBSY`).
            let mut install = Command::new("install");
            install.args(["-m", "700"]).args([&script, &mpiexec]);
            assert!(install.status().unwrap().success());
            assert_eq!(Launcher::of(mpiexec).answers("node2"), answers);
            assert_eq!(fs::read_to_string(asked).unwrap(), "node2\nnode2\n");
        }
    }
}
