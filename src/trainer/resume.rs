//! The checkpoints of a trainer: what they hold, and how a training goes on from one.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::{Epoch, FileKind, Matrix, tensor_file};
use crate::error::{Error, ErrorKind, Result};
use crate::module::{OptimizerState, Parameter, Plain};
use crate::training::{Contents, ExistingFile, ModuleState, Position, RunningState, read_either};

use super::learner::{Best, ModuleSteps};

/// Checkpoints of modules.
pub(super) const MODULE_CHECKPOINT: FileKind = FileKind {
    key: "topicbook-module-checkpoint",
    writer: "a training with Trainer::checkpoint",
    format: 1,
};

/// Names of the tables, each of one row.
const PARAMETERS: &str = "parameters";
const OPTIMIZER: &str = "optimizer";
const BEST: &str = "best";

/// What a checkpoint holds besides position, history and tables.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    /// Number, path and shape of each parameter, in the order of the table.
    parameters: Vec<(u64, String, Vec<usize>)>,
    /// Number and rank of each parameter that has a state, and the state's bytes in the table, four in a value.
    states: Vec<(u64, usize, usize)>,
    /// The loss scale and the steps that it has had.
    scale: (f64, usize),
    micro_rows: usize,
    /// Epoch and loss of the best module.
    best: Option<(usize, f64)>,
    #[serde(skip)]
    tables: Vec<(&'static str, Matrix)>,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    version: String,
    position: Position,
    history: Vec<Epoch>,
    training: Saved,
}

fn row(values: Vec<f32>) -> Matrix {
    Matrix::from_parts(1, values.len(), values)
}

/// Bytes as the bits of values, four in each.
fn words(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.chunks(4).map(|chunk| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        f32::from_bits(u32::from_le_bytes(word))
    })
}

impl Saved {
    pub(super) fn of(steps: &ModuleSteps) -> Result<Self> {
        let parameters = steps.network.parameters();
        let states = steps.stepper.optimizer.state()?;
        let table = |value: &dyn Fn(&Parameter) -> Plain| -> Result<Matrix> {
            let numbers = parameters
                .iter()
                .map(|parameter| parameter.numbers(value(parameter)));
            Ok(row(numbers.collect::<Result<Vec<_>>>()?.concat()))
        };
        let mut tables = vec![(PARAMETERS, table(&Parameter::plain)?)];
        if !states.is_empty() {
            let words = states.iter().flat_map(|(_, _, bytes)| words(bytes));
            tables.push((OPTIMIZER, row(words.collect())));
        }
        if let Some(best) = &steps.best {
            let value = |parameter: &Parameter| {
                let value = best.values.get(&parameter.id).cloned();
                value.unwrap_or_else(|| parameter.plain())
            };
            tables.push((BEST, table(&value)?));
        }
        Ok(Self {
            parameters: parameters
                .iter()
                .map(|found| (found.id.val(), found.path.clone(), found.shape()))
                .collect(),
            states: states
                .iter()
                .map(|(id, rank, bytes)| (*id, *rank, bytes.len()))
                .collect(),
            scale: (steps.stepper.scaler.scale, steps.stepper.scaler.steps),
            micro_rows: steps.stepper.micro_rows,
            best: steps.best.as_ref().map(|best| (best.epoch, best.loss)),
            tables,
        })
    }

    /// The state as a checkpoint takes it.
    pub(super) fn into_state(mut self) -> Result<ModuleState> {
        let tables = std::mem::take(&mut self.tables);
        let metadata = serde_json::to_value(self).map_err(|error| {
            let what = format!("the training's state cannot be written: {error}");
            Error::new(ErrorKind::Value, what)
        })?;
        Ok(ModuleState { metadata, tables })
    }

    fn table(&self, name: &str) -> Option<&Matrix> {
        let found = self.tables.iter().find(|(known, _)| *known == name);
        found.map(|(_, table)| table)
    }

