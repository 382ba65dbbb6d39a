//! `Recipe` holds a fit's settings, term names, budget, checkpoint path, cluster and callback.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::counts::Counts;
use crate::data::{Epoch, Terms};
use crate::error::{Error, Result};

use super::cluster::Cluster;
use super::device::Resolved;
use super::mini_batch::MiniBatch;
use super::precision::Precision;
use super::settings::Settings;
use super::solver::Solver;
use super::storage::TableStorage;
use crate::data::Budget;

/// Largest total of the counts of a fit. Gradients are at most as large as the tokens of a batch, and AdamW squares
/// them in single precision, whose largest number is 3.4e38.
const MOST_TOKENS: f64 = 1e18;

/// Settings, term names, budget, and what happens while the fit runs.
#[derive(Debug, Clone)]
pub struct Recipe {
    pub settings: Settings,
    pub terms: Option<Terms>,
    pub quiet: bool,
    pub checkpoint: Option<PathBuf>,
    pub budget: Budget,
    pub on_epoch: Option<OnEpoch>,
    pub cluster: Option<Cluster>,
    /// Short-cuts to a parameter of the solver, which hold for whichever solver is set before or after them.
    batch_size: Option<usize>,
    tolerance: Option<f64>,
}

/// A user's function that is called after every epoch.
#[derive(Clone)]
pub struct OnEpoch(Arc<EpochFn>);

type EpochFn = dyn Fn(&Epoch) -> ControlFlow<()> + Send + Sync;

impl OnEpoch {
    pub fn new(observe: impl Fn(&Epoch) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub fn call(&self, epoch: &Epoch) -> ControlFlow<()> {
        (self.0)(epoch)
    }
}

impl fmt::Debug for OnEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnEpoch")
    }
}

impl Recipe {
    /// The defaults for `k` topics.
    pub fn new(k: usize) -> Self {
        Self::from_settings(Settings::new(k))
    }

    /// These settings, and the defaults of the rest.
    pub fn from_settings(settings: Settings) -> Self {
        Self {
            settings,
            terms: None,
            quiet: false,
            checkpoint: None,
            budget: Budget::new(),
            on_epoch: None,
            cluster: None,
            batch_size: None,
            tolerance: None,
        }
    }

    /// Sets the function that is called after every epoch.
    pub fn set_on_epoch(
        &mut self,
        observe: impl Fn(&Epoch) -> ControlFlow<()> + Send + Sync + 'static,
    ) {
        self.on_epoch = Some(OnEpoch::new(observe));
    }

    /// Sets the solver. The short-cuts hold for it too, but for a batch size of its own.
    pub fn set_solver(&mut self, solver: Solver) {
        if let Solver::MiniBatch(parameters) = &solver
            && parameters.batch_size != MiniBatch::DEFAULT.batch_size
        {
            self.batch_size = None;
        }
        self.settings.solver = solver;
        self.apply_short_cuts();
    }

    /// Sets the documents of a minibatch. With another solver than gradient steps, [`check`](Self::check) refuses it.
    pub fn set_batch_size(&mut self, documents: usize) {
        self.batch_size = Some(documents);
        self.apply_short_cuts();
    }

    /// Sets when a solver has converged. With gradient steps, which do not, [`check`](Self::check) refuses it.
    pub fn set_tolerance(&mut self, tolerance: f64) {
        self.tolerance = Some(tolerance);
        self.apply_short_cuts();
    }

    fn apply_short_cuts(&mut self) {
        match &mut self.settings.solver {
            Solver::MiniBatch(parameters) => {
                parameters.batch_size = self.batch_size.unwrap_or(parameters.batch_size);
            }
            Solver::Em(parameters)
            | Solver::CoordinateDescent(parameters)
            | Solver::Auto(parameters) => {
                parameters.tolerance = self.tolerance.unwrap_or(parameters.tolerance);
            }
        }
    }

    /// Everything that can be refused without a look at the counts themselves; gives the device that the fit runs on.
    pub fn check(&self, counts: &Counts) -> Result<Resolved> {
        self.check_settings(counts)?;
        let device = self.settings.resolve_device()?;
        self.check_on(device)?;
        Ok(device)
    }

