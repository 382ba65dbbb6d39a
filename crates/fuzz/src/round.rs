//! A round: a fixed number of inputs for every target, given by workers that may die.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Target;
use crate::corpus::Corpus;

/// An input that takes longer gets a second attempt.
pub const SLOWEST: Duration = Duration::from_secs(5);
/// An input that takes longer in its second attempt hangs. In the first, other programs may have had the processor.
const SLOWEST_AGAIN: Duration = Duration::from_secs(15);
/// A worker that has not started by then has failed to start.
const START: Duration = Duration::from_secs(60);
/// Inputs of a worker: memory that one input leaks counts against few others.
const INPUTS_OF_WORKER: usize = 2_000;

/// Where a round takes its inputs from, and where it leaves what it finds.
pub struct Round<'a> {
    /// The program `worker`.
    pub worker: &'a Path,
    /// The folder with a corpus for each target.
    pub corpora: &'a Path,
    /// Inputs that failed go to its folder `failures`. Files that were accepted go to `accepted`, where a peer reads them too,
    /// with their values in `accepted.tsv`.
    pub folder: &'a Path,
    /// The same seed gives the same inputs.
    pub seed: u64,
}

/// The outcomes of the inputs of one target.
pub struct Tally {
    pub target: &'static str,
    pub inputs: usize,
    pub accepted: usize,
    pub failures: Vec<Failure>,
    pub time: Duration,
}

/// An input that was neither read nor refused.
pub struct Failure {
    pub number: usize,
    pub kind: Kind,
    /// A panic's message, or how the process ended and the first line of its standard error.
    pub what: String,
    /// The file with the input.
    pub file: PathBuf,
}

/// How an input failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Panicked,
    /// A signal has ended the process, such as an abort for lack of memory.
    Died,
    /// It took longer than [`SLOWEST`], and was too slow in a second attempt as well.
    Hung,
}

/// The tallies of all targets.
pub struct Report(pub Vec<Tally>);

impl Round<'_> {
    /// Gives each target its corpus and the same number of mutants, which are at least `inputs` in all.
    ///
    /// # Errors
    /// When a corpus cannot be read, a file cannot be written, or no worker starts.
    pub fn run(&self, targets: &[Target], inputs: usize) -> io::Result<Report> {
        for folder in ["failures", "accepted"] {
            fs::create_dir_all(self.folder.join(folder))?;
        }
        let values = Mutex::new(File::create(self.folder.join("accepted.tsv"))?);
        let each = inputs.div_ceil(targets.len());
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
                scope.spawn(|| {
                    while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let tally = self.tally(target, each, &values);
                        locked(&done).push((target.name, tally));
                    }
                });
            }
        });
        let mut tallies = Vec::new();
        for (_, tally) in done.into_inner().unwrap_or_default() {
            tallies.push(tally?);
        }
        let place = |tally: &Tally| targets.iter().position(|t| t.name == tally.target);
        tallies.sort_by_key(place);
        Ok(Report(tallies))
    }

    /// Gives a target its inputs. A worker that dies or hangs is replaced by one that starts at the same input. An
    /// input that also ends the second worker is a failure, and the next worker starts after it.
    fn tally(&self, target: &Target, mutants: usize, values: &Mutex<File>) -> io::Result<Tally> {
        let corpus = Corpus::read(self.corpora, target)?;
        let inputs = corpus.len() + mutants;
        let start = Instant::now();
        let mut tally = Tally {
            target: target.name,
            inputs,
            accepted: 0,
            failures: Vec::new(),
            time: Duration::ZERO,
        };
        let mut next = 0;
        let mut suspect = None;
        while next < inputs {
            let last = inputs.min(next + INPUTS_OF_WORKER);
            let mut worker = Worker::start(self, target, next, last)?;
            let (number, kind) = loop {
                match worker.hear(suspect) {
                    Heard::Refused(number) => next = number + 1,
                    Heard::Accepted(number, read) => {
                        next = number + 1;
                        tally.accepted += 1;
                        if target.has_peer && !read.is_empty() {
                            let name = format!("{}-{number}.{}", target.name, target.name);
                            let path = self.folder.join("accepted").join(&name);
                            fs::write(path, corpus.input(self.seed, number))?;
                            writeln!(locked(values), "{name}\t{read}")?;
                        }
                    }
                    Heard::Panicked(number, what) => {
                        next = number + 1;
                        let failure = self.failure(&corpus, target, number, Kind::Panicked, what);
                        tally.failures.push(failure?);
                    }
                    Heard::Hung(number) => break (Some(number), Kind::Hung),
                    Heard::Ended(number) => break (number, Kind::Died),
                }
            };
            let (status, first_line) = worker.end()?;
            match number {
                Some(number) if suspect == Some(number) => {
                    let what = format!("{status}: {first_line}");
                    let failure = self.failure(&corpus, target, number, kind, what);
                    tally.failures.push(failure?);
                    next = number + 1;
                }
                Some(number) => {
                    suspect = Some(number);
                    next = number;
                }
                None if next < last => {
                    let name = target.name;
                    let what = format!("the worker for {name} ended with {status}: {first_line}");
                    return Err(io::Error::other(what));
                }
                None => {}
            }
        }
        tally.time = start.elapsed();
        Ok(tally)
    }

    /// Writes the input of a failure to a file.
    fn failure(
        &self,
        corpus: &Corpus,
        target: &Target,
        number: usize,
        kind: Kind,
        what: String,
    ) -> io::Result<Failure> {
        let name = format!("{}-{}-{number}.{}", target.name, self.seed, target.name);
        let file = self.folder.join("failures").join(name);
        fs::write(&file, corpus.input(self.seed, number))?;
        Ok(Failure {
            number,
            kind,
            what,
            file,
        })
    }
}

