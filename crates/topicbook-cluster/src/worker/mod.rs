//! What a rank runs. `topicbook-worker` provides messages by MPI, and tests provide messages by threads.

mod alive;
mod documents;
mod exchange;
mod passes;
mod steps;
mod supervise;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::counts::rows::{RowFiles, for_each_file_block};
use crate::counts::{Counts, Fingerprint, Layout, check_documents};
use crate::error::{Error, Result};
use crate::solvers::{DocumentShards, TermLayouts, Tree, documents_in_block};
use crate::system::memory::{check_free, process_memory};

use super::job::{Job, Task};
use super::process::host;
use super::record::{Event, PassLine, RankLine};
use super::run_folder::{RunFolder, read_json};
use super::state::{State, read_at};

use alive::{Alive, Phase};
use passes::Passes;
use steps::Steps;
pub use supervise::{is_supervised, supervise};

/// Writing L and F takes at most 1/`TIME_DIVISOR` of a fit's time, and happens at most once a second.
const TIME_DIVISOR: u32 = 50;
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Least time between two readings of the process's memory, each of which takes as long as a few documents.
const MEMORY_INTERVAL: Duration = Duration::from_millis(50);

/// The messages between the ranks. Each of them calls the same functions in the same order.
pub trait Ranks {
    /// This rank's number, from 0.
    fn rank(&self) -> usize;
    /// The number of ranks.
    fn size(&self) -> usize;
    /// Sends values to another rank, which receives the same number.
    fn send(&self, values: &[f64], to: usize);
    /// Receives the values that another rank sends.
    fn receive(&self, values: &mut [f64], from: usize);
    /// Gives all ranks the values of rank 0.
    fn broadcast(&self, values: &mut [f32]);
}

/// A rank of a fit.
struct Rank<'a> {
    folder: RunFolder,
    job: Job,
    ranks: &'a dyn Ranks,
    counts: OwnCounts,
    /// The rank's shards, and its documents.
    shards: DocumentShards,
    own_shards: Range<usize>,
    own: Range<usize>,
    alive: Alive,
    memory: Peak,
}

/// The files that contain documents of the rank.
struct OwnCounts {
    counts: Counts,
    /// Number of documents of other files before them.
    before: usize,
}

/// Highest anonymous memory so far, in bytes.
#[derive(Default)]
struct Peak {
    bytes: Cell<u64>,
    looked: Cell<Option<Instant>>,
}

