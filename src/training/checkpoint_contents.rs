//! What a checkpoint holds, and which checkpoints are refused.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::{Settings, StateValues, TableStorage};
use crate::counts::Fingerprint;
use crate::data::Epoch;
use crate::data::{FileKind, Matrix, invalid_file, tensor_file};
use crate::error::Result;
use crate::solvers::{self, Numbers, SavedState};
use crate::step::State;

use super::checkpoint::Contents;
use super::position::Position;
use super::run::Run;
use super::state::{Convergence, RunningState, StartState, is_of_l, names_of_logits};

/// Format 1 held no state of the solvers that pass over all documents, and did not recognise the contents of counts.
pub(crate) const CHECKPOINT: FileKind = FileKind {
    key: "topicbook-checkpoint",
    writer: "a fit with TopicModel::checkpoint",
    format: 2,
};

/// What the checkpoints of a run hold.
pub(super) struct RunContents<'a>(pub(super) &'a Run, pub(super) Fingerprint);

impl Contents for RunContents<'_> {
    fn kind(&self) -> &'static FileKind {
        &CHECKPOINT
    }

    fn metadata(
        &self,
        position: Position,
        history: &[Epoch],
        state: &RunningState,
    ) -> serde_json::Result<serde_json::Value> {
        let recipe = &self.0.recipe;
        let (steps, iterations) = match state {
            RunningState::Logits(state) => (state.steps, None),
            RunningState::Iterations(state, convergence) => {
                (0, Some((state.numbers.clone(), *convergence)))
            }
            RunningState::Module(_) => (0, None),
        };
        serde_json::to_value(CheckpointMetadata {
            version: env!("CARGO_PKG_VERSION").into(),
            settings: recipe.settings.clone(),
            terms: recipe.terms.as_ref().map(|terms| terms.as_slice().to_vec()),
            device: self.0.device.to_string(),
            counts: self.1.clone(),
            position,
            history: history.to_vec(),
            steps,
            iterations,
        })
    }
}

/// Everything in a checkpoint except the tables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CheckpointMetadata {
    pub(super) version: String,
    pub(crate) settings: Settings,
    pub(crate) terms: Option<Vec<String>>,
    pub(crate) device: String,
    pub(crate) counts: Fingerprint,
    pub(crate) position: Position,
    pub(crate) history: Vec<Epoch>,
    /// Gradient steps taken.
    pub(super) steps: u64,
    /// The state of a solver that passes over all documents; `None` with gradient steps.
    pub(super) iterations: Option<(Numbers, Convergence)>,
}

impl CheckpointMetadata {
    /// The names of the tables.
    fn tables(&self) -> Vec<&'static str> {
        match &self.iterations {
            Some((numbers, _)) => numbers.tables(),
            None => names_of_logits(self.settings.solver.state_values()),
        }
    }

    /// Whether a table is one that the fit keeps in a mapped file, because it may be larger than memory.
    fn in_place(&self, table: &str) -> bool {
        is_of_l(table) && self.settings.solver.table_storage() != TableStorage::Memory
    }

    /// Whether position, history and names belong together, and to a fit of these settings.
    fn is_consistent(&self) -> bool {
        let batches = match self.iterations {
            Some(_) => 1,
            None => self.counts.documents.div_ceil(self.settings.batch_size()),
        };
        let steps = (self.position.epoch as u64)
            .checked_mul(batches as u64)
            .and_then(|steps| steps.checked_add(self.position.batches as u64));
        self.settings.solver.is_full_pass() == self.iterations.is_some()
            && self.history.len() == self.position.epoch
            && self.position.batches < batches.max(1)
            && (self.iterations.is_some() || steps == Some(self.steps))
            && self
                .terms
                .as_ref()
                .is_none_or(|names| names.len() == self.counts.terms)
    }

    /// Whether the tables have the shapes that belong to the settings.
    fn fits(&self, state: &StartState) -> bool {
        let (documents, terms) = (self.counts.documents, self.counts.terms);
        let topics = self.settings.topics;
        match state {
            StartState::Iterations(state, _) => state.is_consistent(documents, terms, topics),
            StartState::Logits(state) => {
                let all = |table: &Matrix, state: &[Matrix], shape| {
                    table.shape() == shape && state.iter().all(|table| table.shape() == shape)
                };
                all(&state.l, &state.l_state, (documents, topics))
                    && all(&state.f, &state.f_state, (topics, terms))
            }
            StartState::Run(_) => false,
        }
    }
}