/// A worker process, and the number of the input that it has begun.
struct Worker {
    child: Child,
    lines: Receiver<String>,
    begun: Option<usize>,
    /// Its temporary files and its standard error, in memory where the system has such a folder.
    folder: TempDir,
}

/// What a worker says, or what its silence means.
enum Heard {
    Refused(usize),
    Accepted(usize, String),
    Panicked(usize, String),
    Hung(usize),
    /// With the input that it had begun.
    Ended(Option<usize>),
}

impl Worker {
    fn start(round: &Round<'_>, target: &Target, from: usize, to: usize) -> io::Result<Self> {
        let shared = Path::new("/dev/shm");
        let folder = match shared.is_dir() {
            true => TempDir::new_in(shared),
            false => TempDir::new(),
        }?;
        let mut child = Command::new(round.worker)
            .arg(target.name)
            .arg(round.corpora)
            .args([round.seed.to_string(), from.to_string(), to.to_string()])
            .current_dir(&folder)
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.path().join("stderr"))?)
            .spawn()?;
        let output = child.stdout.take();
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output
                .into_iter()
                .flat_map(|out| BufReader::new(out).lines())
            {
                if line.map(|line| sender.send(line).is_ok()).unwrap_or(false) {
                    continue;
                }
                break;
            }
        });
        Ok(Self {
            child,
            lines,
            begun: None,
            folder,
        })
    }

    /// Waits for the end of the next input; longer for the one that has ended a worker before.
    fn hear(&mut self, suspect: Option<usize>) -> Heard {
        loop {
            let patience = match self.begun {
                None => START,
                begun if begun == suspect => SLOWEST_AGAIN,
                Some(_) => SLOWEST,
            };
            let line = match self.lines.recv_timeout(patience) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return Heard::Ended(self.begun),
                Err(RecvTimeoutError::Timeout) => {
                    return self.begun.map_or(Heard::Ended(None), Heard::Hung);
                }
            };
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            // Other lines are what a target prints.
            match (word, self.begun) {
                ("begin", _) => self.begun = rest.parse().ok(),
                ("refused", Some(number)) => return self.after(Heard::Refused(number)),
                ("accepted", Some(number)) => {
                    return self.after(Heard::Accepted(number, rest.into()));
                }
                ("panicked", Some(number)) => {
                    return self.after(Heard::Panicked(number, rest.into()));
                }
                _ => {}
            }
        }
    }

    fn after(&mut self, heard: Heard) -> Heard {
        self.begun = None;
        heard
    }

    /// Ends the process if it still runs. Returns how it ended, and the first line of its standard error.
    fn end(mut self) -> io::Result<(ExitStatus, String)> {
        // A process that has ended by itself cannot be killed, and keeps its status.
        let _ = self.child.kill();
        let status = self.child.wait()?;
        let text = fs::read(self.folder.path().join("stderr"))?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find(|line| !line.trim().is_empty());
        Ok((status, line.unwrap_or("no message").into()))
    }
}

impl Report {
    /// All inputs that were neither read nor refused.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.0.iter().flat_map(|tally| &tally.failures)
    }
}

/// A row for each target, then a line for each failure.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| target | inputs | accepted | kills | panics | hangs | seconds |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|")?;
        for tally in &self.0 {
            let of = |kind| {
                tally
                    .failures
                    .iter()
                    .filter(|failure| failure.kind == kind)
                    .count()
            };
            writeln!(
                f,
                "| {} | {} | {} | {} | {} | {} | {:.0} |",
                tally.target,
                tally.inputs,
                tally.accepted,
                of(Kind::Died),
                of(Kind::Panicked),
                of(Kind::Hung),
                tally.time.as_secs_f64()
            )?;
        }
        for failure in self.failures() {
            let file = failure.file.display();
            writeln!(f, "{:?}: {file}: {}", failure.kind, failure.what)?;
        }
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