/// What a rank computes in each pass over its documents.
trait Work {
    /// Passes over the documents and exchanges sums; then every rank has the new F.
    fn pass(&mut self, rank: &Rank<'_>, before: State) -> Result<Pass>;

    /// Writes the rank's rows of L's tables to one file; rank 0 writes the tables of F to the other.
    fn write(&self, rank: &Rank<'_>, files: &[PathBuf; 2]) -> Result<()>;
}

/// A pass, as a rank has seen it. Only on rank 0, the score and `converged` are meaningful.
struct Pass {
    /// Time until the sums of its documents were complete.
    working: Duration,
    score: f64,
    converged: bool,
}

/// Runs this rank's part of the job in `folder`, to its end.
///
/// # Errors
/// When a file of the job or of the counts cannot be read or written, or the counts do not match the job.
pub fn run(folder: &Path, ranks: &dyn Ranks) -> Result<()> {
    let folder = RunFolder::open(folder);
    let alive = Alive::start(&folder, ranks.rank())?;
    let job: Job = read_json(&folder.job())?;
    let version = env!("CARGO_PKG_VERSION");
    if job.version != version {
        return Err(Error::cluster(format!(
            "topicbook-worker is of version {version}, and the fit of {}",
            job.version
        ))
        .fix("build it again: `cargo xtask worker`"));
    }
    if job.ranks != ranks.size() {
        return Err(Error::cluster(format!(
            "{} ranks have started, and {} were planned",
            ranks.size(),
            job.ranks
        ))
        .fix("check that the launcher belongs to the MPI with which the worker was built"));
    }
    check_memory(&job, ranks.rank())?;
    let state = State::read(&folder)?;
    match job.task {
        Task::Em | Task::Descent | Task::Steps { .. } => {
            Rank::fit(folder, job, ranks, alive, state)
        }
        Task::Transform | Task::Score => documents::compute(&folder, &job, ranks, &alive),
    }
}

impl Rank<'_> {
    /// Passes over the documents from `state` until the fit ends.
    fn fit(
        folder: RunFolder,
        job: Job,
        ranks: &dyn Ranks,
        alive: Alive,
        state: State,
    ) -> Result<()> {
        let (documents, terms) = (job.fingerprint.documents, job.fingerprint.terms);
        let nonzeros = job.fingerprint.nonzeros();
        let shards = DocumentShards::of_fit(documents, terms, nonzeros, job.task.batch_size());
        let own_shards = shards.of_rank(ranks.rank(), ranks.size());
        let own = shards.documents(own_shards.clone());
        let (counts, lengths) = checked_counts(&folder, &job, own.clone(), (ranks, &alive))?;
        let rank = Rank {
            folder,
            job,
            ranks,
            counts,
            shards,
            own_shards,
            own,
            alive,
            memory: Peak::default(),
        };
        match &rank.job.task {
            Task::Steps { parameters, seed } => {
                drop(lengths);
                let steps = Steps::new(&rank, (parameters, *seed), state)?;
                rank.passes(steps, state)
            }
            _ => rank.passes(Passes::new(&rank, lengths, state)?, state),
        }
    }

    fn passes(&self, mut work: impl Work, mut state: State) -> Result<()> {
        let (mut written, mut took) = (Instant::now(), Duration::ZERO);
        while !state.last {
            let began = Instant::now();
            let pass = work.pass(self, state)?;
            state.passes += 1;
            // Whether this is the last pass, and whether L and F are written.
            let mut flags = [0.0; 2];
            if self.ranks.rank() == 0 {
                state.score = pass.score;
                state.last = pass.converged
                    || state.passes >= self.job.passes
                    || self.folder.stop().exists();
                let due = written.elapsed() >= MIN_INTERVAL.max(took * (TIME_DIVISOR - 1));
                flags = [state.last, state.last || due].map(|flag| f32::from(u8::from(flag)));
            }
            self.ranks.broadcast(&mut flags);
            self.alive.block();
            state.last = flags[0] > 0.0;
            self.report(state, began, pass.working)?;
            if flags[1] > 0.0 {
                let began = Instant::now();
                self.write(&work, state)?;
                (written, took) = (Instant::now(), began.elapsed());
            }
        }
        match self.ranks.rank() {
            0 => tell(&self.folder, &Event::Finished),
            _ => Ok(()),
        }
    }

    /// Called for each block of documents that was read. Records progress, and the memory in use.
    fn block(&self) {
        self.alive.block();
        let looked = self.memory.looked.get();
        if looked.is_none_or(|looked| looked.elapsed() >= MEMORY_INTERVAL) {
            let bytes = process_memory().anonymous.max(self.memory.bytes.get());
            self.memory.bytes.set(bytes);
            self.memory.looked.set(Some(Instant::now()));
        }
    }

    fn layouts(&self) -> Result<TermLayouts> {
        layouts(&self.counts, &self.job, self.ranks)
    }

    /// Brings the sums of all shards into the tree of rank 0.
    fn exchange(&self, tree: &mut Tree) {
        self.alive.phase(Phase::Waiting);
        exchange::to_first(self.ranks, tree, &|| self.alive.block());
    }

    /// Reports a pass to the notebook.
    fn report(&self, state: State, began: Instant, working: Duration) -> Result<()> {
        let (whole, working) = (began.elapsed().as_secs_f64(), working.as_secs_f64());
        let memory = self.memory.bytes.get() as f64;
        let own = [self.own.len() as f64, working, memory];
        let Some(all) = exchange::gather(self.ranks, own) else {
            return Ok(());
        };
        let line = |[documents, working, memory]: [f64; 3]| RankLine {
            documents: documents as u64,
            working,
            memory: memory as u64,
        };
        let event = Event::Pass(PassLine {
            pass: state.passes,
            score: state.score,
            seconds: whole,
            ranks: all.into_iter().map(line).collect(),
        });
        tell(&self.folder, &event)
    }

    /// Writes the rank's rows of L, and rank 0 writes F. When all have written, a fit resumes from these tables.
    fn write(&self, work: &impl Work, state: State) -> Result<()> {
        self.alive.phase(Phase::Writing);
        work.write(self, &self.folder.tables(state.passes))?;
        self.alive.phase(Phase::Waiting);
        if exchange::gather(self.ranks, [0.0]).is_some() {
            let previous = State::read(&self.folder)?;
            state.commit(&self.folder)?;
            for table in self.folder.tables(previous.passes) {
                // A file that is left only costs space.
                let _ = fs::remove_file(table);
            }
        }
        Ok(())
    }
}

/// Writes an event, for the notebook.
fn tell(folder: &RunFolder, event: &Event) -> Result<()> {
    let path = folder.events();
    let failed = |error| Error::io("write", &path, error);
    let mut line = serde_json::to_string(event).map_err(|error| failed(error.into()))?;
    line.push('\n');
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(failed)?;
    file.write_all(line.as_bytes()).map_err(failed)
}

/// Opens the counts and checks the rank's documents. Also returns the lengths of the documents.
fn checked_counts(
    folder: &RunFolder,
    job: &Job,
    own: Range<usize>,
    (ranks, alive): (&dyn Ranks, &Alive),
) -> Result<(OwnCounts, Vec<f64>)> {
    let opened = job.open_counts_with(&own);
    let opened = opened.map_err(|error| error.at(format!("rank {}, {}", ranks.rank(), host())));
    let (counts, before) = opened?;
    let counts = OwnCounts { counts, before };
    let lengths = read_at(&folder.lengths(), own.clone(), f64::from_le_bytes)?;
    alive.phase(Phase::Checking);
    let rows = counts.rows(job, Layout::Dense == counts.counts.layout())?;
    let terms = job.fingerprint.terms;
    let digest = check_documents(rows, own, terms, &lengths, &mut || alive.block())
        .map_err(|error| error.at(format!("rank {}", ranks.rank())))?;
    alive.phase(Phase::Waiting);
    check_digests(digest, ranks, job)?;
    Ok((counts, lengths))
}

/// An error if this rank's machine or control group has less free memory than the largest rank needs. The notebook has made
/// the plan, but sees only its own machine.
fn check_memory(job: &Job, rank: usize) -> Result<()> {
    let used = process_memory().anonymous;
    check_free(job.memory.saturating_sub(used), &format!("rank {rank}")).map_err(|error| {
        error
            .at(format!("host {}", host()))
            .fix("use more ranks, fewer topics, or machines with more memory")
    })
}

impl OwnCounts {
    /// Opens the files; documents are numbered over all files. `as_stored`: rows of dense counts are not converted. Checksums
    /// are not verified, because no rank reads a whole file; the ranks compare digests instead.
    fn rows(&self, job: &Job, as_stored: bool) -> Result<RowFiles> {
        let Fingerprint { documents, .. } = job.fingerprint;
        let nonzeros = job.fingerprint.nonzeros();
        let to_csr = !as_stored && self.counts.is_buffered_with(nonzeros, documents);
        let rows = self.counts.row_file(to_csr)?;
        rows.map(|rows| rows.without_checksums().numbered_from(self.before))
            .ok_or_else(|| job.other_counts("a layout that cannot be streamed"))
    }
}

/// The layouts of the parts of F. Rank 0 chooses them, because it has the first block of all documents.
fn layouts(counts: &OwnCounts, job: &Job, ranks: &dyn Ranks) -> Result<TermLayouts> {
    let Fingerprint {
        documents, terms, ..
    } = job.fingerprint;
    let mut numbers = vec![0.0; TermLayouts::number(terms)];
    if ranks.rank() == 0 {
        let in_block = documents_in_block(terms);
        let (rows, first) = (counts.rows(job, false)?, 0..in_block.min(documents));
        for_each_file_block(rows, first, in_block, &mut |block| {
            numbers = TermLayouts::of(&block, terms).numbers();
            Ok(())
        })?;
    }
    ranks.broadcast(&mut numbers);
    Ok(TermLayouts::from_numbers(&numbers))
}

/// Compares the sum of the ranks' digests with the digest of the job's counts.
fn check_digests(digest: u64, ranks: &dyn Ranks, job: &Job) -> Result<()> {
    // Halves of 32 bits are exact in f64.
    let halves = [(digest >> 32) as f64, (digest & u64::from(u32::MAX)) as f64];
    let sum = exchange::gather(ranks, halves).map(|all| {
        all.into_iter().fold(0u64, |sum, [high, low]| {
            sum.wrapping_add(((high as u64) << 32) | low as u64)
        })
    });
    match sum {
        Some(sum) if sum != job.fingerprint.contents() => {
            Err(job.other_counts("documents of the same lengths, but with other counts"))
        }
        _ => Ok(()),
    }
}
