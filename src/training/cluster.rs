//! A fit by the ranks of a cluster: starts their job, follows it, and starts it again where a rank was lost.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::cluster::{
    Event, Files, Job, Launched, Launcher, PassLine, RunFolder, Started, Task, Watchdog, failure,
    never_began,
};
use crate::config::{Cluster, Settings, Solver};
use crate::counts::{Counts, Fingerprint};
use crate::data::{Epoch, Matrix};
use crate::error::{Error, ErrorKind, Result};
use crate::solvers::{Start, entropy, start_factors};
use crate::text::{bytes, count, percent};

use super::divergence;
use super::epochs::{Learner, Loop};
use super::observer::Stages;
use super::observers::as_observer;
use super::run::Run;
use super::state::{RunningState, StartState};
use super::stop::StopObserver;
use super::target::Target;

/// Anonymous memory of a rank in addition to tables and buffers: MPI, stacks of threads, and what the heap leaves unused.
pub(crate) const RANK_PROCESS: u64 = 12 << 20;

/// How often the lines of the ranks are read, and how often their signs of life.
const LINES: Duration = Duration::from_millis(10);
const LIFE: Duration = Duration::from_millis(250);
/// Maximum number of starts of a launcher that fails before it has started a rank.
const STARTS: usize = 3;
/// How long ranks take to start, unless their job is queued.
const QUEUED: Duration = Duration::from_secs(3);

/// Up to this number of ranks, each speed is shown; of more, the lowest and the highest.
const SPEEDS: usize = 3;

/// The ranks of a fit.
struct Ranks<'a> {
    cluster: &'a Cluster,
    target: &'a Target<'a>,
    /// The cluster without the hosts that were lost.
    left: Cluster,
    launcher: Launcher,
    /// Declared before the folder, so that the ranks end before it is removed.
    attempt: Option<Attempt>,
    folder: Arc<RunFolder>,
    ranks: usize,
    /// Events that are not reported yet.
    events: VecDeque<Event>,
    /// The passes that were reported.
    passes: Vec<PassLine>,
    /// Why the last attempt has ended. Handled once its passes are reported: the next one continues after the last of them.
    failed: Option<Error>,
    /// Why the job was started again, a line each time.
    failures: Vec<String>,
    /// Starts of a launcher that has started no rank yet.
    starts: usize,
    /// Whether the job passes over the documents once: stopped earlier, it has no result.
    once: bool,
    stopping: bool,
    done: bool,
}

/// A job that runs.
struct Attempt {
    launched: Launched,
    watchdog: Watchdog,
    lines: Lines,
    began: Instant,
    /// When the signs of life were last read.
    looked: Instant,
    /// The last line of a launcher whose job waits.
    waits: String,
}

/// A fit by ranks.
pub(super) struct FittedByRanks {
    pub(super) l: Matrix,
    pub(super) f: Matrix,
    pub(super) passes: Vec<PassLine>,
    /// Why the job was started again, a line each time.
    pub(super) failures: Option<String>,
}

/// Fits on the cluster from new logits, or follows a run.
pub(super) fn fit(
    run: &Run,
    (cluster, target): (&Cluster, &Target),
    state: StartState,
    training: &mut Loop,
) -> Result<FittedByRanks> {
    let (settings, counts) = (target.settings, target.counts);
    let launcher = Launcher::find()?;
    let (folder, found) = match state {
        // It is removed when its fit is joined: the handle may be dropped before.
        StartState::Run(folder) => {
            let launched = Launched::find(&folder);
            (folder, Some(launched))
        }
        state => (Arc::new(prepare(run, cluster, state)?), None),
    };
    training.start(cluster.to_string(), Stages::Ranks, settings.topics);
    let mut ranks = Ranks::new((cluster, target), launcher, folder)?;
    ranks.attempt = found.map(|launched| ranks.attempt(launched));
    training.run(&mut ranks)?;
    training.note(&ranks.reached());
    let shape = (counts.documents(), counts.terms(), settings.topics);
    let gradient_steps = !settings.solver.is_full_pass();
    let (l, f) = ranks.folder.topics(shape, gradient_steps)?;
    Ok(FittedByRanks {
        l,
        f,
        passes: ranks.passes,
        failures: (!ranks.failures.is_empty()).then(|| ranks.failures.join("\n")),
    })
}

