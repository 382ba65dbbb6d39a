//! Fits by solvers that pass over all documents in each iteration: expectation-maximisation and coordinate descent.

use crate::data::{Epoch, Matrix};
use crate::error::{Error, Result};
use crate::solvers::{self, Iterate, Start};
use crate::step;

use super::epochs::{Learner, Loop};
use super::observer::Stages;
use super::run::{Run, catch_device_errors};
use super::state::{Convergence, RunningState, StartState};

/// A solver between two iterations, and whether it continues.
struct Passes {
    solver: Box<dyn Iterate>,
    convergence: Convergence,
}

impl Learner for Passes {
    fn advance(&mut self, training: &mut Loop) -> Result<bool> {
        let iteration = self.solver.iterate(training.counts)?;
        let parameters = training.settings.solver.as_full_pass();
        let tolerance = parameters.map_or(0.0, |parameters| parameters.tolerance);
        self.convergence = Convergence {
            score: iteration.score,
            converged: iteration.converged(self.convergence.score, tolerance),
        };
        Ok(true)
    }

    fn report(&self, training: &Loop) -> Epoch {
        training.pass(self.convergence.score, training.epoch_began.elapsed())
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

    fn proportions(&self) -> Result<Matrix> {
        Ok(self.solver.topics()?.0)
    }
}

/// Fits by the solver of the settings; returns L and F.
pub(super) fn fit(run: &Run, state: StartState, training: &mut Loop) -> Result<(Matrix, Matrix)> {
    let (settings, counts) = (&run.recipe.settings, &run.counts);
    let iterate = || {
        training.start(
            run.device.to_string(),
            match solvers::has_stages(settings) {
                true => Stages::Search,
                false => Stages::None,
            },
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
