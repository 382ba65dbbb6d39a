//! A fit by the ranks of a cluster: starts their job, follows it, and starts it again where a rank was lost.

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
use crate::config::{Cluster, Recipe, Settings, Solver};
use crate::counts::{Counts, Fingerprint};
use crate::data::Matrix;
use crate::error::{Error, ErrorKind, Result};
use crate::solvers::{Start, entropy, start_factors};
use crate::step::WarmRestarts;
use crate::text::{bytes, count, percent};

use super::divergence;
use super::full_pass::{Totals, epoch};
use super::minibatch::notify;
use super::observer::{FitStart, Observer, Snapshot, Stages};
use super::position::Position;
use super::state::{RunningState, StartState};
use super::stop::StopObserver;

/// How often the lines of the ranks are read, and how often their signs of life.
const LINES: Duration = Duration::from_millis(10);
const LIFE: Duration = Duration::from_millis(250);
/// Maximum number of starts of a launcher that fails before it has started a rank.
const STARTS: usize = 3;
/// How long ranks take to start, unless their job is queued.
const QUEUED: Duration = Duration::from_secs(3);

/// Up to this number of ranks, each speed is shown; of more, the lowest and the highest.
const SPEEDS: usize = 3;

/// L and F are with the ranks while the fit runs.
struct Remote;

impl Snapshot for Remote {
    fn take_losses(&mut self) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    fn state(&self) -> Result<RunningState<'_>> {
        Err(with_the_ranks())
    }

    fn proportions(&self) -> Result<Matrix> {
        Err(with_the_ranks())
    }
}

fn with_the_ranks() -> Error {
    Error::new(ErrorKind::Cluster, "L is with the ranks while they fit")
        .fix("join the fit, which returns L")
}

/// A fit whose job runs.
struct Run<'a, 'o> {
    settings: &'a Settings,
    cluster: &'a Cluster,
    /// The cluster without the hosts that were lost.
    left: Cluster,
    folder: Arc<RunFolder>,
    ranks: usize,
    totals: Totals,
    observers: &'a mut [&'o mut dyn Observer],
    /// The passes that were reported.
    passes: Vec<PassLine>,
    /// Whether the job passes over the documents once: stopped earlier, it has no result.
    once: bool,
    stopping: bool,
}

/// A fit by ranks.
pub(super) struct FittedByRanks {
    pub(super) l: Matrix,
    pub(super) f: Matrix,
    pub(super) passes: Vec<PassLine>,
    /// Why the job was started again, a line each time.
    pub(super) failures: Option<String>,
}

/// Fits on the cluster from new logits, or follows a run. The largest rank needs `rank_bytes`.
pub(super) fn fit(
    (recipe, cluster, rank_bytes): (&Recipe, &Cluster, u64),
    counts: &Counts,
    state: StartState,
    observers: &mut [&mut dyn Observer],
) -> Result<FittedByRanks> {
    let settings = &recipe.settings;
    let launcher = Launcher::find()?;
    let (folder, launched) = match state {
        // It is removed when its fit is joined: the handle may be dropped before.
        StartState::Run(folder) => {
            let launched = Launched::find(&folder);
            (folder, Some(launched))
        }
        state => {
            let job = job(&recipe.settings, (cluster, rank_bytes), counts)?;
            (
                Arc::new(prepare((recipe, cluster), counts, state, &job)?),
                None,
            )
        }
    };
    let (documents, topics) = (counts.documents(), settings.topics);
    let start = FitStart {
        epochs: settings.epochs,
        documents,
        l_values: documents * topics,
        device: cluster.to_string(),
        done: 0.0,
        stages: Stages::Ranks,
    };
    for observer in observers.iter_mut() {
        observer.started(&start);
    }
    let mut run = Run::new(settings, cluster, counts, folder, observers)?;
    let failures = run.attempts(&launcher, launched)?;
    run.note(&run.reached());
    let shape = (documents, counts.terms(), topics);
    let (l, f) = run.folder.topics(shape, !settings.solver.is_full_pass())?;
    Ok(FittedByRanks {
        l,
        f,
        passes: run.passes,
        failures: (!failures.is_empty()).then(|| failures.join("\n")),
    })
}