/// Writes what the ranks start from, and what a process needs that follows the run after this one has died.
fn prepare(run: &Run, cluster: &Cluster, state: StartState) -> Result<RunFolder> {
    let StartState::Logits(state) = state else {
        return Err(
            Error::setting("a fit on a cluster continues from a checkpoint")
                .fix("resume it without a cluster"),
        );
    };
    let (settings, counts) = (&run.recipe.settings, &run.counts);
    let job = job(settings, cluster, counts, run.rank_bytes)?;
    let tables = job.task.state_values();
    let parent = cluster.run_parent()?;
    let folder = RunFolder::create(&parent, counts.shape(), settings.topics, tables)?;
    let summary = counts.summary()?;
    let lengths = summary.document_lengths();
    match settings.solver.is_full_pass() {
        true => {
            let [l, f] = start_factors(Start::New(&state.l, &state.f), lengths)?;
            drop(state);
            folder.write_start(&l.values, &f.values, lengths)?;
        }
        false => folder.write_logits(&state, lengths)?,
    }
    job.write(&folder)?;
    Started::new(settings, run.recipe.terms.as_ref(), cluster, counts)?.write(&folder)?;
    Ok(folder)
}

/// Runs a job that passes over the documents once, in its folder.
///
/// # Errors
/// When the ranks fail, or the notebook's stop button ends them.
pub(super) fn run_once(
    settings: &Settings,
    cluster: &Cluster,
    counts: &Counts,
    folder: &Arc<RunFolder>,
) -> Result<()> {
    let target = Target::new(settings, counts)?;
    let mut ranks = Ranks::new((cluster, &target), Launcher::find()?, Arc::clone(folder))?;
    ranks.once = true;
    let mut stop = StopObserver::listen();
    let mut observers: Vec<_> = stop.as_mut().map(as_observer).into_iter().collect();
    let shape = (settings.epochs, counts.documents(), target.batches);
    Loop::new(shape, &mut observers).run(&mut ranks)?;
    match ranks.stopping {
        false => Ok(()),
        true => Err(
            Error::cluster("stopped before the ranks had passed over all documents")
                .fix("run it again: nothing is kept of a part of the documents"),
        ),
    }
}

/// What the ranks are to do. The largest needs `rank_bytes`.
pub(super) fn job(
    settings: &Settings,
    cluster: &Cluster,
    counts: &Counts,
    rank_bytes: u64,
) -> Result<Job> {
    let full_pass = settings.solver.as_full_pass();
    let ranks = cluster.ranks()?;
    Ok(Job {
        version: env!("CARGO_PKG_VERSION").into(),
        ranks,
        threads: cluster
            .is_local()
            .then(|| (rayon::current_num_threads() / ranks).max(1)),
        memory: rank_bytes,
        files: Files::of(counts)?,
        fingerprint: Fingerprint::of(counts)?,
        entropy: entropy(counts.summary()?.document_lengths()),
        task: match &settings.solver {
            Solver::MiniBatch(parameters) => Task::Steps {
                parameters: parameters.clone(),
                seed: settings.seed,
            },
            Solver::Em(_) => Task::Em,
            _ => Task::Descent,
        },
        topics: settings.topics,
        passes: settings.epochs,
        tolerance: full_pass.map_or(0.0, |parameters| parameters.tolerance),
    })
}

