//! What a rank runs: `topicbook-worker` gives it the messages of MPI, and tests those of threads.

mod alive;
mod documents;
mod exchange;
#[cfg(feature = "cluster-worker")]
mod supervise;
#[cfg(test)]
mod tests;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::counts::rows::{Block, RowFiles, for_each_file_block};
use crate::counts::{Counts, Layout, check_documents};
use crate::error::{Error, ErrorKind, Result};
use crate::solvers::{RankStart, Shards, StreamingEm, documents_in_block};
use crate::system::memory::{check_free, process_memory};

use super::job::{Job, Task};
use super::process::host;
use super::record::{Event, PassLine, RankLine};
use super::run_folder::{RunFolder, read_json};
use super::state::{State, read_at, write_at};

use alive::{Alive, Phase};
#[cfg(feature = "cluster-worker")]
pub use supervise::{is_supervised, supervise};

/// Writing L and F takes at most one part in so many of a fit's time, and comes once a second at most.
const TIME_DIVISOR: u32 = 50;
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// How often a rank asks the system for its memory, at most: that takes as long as a few documents.
const MEMORY_INTERVAL: Duration = Duration::from_millis(50);

/// The messages between the ranks. Each of them calls the same functions in the same order.
pub trait Ranks {
    /// This rank's number, from 0.
    fn rank(&self) -> usize;
    /// The number of ranks.
    fn size(&self) -> usize;
    /// Sends values to another rank, which receives as many.
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
    counts: Counts,
    /// The rank's documents.
    own: Range<usize>,
    solver: StreamingEm,
    alive: Alive,
    /// Highest anonymous memory so far, in bytes.
    memory: u64,
}

/// Runs this rank's part of the job in `folder`, to its end.
///
/// # Errors
/// When a file of the job or of the counts cannot be read or written, or the counts are not those of the job.
pub fn run(folder: &Path, ranks: &dyn Ranks) -> Result<()> {
    let folder = RunFolder::open(folder);
    let alive = Alive::start(&folder, ranks.rank())?;
    let job: Job = read_json(&folder.job())?;
    let version = env!("CARGO_PKG_VERSION");
    if job.version != version {
        return Err(Error::new(
            ErrorKind::Cluster,
            format!(
                "topicbook-worker is of version {version}, and the fit of {}",
                job.version
            ),
        )
        .fix("build it again: `cargo xtask worker`"));
    }
    if job.ranks != ranks.size() {
        return Err(Error::new(
            ErrorKind::Cluster,
            format!(
                "{} ranks have started, and {} were planned",
                ranks.size(),
                job.ranks
            ),
        )
        .fix("check that the launcher belongs to the MPI with which the worker was built"));
    }
    check_memory(&job, ranks.rank())?;
    let state = State::read(&folder)?;
    match job.task {
        Task::Em | Task::Descent => Rank::new(folder, job, ranks, alive, state)?.fit(state),
        Task::Transform | Task::Score => documents::compute(&folder, &job, ranks, &alive),
    }
}

impl<'a> Rank<'a> {
    fn new(
        folder: RunFolder,
        job: Job,
        ranks: &'a dyn Ranks,
        alive: Alive,
        state: State,
    ) -> Result<Self> {
        let (documents, terms, topics) =
            (job.fingerprint.documents, job.fingerprint.terms, job.topics);
        let shards = Shards::new(documents, terms, job.fingerprint.nonzeros());
        let shards_of_rank = shards.of_rank(ranks.rank(), ranks.size());
        let own = shards.documents(shards_of_rank.clone());
        let (counts, lengths) = checked_counts(&folder, &job, own.clone(), (ranks, &alive))?;
        let [l, f] = folder.tables(state.passes);
        let start = RankStart {
            descent: job.task == Task::Descent,
            shards,
            own: shards_of_rank,
            topics,
            terms,
            tokens: job.fingerprint.total(),
            entropy: job.entropy,
            lengths,
            l: read_at(&l, own.start * topics..own.end * topics, f32::from_le_bytes)?,
            f: read_at(&f, 0..terms * topics, f32::from_le_bytes)?,
        };
        let of_first = |block: &Block<'_>| StreamingEm::of_rank(start, block);
        let solver = with_first_block(&counts, &job, of_first)?;
        Ok(Self {
            folder,
            job,
            ranks,
            counts,
            own,
            solver,
            alive,
            memory: 0,
        })
    }

