//! Runs the fits of a sweep.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;

use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::fit::{Fit, mean_cosine};
use crate::system::{Board, StopButton};
use crate::text::{counted, seconds};

use super::files::Files;
use super::fits::{Group, SweepFits, SweepRun};
use super::plan::SweepPlan;

/// Most probable terms of a topic whose coherence is computed.
pub(super) const COHERENT_TERMS: usize = 10;

impl SweepPlan {
    /// Fits and judges the models as planned; see [`Sweep::fit`](super::Sweep::fit).
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).quiet().plan(&counts)?.fit()?;
    /// assert_eq!(sweep.topics(), [2, 4]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Sweep::fit`](super::Sweep::fit).
    pub fn fit(&self) -> Result<SweepFits> {
        let files = match &self.sweep.folder {
            Some(folder) => Some(Files::open(folder, &self.train)?),
            None => None,
        };
        let mut work = Work {
            plan: self,
            files,
            stop: StopButton::listen(),
            progress: Progress::new(self),
        };
        let mut groups = Vec::new();
        for &topics in &self.sweep.topics {
            let (group, flow) = work.group(topics)?;
            groups.extend(group);
            if flow.is_break() {
                break;
            }
        }
        if groups.is_empty() {
            return Err(
                Error::setting("the sweep was stopped before its first fit was done").fix(
                    "run it again; Sweep::checkpoint(\"folder\") keeps every fit that is done",
                ),
            );
        }
        let all = self.sweep.topics.len() * self.sweep.seeds;
        let documents = (self.counts.clone(), self.names.clone());
        Ok(SweepFits::new(groups, documents, all))
    }
}

/// A sweep at work.
struct Work<'a> {
    plan: &'a SweepPlan,
    files: Option<Files<'a>>,
    stop: Option<StopButton>,
    progress: Progress,
}

impl Work<'_> {
    /// The fits of one number of topics; `None` if it was stopped before the first was done.
    fn group(&mut self, topics: usize) -> Result<(Option<Group>, ControlFlow<()>)> {
        let (mut runs, mut f) = (Vec::new(), Vec::new());
        let mut best: Option<Fit> = None;
        let likelihood = |fit: &Fit| fit.log_likelihood_per_token().unwrap_or(f64::NEG_INFINITY);
        let mut flow = ControlFlow::Continue(());
        for seed in self.plan.sweep.each_seed() {
            self.progress.begin(topics, seed);
            let Some((fit, loaded)) = self.fit(topics, seed)? else {
                flow = ControlFlow::Break(());
                break;
            };
            let coherence = fit.coherence(&self.plan.train, COHERENT_TERMS)?;
            let run = SweepRun {
                topics,
                seed,
                evaluation: fit.evaluate(&self.plan.held_out)?,
                npmi: coherence.npmi(),
                duration: fit.duration(),
                peak_memory: fit.peak_memory(),
                loaded,
            };
            self.progress.done(&run);
            if let Some(on_fit) = &self.plan.sweep.on_fit {
                flow = (on_fit.0)(&run);
            }
            runs.push(run);
            f.push(fit.f());
            // The held-out documents choose nothing but the number of topics. The first of equals, so that the choice is the
            // same in every sweep.
            best = match best {
                Some(best) if likelihood(&fit) > likelihood(&best) => Some(fit),
                None => Some(fit),
                best => best,
            };
            if flow.is_break() {
                break;
            }
        }
        let stability = stability(&f)?;
        let group = best.map(|best| Group {
            topics,
            runs,
            best,
            f,
            stability,
        });
        Ok((group, flow))
    }

    /// A fit, and whether it was loaded from the folder; `None` if it was stopped.
    fn fit(&self, topics: usize, seed: u64) -> Result<Option<(Fit, bool)>> {
        let is_stopped = || self.stop.as_ref().is_some_and(StopButton::is_pressed);
        let model = self.plan.sweep.model_of(topics, seed);
        if let Some(files) = &self.files
            && let Some(fit) = files.load(&model)?
        {
            return Ok(Some((fit, true)));
        }
        if is_stopped() {
            return Ok(None);
        }
        let fit = model.fit(&self.plan.train)?;
        // A fit that was stopped has not converged.
        if is_stopped() {
            return Ok(None);
        }
        if let Some(files) = &self.files {
            files.save(&fit)?;
        }
        Ok(Some((fit, false)))
    }
}

/// The mean cosine of the paired topics of all pairs of fits; `None` of one fit.
fn stability(f: &[Matrix]) -> Result<Option<f64>> {
    let pairs: Vec<(usize, usize)> = (0..f.len())
        .flat_map(|b| (0..b).map(move |a| (a, b)))
        .collect();
    let cosines = pairs.par_iter().map(|&(a, b)| mean_cosine(&f[a], &f[b]));
    let cosines = cosines.collect::<Result<Vec<f64>>>()?;
    Ok((!cosines.is_empty()).then(|| cosines.iter().sum::<f64>() / cosines.len() as f64))
}

/// One line that says how far the sweep is.
struct Progress {
    board: Option<Board>,
    began: Instant,
    done: usize,
    /// Sums of the numbers of topics of the fits that were done here, and of all that are left.
    cost_done: usize,
    cost_left: usize,
    all: usize,
    last: String,
}

impl Progress {
    fn new(plan: &SweepPlan) -> Self {
        let sweep = &plan.sweep;
        Self {
            board: (!sweep.model.recipe.quiet).then(Board::new),
            began: Instant::now(),
            done: 0,
            cost_done: 0,
            cost_left: sweep.topics.iter().sum::<usize>() * sweep.seeds,
            all: sweep.topics.len() * sweep.seeds,
            last: String::new(),
        }
    }

    fn begin(&mut self, topics: usize, seed: u64) {
        let (done, all, last) = (self.done, self.all, &self.last);
        if let Some(board) = &mut self.board {
            board.state(|| {
                format!("sweep: {done} of {all} fits{last}; fitting k = {topics}, seed {seed}")
            });
        }
    }

    fn done(&mut self, run: &SweepRun) {
        self.done += 1;
        self.cost_left -= run.topics;
        if !run.loaded {
            self.cost_done += run.topics;
        }
        self.last = format!(
            "; k = {}, seed {}: {:.4} nats a token held out",
            run.topics,
            run.seed,
            run.evaluation.score_per_token()
        );
        let elapsed = self.began.elapsed().as_secs_f64();
        // A fit takes time in proportion to its number of topics.
        let left = elapsed / self.cost_done as f64 * self.cost_left as f64;
        let time = match (self.done == self.all, self.cost_done) {
            (true, _) => format!("in {}", seconds(elapsed)),
            (false, 0) => String::from("loaded"),
            (false, _) => format!("about {} left", seconds(left)),
        };
        let line = format!(
            "sweep: {} of {}{}; {time}",
            self.done,
            counted(self.all, "fit"),
            self.last
        );
        if let Some(board) = &mut self.board {
            board.replace(&line);
        }
    }
}
