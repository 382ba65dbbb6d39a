//! Fits by solvers that pass over all documents in each iteration: expectation-maximisation and coordinate descent.

use crate::data::{Epoch, Matrix};
use crate::error::{Error, Result};
use crate::solvers::{self, Iterate, Start};
use crate::step;

use super::divergence;
use super::epochs::{Learner, Loop};
use super::observer::Stages;
use super::run::{Run, catch_device_errors};
use super::state::{Convergence, RunningState, StartState};
use super::target::Target;

/// A solver between two iterations, and whether it continues.
struct Passes<'a> {
    target: &'a Target<'a>,
    solver: Box<dyn Iterate>,
    convergence: Convergence,
}

impl Learner for Passes<'_> {
    fn advance(&mut self, _training: &mut Loop) -> Result<bool> {
        let iteration = self.solver.iterate(self.target.counts)?;
        let parameters = self.target.settings.solver.as_full_pass();
        let tolerance = parameters.map_or(0.0, |parameters| parameters.tolerance);
        self.convergence = Convergence {
            score: iteration.score,
            converged: iteration.converged(self.convergence.score, tolerance),
        };
        Ok(true)
    }

    fn report(&mut self, training: &Loop) -> Result<Epoch> {
        let (epoch, seconds) = (training.position.epoch, training.epoch_began.elapsed());
        let report = self.target.pass(epoch, self.convergence.score, seconds);
        divergence::check(&report, self.target.settings)?;
        Ok(report)
    }

    fn check_unchanged(&self) -> Result<()> {
        self.target.counts.check_unchanged()
    }

    fn is_done(&self, epochs_left: bool) -> bool {
        !epochs_left || self.convergence.converged
    }

    fn stage(&self) -> String {
        self.solver.stage().unwrap_or_default()
    }

    fn state(&self) -> Result<RunningState<'_>> {
        let state = self.solver.state()?;
        Ok(RunningState::Iterations(state, self.convergence))
    }

    fn topics(&self) -> Result<Option<(Matrix, Matrix)>> {
        self.solver.topics().map(Some)
    }
}

/// Fits by the solver of the settings; returns L and F.
pub(super) fn fit(
    run: &Run,
    target: &Target,
    state: StartState,
    training: &mut Loop,
) -> Result<(Matrix, Matrix)> {
    let (settings, counts) = (target.settings, target.counts);
    let iterate = || {
        training.start(
            run.device.to_string(),
            match solvers::has_stages(settings) {
                true => Stages::Search,
                false => Stages::None,
            },
            settings.topics,
        );
        let create = |start| solvers::create(settings, counts, (run.device, run.placement), start);
        let before = Convergence {
            score: f64::NEG_INFINITY,
            converged: false,
        };
        let (solver, convergence) = match state {
            StartState::Logits(state) => (create(Start::New(&state.l, &state.f))?, before),
            StartState::Iterations(state, reached) => (create(Start::Saved(state))?, reached),
            StartState::Run(_) => {
                return Err(Error::setting("a run of a cluster continues there"));
            }
        };
        let mut passes = Passes {
            target,
            solver,
            convergence,
        };
        training.run(&mut passes)?;
        let topics = passes.solver.topics()?;
        run.monitor.handle().sample();
        Ok(topics)
    };
    step::threads()?.install(|| catch_device_errors(run.device, iterate))
}
