//! The state of a training loop, from which it starts or resumes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::RunFolder;
use crate::config::StateValues;
use crate::data::{Matrix, NamedTable};
use crate::solvers::{SavedState, SolverState};
use crate::step::State;

/// What a training loop starts from.
#[derive(Debug, Clone)]
pub(crate) enum StartState {
    /// Logits of a new fit, with any solver, or after a gradient step.
    Logits(State),
    /// A solver that passes over all documents, after an iteration.
    Iterations(SavedState, Convergence),
    /// A run of a cluster that another process has started.
    Run(Arc<RunFolder>),
}

/// The state of a training loop between two batches, as a checkpoint stores it.
pub(crate) enum RunningState<'a> {
    Logits(State),
    Iterations(SolverState<'a>, Convergence),
    /// A module of one's own.
    Module(Box<ModuleState>),
}

impl<'a> RunningState<'a> {
    /// The tables that it consists of.
    pub(crate) fn tables(&'a self) -> Vec<NamedTable<'a>> {
        match self {
            Self::Logits(state) => tables_of_logits(state),
            Self::Iterations(state, _) => state.tables.iter().map(NamedTable::borrowed).collect(),
            Self::Module(state) => state
                .tables
                .iter()
                .map(|(name, table)| NamedTable::of(name, table))
                .collect(),
        }
    }
}

/// The state of a training of a module.
pub(crate) struct ModuleState {
    /// What is not in the tables, as JSON.
    pub(crate) metadata: serde_json::Value,
    /// The values of its parameters, and what belongs to them, each in one row.
    pub(crate) tables: Vec<(&'static str, Matrix)>,
}

/// What decides whether a solver that passes over all documents continues.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Convergence {
    /// The score of the last iteration.
    #[serde(with = "crate::system::serde_f64")]
    pub(crate) score: f64,
    /// Whether that iteration was the last one.
    pub(crate) converged: bool,
}

/// The logits of L and F.
const LOGITS: [&str; 2] = ["l", "f"];
/// The state that an optimizer keeps for L and for F, in one or two tables.
const L_STATE: [&str; 2] = ["l_state_1", "l_state_2"];
const F_STATE: [&str; 2] = ["f_state_1", "f_state_2"];

/// The names of the logits and of an optimizer's state for them.
pub(crate) fn names_of_logits(values: StateValues) -> Vec<&'static str> {
    [&LOGITS, &L_STATE[..values.l], &F_STATE[..values.f]].concat()
}

/// Whether a table of logits is one of L.
pub(crate) fn is_of_l(name: &str) -> bool {
    name == LOGITS[0] || L_STATE.contains(&name)
}

/// The tables of logits, in the order of [`names_of_logits`].
fn tables_of_logits(state: &State) -> Vec<NamedTable<'_>> {
    let matrices = [&state.l, &state.f].into_iter();
    let values = StateValues {
        l: state.l_state.len(),
        f: state.f_state.len(),
    };
    names_of_logits(values)
        .into_iter()
        .zip(matrices.chain(&state.l_state).chain(&state.f_state))
        .map(|(name, matrix)| NamedTable::of(name, matrix))
        .collect()
}