/// Writes what the ranks start from, and what a process needs that follows the run after this one has died.
fn prepare(
    (recipe, cluster): (&Recipe, &Cluster),
    counts: &Counts,
    state: StartState,
    job: &Job,
) -> Result<RunFolder> {
    let StartState::Logits(state) = state else {
        return Err(
            Error::setting("a fit on a cluster continues from a checkpoint")
                .fix("resume it without a cluster"),
        );
    };
    let settings = &recipe.settings;
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
    Started::new(settings, recipe.terms.as_ref(), cluster, counts)?.write(&folder)?;
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
    let launcher = Launcher::find()?;
    let folder = Arc::clone(folder);
    let mut stop = StopObserver::listen();
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    if let Some(stop) = &mut stop {
        observers.push(stop);
    }
    let mut run = Run::new(settings, cluster, counts, folder, &mut observers)?;
    run.once = true;
    run.attempts(&launcher, None)?;
    match run.stopping {
        false => Ok(()),
        true => Err(Error::new(
            ErrorKind::Cluster,
            "stopped before the ranks had passed over all documents",
        )
        .fix("run it again: nothing is kept of a part of the documents")),
    }
}

/// What the ranks are to do.
pub(super) fn job(
    settings: &Settings,
    (cluster, rank_bytes): (&Cluster, u64),
    counts: &Counts,
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

impl<'a, 'o> Run<'a, 'o> {
    fn new(
        settings: &'a Settings,
        cluster: &'a Cluster,
        counts: &Counts,
        folder: Arc<RunFolder>,
        observers: &'a mut [&'o mut dyn Observer],
    ) -> Result<Self> {
        Ok(Self {
            settings,
            cluster,
            left: cluster.clone(),
            folder,
            ranks: cluster.ranks()?,
            totals: Totals::of(settings, counts)?,
            observers,
            passes: Vec::new(),
            once: false,
            stopping: false,
        })
    }
}

impl Run<'_, '_> {
    /// Starts the job, unless it is `found` running, and starts it again as often as the cluster allows when it loses a rank.
    /// Returns why.
    fn attempts(
        &mut self,
        launcher: &Launcher,
        mut found: Option<Launched>,
    ) -> Result<Vec<String>> {
        let (mut failures, mut starts) = (Vec::new(), 1);
        loop {
            let launched = match found.take() {
                Some(launched) => launched,
                None => launcher.start(&self.left, &self.folder)?,
            };
            let error = match self.follow(launched) {
                Ok(()) => return Ok(failures),
                Err(error) if error.kind() != ErrorKind::Cluster || self.folder.is_left() => {
                    return Err(error);
                }
                Err(_) if starts < STARTS && never_began(&self.folder) => {
                    starts += 1;
                    self.folder.clear_attempt(self.ranks)?;
                    continue;
                }
                Err(error) if !self.cluster.retries_left(failures.len()) => return Err(error),
                Err(error) => error,
            };
            self.folder.clear_attempt(self.ranks)?;
            let mut line = format!("{}; the job started again", error.headline());
            if let Some(left) = launcher.without_lost_hosts(&self.left, &self.folder)? {
                line = format!("{line}; {}", left.note);
                self.ranks = left.cluster.ranks()?;
                self.left = left.cluster;
            }
            self.note(&line);
            failures.push(line);
        }
    }

    /// Follows the job to its end. Where it fails, all passes that it has written are reported: the next attempt continues
    /// after the last of them.
    fn follow(&mut self, launched: Launched) -> Result<()> {
        let mut lines = Lines::new(self.folder.events());
        let ended = self.follow_lines(launched, &mut lines);
        if ended.is_err() {
            for event in lines.read()? {
                if let Event::Pass(line) = event {
                    self.passed(line)?;
                }
            }
        }
        ended
    }