    /// Gives a module and its steps what was saved.
    ///
    /// # Errors
    /// When it was saved of another module.
    pub(super) fn restore(&self, path: &Path, steps: &mut ModuleSteps) -> Result<()> {
        let parameters = steps.network.parameters();
        let theirs = self
            .parameters
            .iter()
            .map(|(_, path, shape)| (path.clone(), shape.clone()));
        let ours = parameters
            .iter()
            .map(|parameter| (parameter.path.clone(), parameter.shape()));
        let (theirs, ours): (Vec<_>, Vec<_>) = (theirs.collect(), ours.collect());
        if theirs != ours {
            let at = theirs
                .iter()
                .zip(&ours)
                .position(|(theirs, ours)| theirs != ours);
            let describe = |list: &[(String, Vec<usize>)]| match list
                .get(at.unwrap_or(theirs.len().min(ours.len())))
            {
                Some((path, shape)) => format!("{path} of shape {shape:?}"),
                None => "nothing".into(),
            };
            let what = format!(
                "its module has {} where this one has {}",
                describe(&theirs),
                describe(&ours)
            );
            return Err(Error::format(path, what).fix("resume with the module that was trained"));
        }
        let damaged = || {
            Error::format(path, "its tables do not belong to its module")
                .fix("train from the start")
        };
        let values = self.table(PARAMETERS).ok_or_else(damaged)?.values();
        let values = split(&parameters, values).ok_or_else(damaged)?;
        let values = values.map(|(parameter, value)| (parameter.id, parameter.with(value)));
        steps.network.replace(values.collect());
        let ids = self.parameters.iter().map(|(id, ..)| *id).zip(&parameters);
        let now: std::collections::HashMap<u64, u64> = ids
            .map(|(id, parameter)| (id, parameter.id.val()))
            .collect();
        let bytes = self.table(OPTIMIZER).map_or(Vec::new(), |table| {
            table
                .values()
                .iter()
                .flat_map(|value| value.to_bits().to_le_bytes())
                .collect()
        });
        let (mut from, mut states) = (0, Vec::<OptimizerState>::new());
        for (id, rank, length) in &self.states {
            let id = now.get(id).ok_or_else(damaged)?;
            states.push((
                *id,
                *rank,
                bytes.get(from..from + length).ok_or_else(damaged)?.to_vec(),
            ));
            from += length.next_multiple_of(4);
        }
        steps.stepper.optimizer.load(&states)?;
        (steps.stepper.scaler.scale, steps.stepper.scaler.steps) = self.scale;
        steps.stepper.micro_rows = self.micro_rows;
        if let Some((epoch, loss)) = self.best {
            let values = self.table(BEST).ok_or_else(damaged)?.values();
            let values = split(&parameters, values).ok_or_else(damaged)?;
            let values = values.map(|(parameter, value)| (parameter.id, value));
            steps.best = Some(Best {
                epoch,
                loss,
                values: values.collect(),
            });
        }
        Ok(())
    }
}

/// The parameters with their values out of one row.
fn split<'a>(
    parameters: &'a [Parameter],
    values: &'a [f32],
) -> Option<impl Iterator<Item = (&'a Parameter, Plain)>> {
    let all: usize = parameters.iter().map(Parameter::count).sum();
    let mut rest = (all == values.len()).then_some(values)?;
    Some(parameters.iter().map(move |parameter| {
        let (mine, others) = rest.split_at(parameter.count());
        rest = others;
        (parameter, parameter.shaped(mine))
    }))
}

/// What the checkpoints of a trainer hold.
pub(super) struct ModuleContents;

impl Contents for ModuleContents {
    fn kind(&self) -> &'static FileKind {
        &MODULE_CHECKPOINT
    }

    fn metadata(
        &self,
        position: Position,
        history: &[Epoch],
        state: &RunningState,
    ) -> serde_json::Result<Value> {
        let training = match state {
            RunningState::Module(state) => state.metadata.clone(),
            RunningState::Logits(_) | RunningState::Iterations(..) => Value::Null,
        };
        Ok(serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "position": serde_json::to_value(position)?,
            "history": serde_json::to_value(history)?,
            "training": training,
        }))
    }
}

/// Where a training goes on.
pub(super) struct Resumed {
    pub(super) position: Position,
    pub(super) history: Vec<Epoch>,
    pub(super) saved: Saved,
    pub(super) existing: ExistingFile,
    pub(super) note: Option<String>,
}

/// Reads the newest checkpoint, or the one before it where the newest cannot be read.
pub(super) fn read(path: &Path) -> Result<Resumed> {
    let read = |file: &Path, existing| -> Result<Resumed> {
        let names = |metadata: &Metadata| {
            let mut names = vec![PARAMETERS];
            names.extend((!metadata.training.states.is_empty()).then_some(OPTIMIZER));
            names.extend(metadata.training.best.map(|_| BEST));
            names
        };
        let (mut metadata, [], tables) =
            tensor_file::read::<Metadata, 0>(file, &MODULE_CHECKPOINT, [], names, |_, _| false)?;
        let names = names(&metadata);
        metadata.training.tables = names.into_iter().zip(tables).collect();
        Ok(Resumed {
            position: metadata.position,
            history: metadata.history,
            saved: metadata.training,
            existing,
            note: None,
        })
    };
    let (mut resumed, lost) = read_either(path, read)?;
    resumed.note = lost.map(|error| {
        format!(
            "The newest checkpoint is lost ({}); the one before it is used.",
            error.headline()
        )
    });
    Ok(resumed)
}
