//! `Recipe` holds a fit's settings, term names, budget, checkpoint path, cluster and callback.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::counts::Counts;
use crate::data::{Epoch, Terms};
use crate::error::{Error, ErrorKind, Result};

use super::cluster::Cluster;
use super::device::Resolved;
use super::precision::Precision;
use super::settings::Settings;
use super::solver::{FullPass, MiniBatch, Solver};
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
    /// Setters of the solver's parameters that were called: which, and for which kind of solver.
    parameters: Vec<(&'static str, Kind)>,
}

/// A user's function that is called after every epoch.
#[derive(Clone)]
pub struct OnEpoch(Arc<EpochFn>);

type EpochFn = dyn Fn(&Epoch) -> ControlFlow<()> + Send + Sync;

impl OnEpoch {
    pub fn call(&self, epoch: &Epoch) -> ControlFlow<()> {
        (self.0)(epoch)
    }
}

impl fmt::Debug for OnEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnEpoch")
    }
}

/// The two kinds of solvers, which have different parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    MiniBatch,
    FullPass,
    /// Set before `solver`, which replaced it.
    Replaced,
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
            parameters: Vec::new(),
        }
    }

    /// Sets the function that is called after every epoch.
    pub fn set_on_epoch(
        &mut self,
        observe: impl Fn(&Epoch) -> ControlFlow<()> + Send + Sync + 'static,
    ) {
        self.on_epoch = Some(OnEpoch(Arc::new(observe)));
    }

    /// Sets the solver with all of its parameters.
    pub fn set_solver(&mut self, solver: Solver) {
        for (_, kind) in &mut self.parameters {
            *kind = Kind::Replaced;
        }
        self.settings.solver = solver;
    }

    /// Sets a parameter of gradient steps. With another solver the call is remembered, and refused by
    /// [`check`](Self::check).
    pub fn set_mini_batch(&mut self, name: &'static str, set: impl FnOnce(&mut MiniBatch)) {
        self.parameters.push((name, Kind::MiniBatch));
        if let Some(parameters) = self.settings.solver.as_mini_batch_mut() {
            set(parameters);
        }
    }

    /// Sets a parameter of the solvers that pass over all documents, in the same way.
    pub fn set_full_pass(&mut self, name: &'static str, set: impl FnOnce(&mut FullPass)) {
        self.parameters.push((name, Kind::FullPass));
        if let Some(parameters) = self.settings.solver.as_full_pass_mut() {
            set(parameters);
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
        self.check_parameters()?;
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
            return Err(Error::new(
                ErrorKind::Shape,
                format!("{} term names for {terms} terms", names.len()),
            )
            .fix("pass one name for every column of the counts, in their order"));
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
    fn check_parameters(&self) -> Result<()> {
        let solver = &self.settings.solver;
        let own = match solver.is_full_pass() {
            true => Kind::FullPass,
            false => Kind::MiniBatch,
        };
        for (name, kind) in &self.parameters {
            let (what, remedy) = match kind {
                kind if *kind == own => continue,
                Kind::Replaced => (
                    format!("{name} was set, and then replaced by solver"),
                    format!("call {name} after solver"),
                ),
                Kind::MiniBatch => (
                    format!("{name} is a parameter of gradient steps, and the solver is {solver}"),
                    format!("leave {name} out, or use Solver::mini_batch()"),
                ),
                Kind::FullPass => (
                    format!(
                        "{name} is a parameter of solvers that converge, and the solver is {solver}"
                    ),
                    format!(
                        "leave {name} out, or use Solver::auto(), Solver::coordinate_descent() or Solver::em()"
                    ),
                ),
            };
            return Err(Error::setting(what).fix(remedy));
        }
        Ok(())
    }

    /// Reads and checks all counts, unless that has been done, in buffers of about `read_bytes`.
    pub fn check_counts(&self, counts: &Counts, streamed: bool, read_bytes: u64) -> Result<()> {
        let summary = counts.summary_by(streamed, read_bytes)?;
        if summary.total() == 0.0 {
            return Err(Error::new(ErrorKind::Value, "all counts are zero")
                .fix("check that the file holds counts of terms in documents"));
        }
        if summary.total() > MOST_TOKENS {
            return Err(Error::new(
                ErrorKind::Value,
                format!(
                    "the counts sum to {:e}, and the largest is {:e}: a fit computes with at most {MOST_TOKENS:e} tokens",
                    summary.total(),
                    summary.largest()
                ),
            )
            .fix("check that the file holds counts of terms in documents, and no other measurements"));
        }
        Ok(())
    }
}
