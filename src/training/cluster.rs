//! A fit by the ranks of a cluster: starts their job, follows it, and starts it again where a rank was lost.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::cluster::{
    Event, Job, Launched, Launcher, PassLine, RunFolder, Started, Watchdog, failure,
};
use crate::config::{Cluster, Recipe, Settings, Solver};
use crate::counts::{Counts, Fingerprint};
use crate::data::Matrix;
use crate::error::{Error, ErrorKind, Result};
use crate::solvers::{Start, start_factors};
use crate::text::{bytes, count, percent};

use super::divergence;
use super::full_pass::{Totals, epoch};
use super::minibatch::notify;
use super::observer::{FitStart, Observer, Snapshot};
use super::position::Position;
use super::state::{RunningState, StartState};

/// How often the lines of the ranks are read, and their signs of life.
const LINES: Duration = Duration::from_millis(10);
const LIFE: Duration = Duration::from_millis(250);

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
    /// The last pass that was reported.
    last: Option<PassLine>,
    stopping: bool,
}

/// Fits on the cluster from new logits, or follows a run; returns L and F, and why the job was started again, a line each time.
pub(super) fn fit(
    (recipe, cluster): (&Recipe, &Cluster),
    counts: &Counts,
    state: StartState,
    observers: &mut [&mut dyn Observer],
) -> Result<(Matrix, Matrix, Option<String>)> {
    let settings = &recipe.settings;
    let launcher = Launcher::find()?;
    let ranks = cluster.ranks()?;
    let (folder, launched) = match state {
        // It is removed when its fit is joined: the handle may be dropped before.
        StartState::Run(folder) => {
            let launched = Launched::find(&folder);
            (folder, Some(launched))
        }
        state => (Arc::new(prepare((recipe, cluster), counts, state)?), None),
    };
    let (documents, topics) = (counts.documents(), settings.topics);
    let start = FitStart {
        epochs: settings.epochs,
        documents,
        l_values: documents * topics,
        device: cluster.to_string(),
        done: 0.0,
        has_stages: false,
    };
    for observer in observers.iter_mut() {
        observer.started(&start);
    }
    let mut run = Run {
        settings,
        cluster,
        left: cluster.clone(),
        folder,
        ranks,
        totals: Totals::of(settings, counts)?,
        observers,
        last: None,
        stopping: false,
    };
    let failures = run.attempts(&launcher, launched)?;
    run.note(&run.reached());
    let (l, f) = run.folder.topics((documents, counts.terms(), topics))?;
    Ok((l, f, (!failures.is_empty()).then(|| failures.join("\n"))))
}

/// Writes what the ranks start from, and what a process needs that follows the run after this one has died.
fn prepare(
    (recipe, cluster): (&Recipe, &Cluster),
    counts: &Counts,
    state: StartState,
) -> Result<RunFolder> {
    let StartState::Logits(state) = state else {
        return Err(
            Error::setting("a fit on a cluster goes on from a checkpoint")
                .fix("resume it without a cluster"),
        );
    };
    let settings = &recipe.settings;
    let folder = RunFolder::create(&cluster.run_parent()?)?;
    let summary = counts.summary()?;
    let [l, f] = start_factors(Start::New(&state.l, &state.f), summary.document_lengths())?;
    drop(state);
    folder.write_start(&l.values, &f.values, summary.document_lengths())?;
    job(settings, cluster, counts)?.write(&folder)?;
    Started::new(settings, recipe.terms.as_ref(), cluster, counts)?.write(&folder)?;
    Ok(folder)
}

/// What the ranks are to do.
fn job(settings: &Settings, cluster: &Cluster, counts: &Counts) -> Result<Job> {
    let full_pass = settings.solver.as_full_pass();
    let ranks = cluster.ranks()?;
    let absolute =
        |path: &PathBuf| std::path::absolute(path).map_err(|e| Error::io("find", path, e));
    let files = counts.files();
    Ok(Job {
        version: env!("CARGO_PKG_VERSION").into(),
        ranks,
        threads: cluster
            .is_local()
            .then(|| (rayon::current_num_threads() / ranks).max(1)),
        counts: files.iter().map(absolute).collect::<Result<_>>()?,
        fingerprint: Fingerprint::of(counts)?,
        descent: !matches!(settings.solver, Solver::Em(_)),
        topics: settings.topics,
        passes: settings.epochs,
        tolerance: full_pass.map_or(0.0, |parameters| parameters.tolerance),
    })
}

impl Run<'_, '_> {
    /// Starts the job, unless it is `found` to be started, and again as often as the cluster says where it loses a rank; returns
    /// why.
    fn attempts(
        &mut self,
        launcher: &Launcher,
        mut found: Option<Launched>,
    ) -> Result<Vec<String>> {
        let mut failures = Vec::new();
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

    /// Follows the job to its end. Where it fails, all passes that it has written are reported: the next attempt goes on behind
    /// the last of them.
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
        let mut looked = Instant::now();
        loop {
            // Before the lines are read: the last ones are written before the job ends.
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
                        Error::new(ErrorKind::Cluster, "the run was left, and goes on")
                            .fix("find it again: TopicModel::attach"),
                    );
                }
                watchdog.look(&self.folder)?;
                self.ask_to_stop(Instant::now())?;
                if self.stopping && !watchdog.has_seen_ranks() {
                    // The job waits in a queue.
                    return Ok(());
                }
            }
            thread::sleep(LINES);
        }
    }

    /// Reports a pass, unless an earlier attempt has done it: its bits are the same.
    fn passed(&mut self, line: PassLine) -> Result<()> {
        if self
            .last
            .as_ref()
            .is_some_and(|last| line.pass <= last.pass)
        {
            return Ok(());
        }
        let memory = line.ranks.iter().map(|rank| rank.memory).max();
        let duration = Duration::try_from_secs_f64(line.seconds).unwrap_or_default();
        let report = epoch(
            line.score,
            line.pass,
            &self.totals,
            (duration, memory.unwrap_or_default()),
        );
        divergence::check(&report, self.settings)?;
        for observer in self.observers.iter_mut() {
            observer.stage("");
            observer.epoch_finished(&report);
        }
        self.last = Some(line);
        self.ask_to_stop(Instant::now())
    }

    /// Tells the ranks to stop after their present pass if an observer wants it.
    fn ask_to_stop(&mut self, epoch_began: Instant) -> Result<()> {
        if self.stopping {
            return Ok(());
        }
        let mut stop = false;
        let done = self.last.as_ref().map_or(0, |last| last.pass);
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
        let Some(last) = &self.last else {
            return format!("{}: stopped before the first pass", self.cluster);
        };
        let speeds = last.ranks.iter().map(|rank| {
            let speed = rank.documents as f64 / rank.working.max(1e-9);
            count(speed as u64)
        });
        let waiting: f64 = last.ranks.iter().map(|rank| rank.waiting).sum();
        let working: f64 = last.ranks.iter().map(|rank| rank.working).sum();
        let memory = last.ranks.iter().map(|rank| rank.memory).max();
        format!(
            "{}: {} documents a second in the last pass, {} of the ranks' time waiting, {} in the largest rank",
            self.cluster,
            speeds.collect::<Vec<_>>().join(" + "),
            percent(waiting / (waiting + working).max(1e-9)),
            bytes(memory.unwrap_or_default())
        )
    }
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
