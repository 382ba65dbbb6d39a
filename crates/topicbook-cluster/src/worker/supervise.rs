//! The process that a launcher starts: it runs the rank in a child process, and records how the child ended. So any launcher's
//! fit can report which rank was killed, and by which signal.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::error::{Error, Result};
use crate::job::Job;
use crate::launch::end_with_parent;
use crate::process::host;
use crate::record::Ended;
use crate::run_folder::{RunFolder, read_json, write_json};
use crate::system::memory::OutOfMemory;

/// Set in the child.
const SUPERVISED: &str = "TOPICBOOK_SUPERVISED";
/// Variables in which launchers pass the rank of a process: Open MPI and PMIx, MPICH, Slurm.
const RANK: [&str; 4] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
];
/// Number of last lines of a rank's output that are kept.
const LINES: usize = 4;

/// Whether this process is the child, which runs the rank.
pub fn is_supervised() -> bool {
    env::var_os(SUPERVISED).is_some()
}

/// Runs this program again, with the same arguments and the job's number of threads, and returns the code to exit with.
///
/// # Errors
/// When the child cannot be started, or the file that says how it ended cannot be written.
pub fn supervise(folder: &Path) -> Result<i32> {
    let folder = RunFolder::open(folder);
    let job: Job = read_json(&folder.job())?;
    let rank = RANK
        .iter()
        .find_map(|name| env::var(name).ok()?.parse().ok());
    let program = env::current_exe().map_err(|e| Error::io("find", Path::new("/proc/self"), e))?;
    let failed = |error| Error::io("start", &program, error);
    let mut command = Command::new(&program);
    command
        .args(env::args_os().skip(1))
        .env(SUPERVISED, "1")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(threads) = job.threads {
        command.env("RAYON_NUM_THREADS", threads.to_string());
    }
    // A rank that hangs or is stopped ends with the job, too.
    end_with_parent(&mut command, libc::SIGKILL);
    let started = Instant::now();
    let out_of_memory = OutOfMemory::watch();
    let mut child = command.spawn().map_err(failed)?;
    let mut lines = Vec::new();
    if let Some(errors) = child.stderr.take() {
        for line in BufReader::new(errors)
            .split(b'\n')
            .map_while(|line| line.ok())
        {
            let line = String::from_utf8_lossy(&line).into_owned();
            eprintln!("{line}");
            lines.push(line);
            if lines.len() > LINES {
                lines.remove(0);
            }
        }
    }
    let status = child.wait().map_err(failed)?;
    if let Some(rank) = rank {
        let ended = Ended {
            rank,
            host: host(),
            process: child.id(),
            since_start_ms: started.elapsed().as_millis() as u64,
            code: status.code(),
            signal: status.signal(),
            out_of_memory: out_of_memory.limit(),
            last_lines: lines.join("\n").trim().into(),
        };
        write_json(&folder.ended(rank), &ended)?;
    }
    Ok(status.code().unwrap_or(1))
}