    fn follow_lines(&mut self, mut launched: Launched, lines: &mut Lines) -> Result<()> {
        let mut watchdog = Watchdog::new(self.ranks, self.cluster.time_without_progress());
        let began = Instant::now();
        let (mut looked, mut waits) = (began, String::new());
        loop {
            // Checked before the lines are read, because the last lines are written before the job ends.
            let ended = launched.ended();
            for event in lines.read()? {
                match event {
                    Event::Pass(line) => self.passed(line)?,
                    Event::Finished => {
                        launched.wait();
                        return Ok(());
                    }
                }
            }
            if let Some(status) = ended {
                return Err(failure(&self.folder, self.ranks, &status));
            }
            if looked.elapsed() >= LIFE {
                looked = Instant::now();
                if self.folder.is_left() {
                    launched.leave();
                    return Err(
                        Error::new(ErrorKind::Cluster, "the run was left, and continues")
                            .fix("find it again: TopicModel::attach"),
                    );
                }
                watchdog.look(&self.folder)?;
                if began.elapsed() >= QUEUED && !watchdog.has_seen_ranks() {
                    self.note_waiting(&mut waits);
                }
                self.ask_to_stop(Instant::now())?;
                if self.stopping && (self.once || !watchdog.has_seen_ranks()) {
                    // There is nothing to wait for, or the job waits in a queue.
                    return Ok(());
                }
            }
            thread::sleep(LINES);
        }
    }

    /// Shows the last line of the launcher, unless it is `known`: that a job is queued, and for what.
    fn note_waiting(&mut self, known: &mut String) {
        let output = fs::read_to_string(self.folder.output()).unwrap_or_default();
        if let Some(line) = output.lines().rfind(|line| !line.is_empty())
            && line != known
        {
            *known = line.into();
            self.note(&format!("no rank has started yet: {line}"));
        }
    }

    /// Reports a pass, unless an earlier attempt has done it: its bits are the same.
    fn passed(&mut self, line: PassLine) -> Result<()> {
        if line.pass <= self.done() {
            return Ok(());
        }
        let memory = line.ranks.iter().map(|rank| rank.memory).max();
        let duration = Duration::try_from_secs_f64(line.seconds).unwrap_or_default();
        let mut report = epoch(
            line.score,
            line.pass,
            &self.totals,
            (duration, memory.unwrap_or_default()),
        );
        if let Some(parameters) = self.settings.solver.as_mini_batch() {
            let batches = self.totals.batches();
            let last = (line.pass - 1, batches - 1);
            report.learning_rate = WarmRestarts::new(parameters).of_step(last, batches);
        }
        divergence::check(&report, self.settings)?;
        let speeds = speeds(&line);
        for observer in self.observers.iter_mut() {
            observer.stage(&speeds);
            observer.epoch_finished(&report);
        }
        self.passes.push(line);
        self.ask_to_stop(Instant::now())
    }

    /// Passes that were reported.
    fn done(&self) -> usize {
        self.passes.last().map_or(0, |last| last.pass)
    }

    /// Tells the ranks to stop after their present pass if an observer requests it.
    fn ask_to_stop(&mut self, epoch_began: Instant) -> Result<()> {
        if self.stopping {
            return Ok(());
        }
        let mut stop = false;
        let done = self.done();
        notify(
            self.observers,
            &mut Remote,
            (&mut Position::start_of(done), 1),
            epoch_began,
            &mut |observer, context| {
                stop |= observer.batch_finished(context) == ControlFlow::Break(());
            },
        );
        if stop {
            self.stopping = true;
            let file = self.folder.stop();
            File::create(&file).map_err(|error| Error::io("write", &file, error))?;
        }
        Ok(())
    }

    fn note(&mut self, line: &str) {
        for observer in self.observers.iter_mut() {
            observer.noted(line);
        }
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
