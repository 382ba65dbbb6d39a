//! The state from which a fit starts.

use std::sync::Arc;

use crate::cluster::RunFolder;
use crate::config::Settings;
use crate::counts::Counts;
use crate::data::Epoch;
use crate::data::Matrix;
use crate::error::Result;
use crate::step::{State, initial_tables};

use super::checkpoint::ExistingFile;
use super::position::Position;
use super::state::StartState;

/// The state from which a run starts or resumes: a new fit's, or one read from a checkpoint.
#[derive(Debug, Clone)]
pub(crate) struct ResumeState {
    pub(crate) state: StartState,
    pub(crate) position: Position,
    /// The epochs that are finished.
    pub(crate) history: Vec<Epoch>,
    /// The checkpoint files that exist under the fit's checkpoint path.
    pub(crate) existing: ExistingFile,
    /// A message for the user before the fit resumes.
    pub(crate) note: Option<String>,
}

impl ResumeState {
    /// The start of a new fit.
    pub(crate) fn new(settings: &Settings, counts: &Counts) -> Result<Self> {
        let (documents, terms) = counts.shape();
        let (l, f) = initial_tables(settings, documents, terms)?;
        let state = State::new(l, f, &settings.solver)?;
        Ok(Self::before_the_first_epoch(StartState::Logits(state)))
    }

    /// The start of a new fit from positive L (documents x topics) and F (topics x terms), for solvers that pass over all
    /// documents.
    pub(crate) fn from_topics(l: Matrix, f: Matrix) -> Self {
        Self::before_the_first_epoch(StartState::Logits(State {
            l,
            f,
            l_state: Vec::new(),
            f_state: Vec::new(),
            steps: 0,
        }))
    }

    /// A run of a cluster that continues. Its passes are reported from the first one on.
    pub(crate) fn of_run(folder: Arc<RunFolder>) -> Self {
        Self::before_the_first_epoch(StartState::Run(folder))
    }

    fn before_the_first_epoch(state: StartState) -> Self {
        Self {
            state,
            position: Position::default(),
            history: Vec::new(),
            existing: ExistingFile::None,
            note: None,
        }
    }
}
