//! The state that a solver's later iterations depend on, as checkpoints store it: tables and numbers, without the counts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::data::{Matrix, NamedTable};
use crate::error::{Error, ErrorKind, Result};

use super::coordinate_descent::AscentNumbers;
use super::factor::Factor;
use super::search::SearchNumbers;

/// The numbers of a solver's state. They determine which tables belong to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Numbers {
    /// Expectation-maximisation, and coordinate descent over a stream: L and F are the state.
    Factors,
    Ascent(AscentNumbers),
    Search(Box<SearchNumbers>),
}

/// L in tokens (documents x topics) and F in probabilities (terms x topics).
const FACTORS: [&str; 2] = ["l", "f"];
/// The tables of an [`Ascent`](super::coordinate_descent::Ascent); its other tables equal these.
pub(super) const ASCENT: [&str; 4] = ["best_l", "best_f", "previous_l", "extrapolated_f"];
/// The tables of a candidate of the search, with up to 3 additional topics.
pub(super) const CANDIDATE: [&str; 4] = [
    "candidate_best_l",
    "candidate_best_f",
    "candidate_previous_l",
    "candidate_extrapolated_f",
];
impl Numbers {
    /// The names of the tables.
    pub fn tables(&self) -> Vec<&'static str> {
        match self {
            Self::Factors => FACTORS.to_vec(),
            Self::Ascent(_) => ASCENT.to_vec(),
            Self::Search(search) => {
                let mut names = ASCENT.to_vec();
                names.extend(search.candidate.iter().flat_map(|_| CANDIDATE));
                names
            }
        }
    }

    /// Whether a solver can reach these numbers.
    fn are_in_range(&self) -> bool {
        match self {
            Self::Factors => true,
            Self::Ascent(numbers) => numbers.are_in_range(),
            Self::Search(numbers) => numbers.are_in_range(),
        }
    }
}

/// The state of a running solver.
pub struct SolverState<'a> {
    pub numbers: Numbers,
    pub tables: Vec<NamedTable<'a>>,
}

impl<'a> SolverState<'a> {
    /// L in tokens (documents x topics) and F in probabilities (terms x topics).
    pub fn of_factors(l: Cow<'a, [f32]>, f: Cow<'a, [f32]>, topics: usize) -> Self {
        let table = |(name, values)| NamedTable {
            name,
            columns: topics,
            values,
            of: None,
        };
        Self {
            numbers: Numbers::Factors,
            tables: FACTORS.into_iter().zip([l, f]).map(table).collect(),
        }
    }
}

/// The state of a solver from a checkpoint: the tables in the order of [`Numbers::tables`].
#[derive(Debug, Clone)]
pub struct SavedState {
    pub numbers: Numbers,
    pub tables: Vec<Matrix>,
}

impl SavedState {
    /// Whether the tables have the shapes that belong to the numbers, and all values are possible.
    pub fn is_consistent(&self, documents: usize, terms: usize, topics: usize) -> bool {
        let rows = |name: &str| match name.ends_with('l') {
            true => documents,
            false => terms,
        };
        let columns = |name: &str| match &self.numbers {
            Numbers::Search(search) if CANDIDATE.contains(&name) => topics + search.added_topics(),
            _ => topics,
        };
        let names = self.numbers.tables();
        self.numbers.are_in_range()
            && names.len() == self.tables.len()
            && names.iter().zip(&self.tables).all(|(name, table)| {
                table.shape() == (rows(name), columns(name))
                    && table.values().iter().all(|value| *value >= 0.0)
            })
    }

    /// The two tables of [`Numbers::Factors`].
    pub fn into_factors(self) -> Result<[Factor; 2]> {
        match self.numbers {
            Numbers::Factors => SavedTables::new(self.tables).take(),
            _ => Err(other_solver()),
        }
    }
}

/// The tables of a checkpoint, which are moved into a solver.
pub(super) struct SavedTables(std::vec::IntoIter<Matrix>);

impl SavedTables {
    pub(super) fn new(tables: Vec<Matrix>) -> Self {
        Self(tables.into_iter())
    }

    /// The next tables.
    pub(super) fn take<const N: usize>(&mut self) -> Result<[Factor; N]> {
        let next: Vec<_> = self.0.by_ref().take(N).map(Factor::from_table).collect();
        next.try_into().map_err(|_| other_solver())
    }
}

/// The error for the state of a solver that is not the one of the settings.
pub(super) fn other_solver() -> Error {
    Error::new(
        ErrorKind::Setting,
        "the checkpoint's tables belong to another solver or reading than its settings",
    )
    .fix("give the checkpoint as the fit wrote it")
}

/// The start of a solver.
pub enum Start<'a> {
    /// Positive L (documents x topics) and F (topics x terms), whose rows need not sum to one.
    New(&'a Matrix, &'a Matrix),
    /// The state of the same solver after an iteration.
    Saved(SavedState),
}