impl<'a> Ranks<'a> {
    fn new(
        (cluster, target): (&'a Cluster, &'a Target<'a>),
        launcher: Launcher,
        folder: Arc<RunFolder>,
    ) -> Result<Self> {
        Ok(Self {
            cluster,
            target,
            left: cluster.clone(),
            launcher,
            attempt: None,
            folder,
            ranks: cluster.ranks()?,
            events: VecDeque::new(),
            passes: Vec::new(),
            failed: None,
            failures: Vec::new(),
            starts: 1,
            once: false,
            stopping: false,
            done: false,
        })
    }

    /// Follows a job from its first line.
    fn attempt(&self, launched: Launched) -> Attempt {
        let now = Instant::now();
        Attempt {
            launched,
            watchdog: Watchdog::new(self.ranks, self.cluster.time_without_progress()),
            lines: Lines::new(self.folder.events()),
            began: now,
            looked: now,
            waits: String::new(),
        }
    }

    /// Reads what the ranks report; every [`LIFE`], looks at their signs of life. Returns whether it did.
    fn follow(&mut self, attempt: &mut Attempt, training: &mut Loop) -> Result<bool> {
        // Checked before the lines are read, because the last lines are written before the job ends.
        let ended = attempt.launched.ended();
        self.events.extend(attempt.lines.read()?);
        match (ended, self.events.is_empty()) {
            (Some(status), true) => return Err(failure(&self.folder, self.ranks, &status)),
            (None, _) if attempt.looked.elapsed() >= LIFE => {}
            (None, true) => {
                thread::sleep(LINES);
                return Ok(false);
            }
            _ => return Ok(false),
        }
        attempt.looked = Instant::now();
        if self.folder.is_left() {
            attempt.launched.leave();
            return Err(Error::cluster("the run was left, and continues")
                .fix("find it again: TopicModel::attach"));
        }
        attempt.watchdog.look(&self.folder)?;
        let started = attempt.watchdog.has_seen_ranks();
        if attempt.began.elapsed() >= QUEUED && !started {
            attempt.note_waiting(&self.folder, training);
        }
        // There is nothing to wait for, or the job waits in a queue.
        self.done = self.stopping && (self.once || !started);
        Ok(true)
    }

    /// Prepares another attempt, as often as the cluster allows after it has lost a rank.
    fn try_again(&mut self, error: Error, training: &mut Loop) -> Result<()> {
        if error.kind() != ErrorKind::Cluster || self.folder.is_left() {
            return Err(error);
        }
        if self.starts < STARTS && never_began(&self.folder) {
            self.starts += 1;
            return self.folder.clear_attempt(self.ranks);
        }
        if !self.cluster.retries_left(self.failures.len()) {
            return Err(error);
        }
        self.folder.clear_attempt(self.ranks)?;
        let mut line = format!("{}; the job started again", error.headline());
        if let Some(left) = self.launcher.without_lost_hosts(&self.left, &self.folder)? {
            line = format!("{line}; {}", left.note);
            self.ranks = left.cluster.ranks()?;
            self.left = left.cluster;
        }
        training.note(&line);
        self.failures.push(line);
        Ok(())
    }

    /// What the ranks have reached in the last pass.
    fn reached(&self) -> String {
        let Some(last) = self.passes.last() else {
            return format!("{}: stopped before the first pass", self.cluster);
        };
        let working: f64 = last.ranks.iter().map(|rank| rank.working).sum();
        let mean = working / last.ranks.len().max(1) as f64;
        let part = |seconds: f64| percent(seconds / last.seconds.max(1e-9));
        let memory = last.ranks.iter().map(|rank| rank.memory).max();
        format!(
            "{}: {} documents a second in the last pass, of which ranks waited {} for slower ones and {} for the exchange; {} in the largest rank",
            self.cluster,
            speeds(last),
            part(last.working() - mean),
            part(last.exchange()),
            bytes(memory.unwrap_or_default())
        )
    }
}

impl Learner for Ranks<'_> {
    fn advance(&mut self, training: &mut Loop) -> Result<bool> {
        loop {
            match self.events.pop_front() {
                // An earlier attempt has done this pass: its bits are the same.
                Some(Event::Pass(line)) if line.pass <= training.position.epoch => continue,
                Some(Event::Pass(line)) => {
                    training.position.epoch = line.pass - 1;
                    self.passes.push(line);
                    return Ok(true);
                }
                Some(Event::Finished) => {
                    if let Some(mut attempt) = self.attempt.take() {
                        attempt.launched.wait();
                    }
                    self.done = true;
                    return Ok(false);
                }
                None => {}
            }
            if let Some(error) = self.failed.take() {
                self.try_again(error, training)?;
            }
            let mut attempt = match self.attempt.take() {
                Some(attempt) => attempt,
                None => self.attempt(self.launcher.start(&self.left, &self.folder)?),
            };
            match self.follow(&mut attempt, training) {
                Ok(looked) => {
                    self.attempt = (!self.done).then_some(attempt);
                    if looked {
                        return Ok(false);
                    }
                }
                Err(error) => {
                    self.failed = Some(error);
                    // Ends the ranks before their last lines are read.
                    drop(attempt.launched);
                    self.events.extend(attempt.lines.read()?);
                }
            }
        }
    }

