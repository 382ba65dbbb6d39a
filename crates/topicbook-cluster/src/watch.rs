//! Detects that a rank has ended or hangs, and says which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::system::free_space;
use crate::text::{bytes, shown_path};

use super::record::Ended;
use super::run_folder::{FULL_REMEDY, RunFolder, read_json};

/// A disk with fewer free bytes is full.
const FULL: u64 = 64 << 10;
/// Lines of the output that an error repeats.
const LINES: usize = 6;
/// The phase in the sign of life of a rank that waits for others.
pub(super) const WAITING: &str = "waiting";

/// The signs of life of the ranks: `host process tick phase blocks`.
pub struct Watchdog {
    patience: Duration,
    ranks: BTreeMap<usize, Seen>,
    ranks_planned: usize,
    /// The last time at which a rank made progress.
    moved: Instant,
}

/// A rank's last signs, and when each of them changed.
struct Seen {
    host: String,
    tick: (String, Instant),
    progress: (String, Instant),
}

impl Watchdog {
    pub fn new(ranks: usize, patience: Duration) -> Self {
        Self {
            patience,
            ranks: BTreeMap::new(),
            ranks_planned: ranks,
            moved: Instant::now(),
        }
    }

    /// Whether a rank has started.
    pub fn has_seen_ranks(&self) -> bool {
        !self.ranks.is_empty()
    }

    /// Reads the signs of life. An error names a rank that has shown no sign or no progress for too long, or says that all
    /// ranks wait for each other. Ranks that have not started are no error, because jobs queue.
    pub fn look(&mut self, folder: &RunFolder) -> Result<(), Error> {
        let now = Instant::now();
        for rank in 0..self.ranks_planned {
            let Ok(text) = fs::read_to_string(folder.alive(rank)) else {
                continue;
            };
            let words: Vec<&str> = text.split_whitespace().collect();
            let [host, process, tick, phase, blocks] = words[..] else {
                // The file is being written.
                continue;
            };
            let progress = format!("{phase} {blocks}");
            let seen = self.ranks.entry(rank).or_insert_with(|| Seen {
                host: host.into(),
                tick: (tick.into(), now),
                progress: (String::new(), now),
            });
            if seen.progress.0 != progress {
                self.moved = now;
            }
            if seen.tick.0 != tick {
                seen.tick = (tick.into(), now);
            }
            // A rank that waits for others makes no progress of its own.
            if seen.progress.0 != progress || phase == WAITING {
                seen.progress = (progress, now);
            }
            let what = match self.patience {
                patience if now - seen.tick.1 > patience => "has shown no sign of life",
                patience if now - seen.progress.1 > patience => "has read no documents",
                _ => continue,
            };
            let what = format!(
                "rank {rank} (process {process} on {host}) {what} for {:?}",
                self.patience
            );
            return Err(Error::cluster(what).fix(
                "look whether the process is stopped and its disk answers; Cluster::patience allows more time, \
                 Cluster::retries starts the job again",
            ));
        }
        self.look_at_all(now)
    }

    /// An error if all ranks have waited for each other for too long: their messages do not arrive.
    fn look_at_all(&self, now: Instant) -> Result<(), Error> {
        if self.ranks.len() < self.ranks_planned || now - self.moved <= self.patience {
            return Ok(());
        }
        let hosts: BTreeSet<&str> = self.ranks.values().map(|seen| &*seen.host).collect();
        let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
        let what = format!(
            "all {} ranks (on {hosts}) have waited for each other's messages for {:?}",
            self.ranks_planned, self.patience
        );
        Err(Error::cluster(what).fix(
            "look whether the network between these machines works; Cluster::patience allows more time, Cluster::retries \
             starts the job again",
        ))
    }
}