/// Reads a checkpoint.
///
/// # Errors
/// When the file cannot be read, its tables, settings and history do not match each other, or a table holds a value that
/// is not a finite number.
pub(crate) fn read(path: &Path) -> Result<(CheckpointMetadata, StartState)> {
    let (metadata, [], tables) = tensor_file::read::<CheckpointMetadata, 0>(
        path,
        &CHECKPOINT,
        [],
        CheckpointMetadata::tables,
        CheckpointMetadata::in_place,
    )?;
    metadata.settings.check()?;
    let refuse = |what: &str| Err(invalid_file(path, &CHECKPOINT, &what));
    for (name, table) in metadata.tables().iter().zip(&tables) {
        if let Some(at) = table.values().iter().position(|value| !value.is_finite()) {
            let (row, column) = (at / table.columns(), at % table.columns());
            return refuse(&format!(
                "{name} holds {} in row {row}, column {column}",
                table.row(row)[column]
            ));
        }
    }
    let consistent = metadata.is_consistent();
    let state = match &metadata.iterations {
        Some((numbers, convergence)) => {
            let numbers = numbers.clone();
            StartState::Iterations(SavedState { numbers, tables }, *convergence)
        }
        None => match logits(
            tables,
            metadata.settings.solver.state_values(),
            metadata.steps,
        ) {
            Some(state) => StartState::Logits(state),
            None => return refuse("tables are missing"),
        },
    };
    match consistent && metadata.fits(&state) {
        true => Ok((metadata, state)),
        false => refuse("tables and settings that do not belong together"),
    }
}

/// The logits and the optimizer's state, from tables in the order of [`names_of_logits`].
fn logits(tables: Vec<Matrix>, values: StateValues, steps: u64) -> Option<State> {
    let mut tables = tables.into_iter();
    let (l, f) = (tables.next()?, tables.next()?);
    let l_state = tables.by_ref().take(values.l).collect();
    let f_state = tables.collect();
    Some(State {
        l,
        f,
        l_state,
        f_state,
        steps,
    })
}