    /// What can be refused on every device.
    pub fn check_settings(&self, counts: &Counts) -> Result<()> {
        self.check_short_cuts()?;
        self.settings.check()?;
        #[cfg(not(feature = "cuda"))]
        if self.budget.vram_bytes().is_some() {
            return Err(
                Error::setting("a budget of VRAM in a build without the feature cuda")
                    .fix("leave it out, or build topicbook with its default features"),
            );
        }
        let (documents, terms) = counts.shape();
        let k = self.settings.topics;
        if k > documents || k > terms {
            return Err(Error::setting(format!(
                "{k} topics are more than the counts hold ({documents} documents × {terms} terms)"
            ))
            .fix("use fewer topics: at most as many as documents and as terms"));
        }
        if i32::try_from(documents).is_err() {
            return Err(Error::setting(format!("{documents} documents in one fit"))
                .fix("fit at most 2,147,483,647 documents at once"));
        }
        if let Some(names) = &self.terms
            && names.len() != terms
        {
            return Err(
                Error::shape(format!("{} term names for {terms} terms", names.len()))
                    .fix("pass one name for every column of the counts, in their order"),
            );
        }
        Ok(())
    }

    /// What only the CPU can do is refused on other devices.
    pub fn check_on(&self, device: Resolved) -> Result<()> {
        let Some(parameters) = self.settings.solver.as_mini_batch() else {
            return Ok(());
        };
        if device == Resolved::Cpu {
            return Ok(());
        }
        if !parameters.optimizer.runs_on_gpu() {
            return Err(Error::setting(format!(
                "{} on {device}: only AdamW updates F there",
                parameters.optimizer
            ))
            .fix("use Optimizer::RowwiseAdamW or Optimizer::AdamW, or Device::Cpu"));
        }
        // A row-wise optimizer and a file have L outside of the GPU.
        let outside = !parameters.optimizer.moves_all_rows()
            || parameters.table_storage != TableStorage::Memory;
        if parameters.clips() && outside {
            return Err(Error::setting(format!(
                "clip_grad_norm on {device} with L outside of it: the norm is that of all gradients"
            ))
            .fix("use Optimizer::AdamW and TableStorage::Memory, or Device::Cpu"));
        }
        if parameters.table_precision != Precision::F32 && !outside {
            return Err(Error::setting(format!(
                "tables in {} on {device}: tables in its memory are f32",
                parameters.table_precision
            ))
            .fix(
                "use Optimizer::RowwiseAdamW or TableStorage::File, which keep L outside of the GPU, or Device::Cpu",
            ));
        }
        Ok(())
    }

    /// Refuses parameters that the solver does not have, instead of ignoring them.
    fn check_short_cuts(&self) -> Result<()> {
        let solver = &self.settings.solver;
        let (name, whose, solvers) = match solver.is_full_pass() {
            true if self.batch_size.is_some() => {
                ("batch_size", "gradient steps", "Solver::mini_batch()")
            }
            false if self.tolerance.is_some() => (
                "tolerance",
                "solvers that converge",
                "Solver::auto(), Solver::coordinate_descent() or Solver::em()",
            ),
            _ => return Ok(()),
        };
        Err(Error::setting(format!(
            "{name} is a parameter of {whose}, and the solver is {solver}"
        ))
        .fix(format!("leave {name} out, or use {solvers}")))
    }

    /// Reads and checks all counts, unless that has been done, in buffers of about `read_bytes`.
    pub fn check_counts(&self, counts: &Counts, streamed: bool, read_bytes: u64) -> Result<()> {
        let summary = counts.summary_by(streamed, read_bytes)?;
        if summary.total() == 0.0 {
            return Err(Error::value("all counts are zero")
                .fix("check that the file holds counts of terms in documents"));
        }
        if summary.total() > MOST_TOKENS {
            return Err(Error::value(format!(
                    "the counts sum to {:e}, and the largest is {:e}: a fit computes with at most {MOST_TOKENS:e} tokens",
                    summary.total(),
                    summary.largest()
                ))
            .fix("check that the file holds counts of terms in documents, and no other measurements"));
        }
        Ok(())
    }
}