/// Why a job ended before its fit: the rank, its host, signal and last lines, if they are known.
pub fn failure(folder: &RunFolder, ranks: usize, how: &str) -> Error {
    let ended = (0..ranks).filter_map(|rank| read_json::<Ended>(&folder.ended(rank)).ok());
    // The launcher ends the other ranks by SIGTERM, and those that fail in an exchange with the lost one fail later.
    let failed = ended
        .filter(|ended| ended.signal != Some(libc::SIGTERM) && ended.code != Some(0))
        .min_by_key(|ended| (ended.since_start_ms, ended.rank));
    let output = fs::read_to_string(folder.output()).unwrap_or_default();
    // On a full disk, most files that would say how ranks have ended could not be written.
    let free = free_space(&folder.output());
    if let Some(free) = free.filter(|free| *free < FULL) {
        return Error::space(format!(
            "the disk of the run is full: {} are free in {}, and the ranks have ended ({how})",
            bytes(free),
            shown_path(folder.path())
        ))
        .fix(FULL_REMEDY);
    }
    let error = match failed {
        Some(ended) => {
            let how = match (ended.signal, ended.out_of_memory, ended.code) {
                (Some(libc::SIGKILL), Some(limit), _) => {
                    format!("ran out of memory: its control group has {}", bytes(limit))
                }
                (Some(libc::SIGKILL), None, _) => {
                    "was killed (signal 9; short memory is a common reason)".into()
                }
                (Some(signal), ..) => format!("was ended by signal {signal}"),
                (None, _, code) => format!("ended with code {}", code.unwrap_or_default()),
            };
            let Ended {
                rank,
                host,
                process,
                last_lines,
                ..
            } = ended;
            let what = format!("rank {rank} (process {process} on {host}) {how}");
            match last_lines.is_empty() {
                true => Error::cluster(what),
                false => Error::cluster(format!("{what}: {last_lines}")),
            }
        }
        None => {
            let lines: Vec<&str> = output.lines().filter(|line| !line.is_empty()).collect();
            let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
            Error::cluster(format!("the job ended before the fit ({how}): {last}"))
        }
    };
    error.fix("Cluster::retries starts the job again from its last checkpoint")
}

/// Whether the launcher of Open MPI could not listen and has started no rank. This happens if a network interface comes or
/// goes while it starts.
pub fn never_began(folder: &RunFolder) -> bool {
    let output = fs::read_to_string(folder.output()).unwrap_or_default();
    output.contains("listener thread failed to start")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StateValues;
    use std::thread::sleep;

    /// The errors after signs of life of two ranks, `(phase, blocks)` each; the patience is over before the last.
    fn after(signs: [[(&str, u64); 2]; 3]) -> Option<String> {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(parent.path(), (1, 1), 1, StateValues::default()).unwrap();
        let patience = Duration::from_millis(100);
        let mut watchdog = Watchdog::new(2, patience);
        for (tick, ranks) in signs.into_iter().enumerate() {
            for (rank, (phase, blocks)) in ranks.into_iter().enumerate() {
                let sign = format!("node{rank} {} {tick} {phase} {blocks}\n", 100 + rank);
                fs::write(folder.alive(rank), sign).unwrap();
            }
            if let Err(error) = watchdog.look(&folder) {
                return Some(error.to_string());
            }
            sleep(patience * 2 / 3);
        }
        None
    }

    #[test]
    fn ranks_that_make_no_progress_are_found() {
        // One waits for the other, which reads.
        let busy = [
            [(WAITING, 3), ("working", 3)],
            [(WAITING, 3), ("working", 4)],
            [(WAITING, 3), ("working", 5)],
        ];
        assert_eq!(after(busy), None);
        let stuck = after([[(WAITING, 3), ("working", 3)]; 3]).unwrap();
        testkit::assert_has(
            &stuck,
            ["rank 1 (process 101 on node1) has read no documents"],
        );
        let silent = after([[(WAITING, 3), (WAITING, 3)]; 3]).unwrap();
        testkit::assert_has(&silent, ["all 2 ranks (on node0, node1) have waited"]);
        // Sums that are sent or received are progress.
        let exchange = [
            [(WAITING, 3), (WAITING, 3)],
            [(WAITING, 4), (WAITING, 4)],
            [(WAITING, 5), (WAITING, 5)],
        ];
        assert_eq!(after(exchange), None);
    }
}