/// Bytes of a checkpoint's tables, at most.
pub(crate) fn bytes(settings: &Settings, documents: usize, terms: usize) -> u64 {
    let shape = (documents as u64, terms as u64, settings.topics as u64);
    let streams = settings.reading.shuffle().is_some();
    match settings.solver.is_full_pass() {
        true => solvers::checkpoint_bytes(&settings.solver, streams, shape),
        false => {
            let values = settings.solver.state_values();
            let (l, f) = (1 + values.l as u64, 1 + values.f as u64);
            4 * shape.2 * (l * shape.0 + f * shape.1)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;
    use crate::config::Solver;
    use crate::counts::Counts;
    use crate::data::NamedTable;
    use crate::error::ErrorKind;

    const DOCUMENTS: usize = 4;
    const TERMS: usize = 3;
    const TOPICS: usize = 2;

    /// A checkpoint after one epoch: its metadata as JSON, and the tables of its state.
    struct Parts {
        metadata: Value,
        tables: Vec<(&'static str, Matrix)>,
    }

    fn parts(solver: Solver, numbers: Option<Value>) -> Parts {
        let counts = Counts::dense(DOCUMENTS, TERMS, vec![1u8; DOCUMENTS * TERMS]).unwrap();
        let mut settings = Settings::new(TOPICS);
        settings.solver = solver;
        let epoch = Epoch {
            epoch: 1,
            loss: 1.0,
            log_likelihood_per_token: -1.0,
            learning_rate: 0.0,
            grad_norm: None,
            validation_loss: None,
            duration: std::time::Duration::ZERO,
            memory_bytes: 0,
        };
        let steps = u64::from(numbers.is_none());
        let converging = json!({"score": "-1", "converged": false});
        let metadata = json!({
            "version": "0",
            "settings": settings,
            "terms": null,
            "device": "CPU",
            "counts": Fingerprint::of(&counts).unwrap(),
            "position": Position::start_of(1),
            "history": [epoch],
            "steps": steps,
            "iterations": numbers.map(|numbers| json!([numbers, converging])),
        });
        let metadata_now: CheckpointMetadata = from_value(metadata.clone()).unwrap();
        let full_pass = metadata_now.iterations.is_some();
        let table = |name: &'static str| {
            let topics = TOPICS + usize::from(name.starts_with("candidate"));
            let (rows, columns) = match (name.ends_with('l') || name.starts_with("l_"), full_pass) {
                (true, _) => (DOCUMENTS, topics),
                (false, true) => (TERMS, topics),
                (false, false) => (TOPICS, TERMS),
            };
            (
                name,
                Matrix::from_parts(rows, columns, vec![0.5; rows * columns]),
            )
        };
        Parts {
            tables: metadata_now.tables().into_iter().map(table).collect(),
            metadata,
        }
    }

    /// Writes the checkpoint with a right checksum, and reads it.
    fn read_again(parts: &Parts) -> Result<()> {
        let (_folder, path) = testkit::temp_path("fit.checkpoint");
        let mut file = std::fs::File::create(&path).unwrap();
        let tables = parts.tables.iter();
        let tables: Vec<_> = tables
            .map(|(name, table)| NamedTable::of(name, table))
            .collect();
        tensor_file::write(&mut file, &path, &CHECKPOINT, &parts.metadata, &tables)?;
        read(&path).map(|_| ())
    }

    fn search() -> Value {
        let extrapolation =
            json!({"step": "0.5", "last_accepted": "0.5", "limit": "1", "skip_next": true});
        let ascent = json!({"extrapolation": extrapolation, "score": "-inf"});
        json!({"Search": {
            "best": ascent,
            "candidate": {
                "ascent": ascent,
                "origin": "Added",
                "iterations": 2,
                "gain": "inf",
                "added": 1,
            },
            "progress": {
                "candidates": 1,
                "failures": 0,
                "iterations_first": 3,
                "converged": false,
            },
        }})
    }

    #[test]
    fn a_checkpoint_with_impossible_contents_is_refused_by_name() {
        type Make = fn() -> Parts;
        let steps: Make = || parts(Solver::default(), None);
        let em: Make = || parts(Solver::em(), Some(json!("Factors")));
        let auto: Make = || parts(Solver::auto(), Some(search()));
        for make in [steps, em, auto] {
            read_again(&make()).unwrap();
        }
        let values: [(Make, usize, f32, &str); 5] = [
            (steps, 0, f32::NAN, "l holds NaN in row 1, column 0"),
            (
                steps,
                3,
                f32::INFINITY,
                "l_state_2 holds inf in row 1, column 0",
            ),
            (em, 1, f32::NAN, "f holds NaN in row 1, column 0"),
            (em, 1, -1.0, "do not belong together"),
            (
                auto,
                4,
                f32::NEG_INFINITY,
                "candidate_best_l holds -inf in row 1, column 0",
            ),
        ];
        for (make, table, value, expected) in values {
            let mut parts = make();
            let (_, matrix) = &mut parts.tables[table];
            let mut values = matrix.values().to_vec();
            values[matrix.columns()] = value;
            *matrix = Matrix::from_parts(matrix.rows(), matrix.columns(), values);
            let message = read_again(&parts).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let huge = json!(u64::MAX);
        let numbers: [(Make, &str, Value); 14] = [
            (steps, "/steps", huge.clone()),
            (steps, "/position/batches", huge.clone()),
            (steps, "/position/epoch", huge.clone()),
            (steps, "/counts/documents", huge.clone()),
            (steps, "/settings/topics", huge.clone()),
            (
                steps,
                "/iterations",
                json!(["Factors", {"score": "1", "converged": true}]),
            ),
            (em, "/iterations", json!(null)),
            (em, "/position/batches", json!(1)),
            (
                auto,
                "/iterations/0/Search/candidate/origin",
                json!("Random"),
            ),
            (auto, "/iterations/0/Search/candidate/added", huge.clone()),
            (auto, "/iterations/0/Search/best/score", json!("NaN")),
            (
                auto,
                "/iterations/0/Search/best/extrapolation/step",
                json!("1e300"),
            ),
            (
                auto,
                "/iterations/0/Search/progress/candidates",
                huge.clone(),
            ),
            (auto, "/iterations/0/Search/progress/failures", huge),
        ];
        for (make, place, value) in numbers {
            let mut parts = make();
            *parts.metadata.pointer_mut(place).unwrap() = value;
            let error = read_again(&parts).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Format, "{place}: {error}");
        }
    }
}