    fn report(&mut self, training: &Loop) -> Result<Epoch> {
        let line = &self.passes[self.passes.len() - 1];
        let duration = Duration::try_from_secs_f64(line.seconds).unwrap_or_default();
        let memory = line.ranks.iter().map(|rank| rank.memory).max();
        let report = Epoch {
            memory_bytes: memory.unwrap_or_default(),
            ..self
                .target
                .pass(training.position.epoch, line.score, duration)
        };
        divergence::check(&report, self.target.settings)?;
        Ok(report)
    }

    fn check_unchanged(&self) -> Result<()> {
        self.target.counts.check_unchanged()
    }

    fn is_done(&self, _epochs_left: bool) -> bool {
        self.done
    }

    fn stage(&self) -> String {
        self.passes.last().map(speeds).unwrap_or_default()
    }

    /// Tells the ranks to stop after their present pass, and waits for it.
    fn stop(&mut self) -> Result<ControlFlow<()>> {
        self.stopping = true;
        let file = self.folder.stop();
        File::create(&file).map_err(|error| Error::io("write", &file, error))?;
        Ok(ControlFlow::Continue(()))
    }

    fn state(&self) -> Result<RunningState<'_>> {
        Err(with_the_ranks())
    }

    fn topics(&self) -> Result<Option<(Matrix, Matrix)>> {
        Err(with_the_ranks())
    }
}

fn with_the_ranks() -> Error {
    Error::cluster("L is with the ranks while they fit").fix("join the fit, which returns L")
}

impl Attempt {
    /// Notes the last line of the launcher, unless it is known: that a job is queued, and for what.
    fn note_waiting(&mut self, folder: &RunFolder, training: &mut Loop) {
        let output = fs::read_to_string(folder.output()).unwrap_or_default();
        if let Some(line) = output.lines().rfind(|line| !line.is_empty())
            && line != self.waits
        {
            self.waits = line.into();
            training.note(&format!("no rank has started yet: {line}"));
        }
    }
}

/// Documents a second of each rank, or of the slowest and the fastest.
fn speeds(line: &PassLine) -> String {
    let speeds = line.ranks.iter();
    let speeds = speeds.map(|rank| rank.documents as f64 / rank.working.max(1e-9));
    let mut speeds: Vec<u64> = speeds.map(|speed| speed as u64).collect();
    if speeds.len() > SPEEDS {
        speeds.sort_unstable();
        let (slowest, fastest) = (speeds[0], speeds[speeds.len() - 1]);
        return format!("{} to {}", count(slowest), count(fastest));
    }
    let speeds: Vec<String> = speeds.into_iter().map(count).collect();
    speeds.join(" + ")
}

/// The lines of a file that grows.
struct Lines {
    path: PathBuf,
    read: u64,
    unfinished: String,
}

impl Lines {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: 0,
            unfinished: String::new(),
        }
    }

    /// The events since the last call. The file does not exist before the first.
    fn read(&mut self) -> Result<Vec<Event>> {
        let Ok(mut file) = File::open(&self.path) else {
            return Ok(Vec::new());
        };
        let failed = |error| Error::io("read", &self.path, error);
        file.seek(SeekFrom::Start(self.read)).map_err(failed)?;
        self.read += file.read_to_string(&mut self.unfinished).map_err(failed)? as u64;
        let Some(end) = self.unfinished.rfind('\n') else {
            return Ok(Vec::new());
        };
        let rest = self.unfinished.split_off(end + 1);
        let lines = std::mem::replace(&mut self.unfinished, rest);
        lines
            .lines()
            .map(|line| {
                serde_json::from_str(line).map_err(|error| {
                    Error::format(&self.path, error)
                        .fix("build the worker again: `cargo xtask worker`")
                })
            })
            .collect()
    }
}