    /// Passes over the documents until the fit ends.
    fn fit(mut self, mut state: State) -> Result<()> {
        let (mut written, mut took) = (Instant::now(), Duration::ZERO);
        while !state.last {
            let began = Instant::now();
            self.alive.phase(Phase::Working);
            let rows = open_rows(&self.counts, &self.job, false)?;
            let (alive, memory) = (&self.alive, &mut self.memory);
            let mut looked = None;
            self.solver.pass_of_rank(rows, self.own.clone(), &mut || {
                alive.block();
                if looked.is_none_or(|looked: Instant| looked.elapsed() >= MEMORY_INTERVAL) {
                    *memory = process_memory().anonymous.max(*memory);
                    looked = Some(Instant::now());
                }
            })?;
            let working = began.elapsed();
            self.alive.phase(Phase::Waiting);
            let alive = &self.alive;
            exchange::to_first(self.ranks, self.solver.tree(), &|| alive.block());
            // Whether this is the last pass, and whether L and F are written.
            let mut flags = [0.0; 2];
            let before = state;
            state.passes += 1;
            if self.ranks.rank() == 0 {
                let iteration = self.solver.update();
                state.score = iteration.score;
                state.last = iteration.converged(before.score, self.job.tolerance)
                    || state.passes >= self.job.passes
                    || self.folder.stop().exists();
                let due = written.elapsed() >= MIN_INTERVAL.max(took * (TIME_DIVISOR - 1));
                flags = [state.last, state.last || due].map(|flag| f32::from(u8::from(flag)));
            }
            self.ranks.broadcast(self.solver.f());
            self.ranks.broadcast(&mut flags);
            self.alive.block();
            state.last = flags[0] > 0.0;
            self.report(state, began, working)?;
            if flags[1] > 0.0 {
                let began = Instant::now();
                self.write(state)?;
                (written, took) = (Instant::now(), began.elapsed());
            }
        }
        match self.ranks.rank() {
            0 => self.tell(&Event::Finished),
            _ => Ok(()),
        }
    }

    /// Tells the notebook of a pass.
    fn report(&self, state: State, began: Instant, working: Duration) -> Result<()> {
        let (whole, working) = (began.elapsed().as_secs_f64(), working.as_secs_f64());
        let own = [self.own.len() as f64, working, self.memory as f64];
        let Some(all) = exchange::gather(self.ranks, own) else {
            return Ok(());
        };
        let line = |[documents, working, memory]: [f64; 3]| RankLine {
            documents: documents as u64,
            working,
            memory: memory as u64,
        };
        self.tell(&Event::Pass(PassLine {
            pass: state.passes,
            score: state.score,
            seconds: whole,
            ranks: all.into_iter().map(line).collect(),
        }))
    }

    fn tell(&self, event: &Event) -> Result<()> {
        tell(&self.folder, event)
    }

    /// Writes the rank's rows of L, and rank 0 writes F. When all have, these are the tables that a fit goes on from.
    fn write(&mut self, state: State) -> Result<()> {
        self.alive.phase(Phase::Writing);
        let [l, f] = self.folder.tables(state.passes);
        let first = self.own.start * self.job.topics;
        write_at(&l, first, self.solver.l(), f32::to_le_bytes)?;
        if self.ranks.rank() == 0 {
            write_at(&f, 0, self.solver.f(), f32::to_le_bytes)?;
        }
        self.alive.phase(Phase::Waiting);
        if exchange::gather(self.ranks, [0.0]).is_some() {
            let previous = State::read(&self.folder)?;
            state.commit(&self.folder)?;
            for table in self.folder.tables(previous.passes) {
                // A file that is left costs space alone.
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

/// Opens the counts, and checks the rank's documents, whose lengths it returns, too.
fn checked_counts(
    folder: &RunFolder,
    job: &Job,
    own: Range<usize>,
    (ranks, alive): (&dyn Ranks, &Alive),
) -> Result<(Counts, Vec<f64>)> {
    let counts = job.open_counts()?;
    let lengths = read_at(&folder.lengths(), own.clone(), f64::from_le_bytes)?;
    alive.phase(Phase::Checking);
    let rows = open_rows(&counts, job, Layout::Dense == counts.layout())?;
    let terms = job.fingerprint.terms;
    let digest = check_documents(rows, own, terms, &lengths, &mut || alive.block())
        .map_err(|error| error.at(format!("rank {}", ranks.rank())))?;
    alive.phase(Phase::Waiting);
    check_digests(digest, ranks, job)?;
    Ok((counts, lengths))
}

/// An error if this rank's machine or control group has less free memory than the largest rank needs. The notebook, which has made
/// the plan, sees only its own machine.
fn check_memory(job: &Job, rank: usize) -> Result<()> {
    let used = process_memory().anonymous;
    check_free(job.memory.saturating_sub(used), &format!("rank {rank}")).map_err(|error| {
        error
            .at(format!("host {}", host()))
            .fix("use more ranks, fewer topics, or machines with more memory")
    })
}

/// Opens the counts' file. `as_stored`: rows of dense counts are not converted. The ranks compare digests of all documents once,
/// and no rank reads a whole file, whose checksum it could verify.
fn open_rows(counts: &Counts, job: &Job, as_stored: bool) -> Result<RowFiles> {
    let to_csr = !as_stored && counts.is_buffered_with(job.fingerprint.nonzeros());
    let rows = counts.row_file(to_csr)?;
    rows.map(RowFiles::without_checksums)
        .ok_or_else(|| job.other_counts("a file that cannot be streamed"))
}

/// What `make` makes of the first block of all documents.
fn with_first_block<T>(
    counts: &Counts,
    job: &Job,
    make: impl FnOnce(&Block<'_>) -> T,
) -> Result<T> {
    let in_block = documents_in_block(job.fingerprint.terms);
    let first = 0..in_block.min(job.fingerprint.documents);
    let (mut make, mut made) = (Some(make), None);
    for_each_file_block(
        open_rows(counts, job, false)?,
        first,
        in_block,
        &mut |block| {
            made = make.take().map(|make| make(&block));
            Ok(())
        },
    )?;
    made.ok_or_else(|| job.other_counts("no documents"))
}

/// Compares the sum of the ranks' digests with that of the job's counts.
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
