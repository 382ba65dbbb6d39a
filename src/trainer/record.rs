//! What a training has seen: losses, memory and time.

use std::collections::HashMap;

use crate::data::{Epoch, Table};
use crate::fit::MemoryProfile;
use crate::module::{ModuleMemory, Parameter, StepMemory, StepReport};
use crate::polars::prelude::Column;
use crate::text::{Card, bytes, count, fixed, seconds};

/// Seconds of the parts of epochs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Times {
    pub(super) reading: f64,
    pub(super) forward: f64,
    pub(super) backward: f64,
    pub(super) update: f64,
    pub(super) validation: f64,
}

/// Memory of a part of the module.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ModuleRow {
    pub(super) name: String,
    /// Number of parameters.
    pub(super) parameters: usize,
    /// Bytes kept for the backward pass, where a call of `checkpointed` has this name.
    pub(super) kept: Option<u64>,
    pub(super) again: bool,
}

/// The record of a training, without its module.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) settings: String,
    pub(super) history: Vec<Epoch>,
    pub(super) memory: MemoryProfile,
    /// The median of each over the first steps of this process.
    pub(super) step: StepMemory,
    pub(super) parameter_bytes: u64,
    pub(super) modules: Vec<ModuleRow>,
    pub(super) times: Times,
    /// Steps that a loss scale skipped.
    pub(super) skipped: usize,
    /// The epoch whose module is the result, where it is not the last.
    pub(super) best_epoch: Option<usize>,
    pub(super) notes: Vec<String>,
}

impl Record {
    /// What the validation measured of the module that is the result.
    pub(super) fn validation_loss(&self) -> Option<f64> {
        let history = &self.history;
        let epoch = self.best_epoch.unwrap_or(history.len());
        history.get(epoch.checked_sub(1)?)?.validation_loss
    }

    /// The epochs.
    pub(super) fn table(&self) -> Table {
        let history = &self.history;
        let column = |name: &str, value: fn(&Epoch) -> Option<f64>| {
            let values: Vec<Option<f64>> = history.iter().map(value).collect();
            Column::new(name.into(), values)
        };
        let epochs: Vec<u32> = history.iter().map(|epoch| epoch.epoch as u32).collect();
        Table::from_columns(vec![
            Column::new("epoch".into(), epochs),
            column("loss", |epoch| Some(epoch.loss)),
            column("validation", |epoch| epoch.validation_loss),
            column("learning_rate", |epoch| Some(epoch.learning_rate)),
            column("grad_norm", |epoch| epoch.grad_norm),
            column("seconds", |epoch| Some(epoch.duration.as_secs_f64())),
        ])
    }

    /// Bytes of the parts of a step.
    pub(super) fn memory_by_part(&self) -> Table {
        let (step, parameters) = (self.step, self.parameter_bytes);
        parts_table(&[
            ("parameters", parameters),
            ("gradients", step.gradients),
            ("optimizer state", step.state),
            ("activations", step.activations),
            ("peak of a step", step.peak),
        ])
    }

    /// Memory by part of the module.
    pub(super) fn memory_by_module(&self) -> Table {
        let (rows, step) = (&self.modules, self.step);
        let all: usize = rows.iter().map(|row| row.parameters).sum();
        let mib = |name: &str, bytes: &dyn Fn(&ModuleRow) -> Option<f64>| {
            let values = rows.iter().map(|row| bytes(row).map(|bytes| bytes / MIB));
            Column::new(name.into(), values.collect::<Vec<_>>())
        };
        // By the number of parameters.
        let share = |bytes: u64| {
            move |row: &ModuleRow| Some(bytes as f64 * row.parameters as f64 / all.max(1) as f64)
        };
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let counts: Vec<u64> = rows.iter().map(|row| row.parameters as u64).collect();
        let again: Vec<bool> = rows.iter().map(|row| row.again).collect();
        Table::from_columns(vec![
            Column::new("module".into(), names),
            Column::new("parameters".into(), counts),
            mib("parameters_mib", &share(self.parameter_bytes)),
            mib("gradients_mib", &share(step.gradients)),
            mib("state_mib", &share(step.state)),
            mib("activations_mib", &|row| row.kept.map(|bytes| bytes as f64)),
            Column::new("again".into(), again),
        ])
    }

    /// Seconds by part of the epochs.
    pub(super) fn times_table(&self) -> Table {
        let times = self.times;
        let rows = [
            ("reading", times.reading),
            ("forward", times.forward),
            ("backward", times.backward),
            ("update", times.update),
            ("validation", times.validation),
        ];
        let all: f64 = rows.iter().map(|row| row.1).sum();
        Table::from_columns(vec![
            Column::new("part".into(), rows.map(|row| row.0)),
            Column::new("seconds".into(), rows.map(|row| row.1)),
            Column::new("share".into(), rows.map(|row| row.1 / all)),
        ])
    }

    /// What is shown below a cell.
    pub(super) fn card(&self) -> Card {
        let (record, history) = (self, &self.history);
        let values = record.modules.iter().map(|row| row.parameters as u64).sum();
        let mut card = Card::new("Trained module")
            .row("settings", record.settings.clone())
            .row("parameters", count(values))
            .row("epochs", count(history.len() as u64));
        if let Some(last) = history.last() {
            card = card.row("loss", fixed(last.loss, 5));
        }
        if let Some(validation) = self.validation_loss() {
            let which = record
                .best_epoch
                .map_or(String::new(), |epoch| format!(", of epoch {epoch}"));
            card = card.row("validation", format!("{}{which}", fixed(validation, 5)));
        }
        let time: f64 = history
            .iter()
            .map(|epoch| epoch.duration.as_secs_f64())
            .sum();
        card = card
            .row("time", seconds(time))
            .row("activations", bytes(record.step.activations))
            .row("peak of a step", bytes(record.step.peak));
        if record.skipped > 0 {
            card = card.row("skipped steps", count(record.skipped as u64));
        }
        for note in &record.notes {
            card = card.note(note);
        }
        card
    }
}

/// Parts and their bytes as a table in MiB.
pub(super) fn parts_table(parts: &[(&str, u64)]) -> Table {
    let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
    let mib: Vec<f64> = parts.iter().map(|(_, bytes)| *bytes as f64 / MIB).collect();
    Table::from_columns(vec![
        Column::new("part".into(), names),
        Column::new("MiB".into(), mib),
    ])
}

/// Bytes of a MiB.
pub(super) const MIB: f64 = 1_048_576.0;

/// Steps whose memory is kept.
const STEPS: usize = 1000;

/// Takes note of a step.
pub(super) fn add(steps: &mut Vec<StepMemory>, times: &mut Times, report: &StepReport) {
    let [forward, backward, update] = report.seconds;
    times.forward += forward;
    times.backward += backward;
    times.update += update;
    if steps.len() < STEPS {
        steps.push(report.memory);
    }
}

/// What a step takes: the median of the steps, because one of them also allocates what threads keep for products. The
/// optimizer's state comes with the first.
pub(super) fn typical(steps: &[StepMemory]) -> StepMemory {
    let median = |of: fn(&StepMemory) -> u64| {
        let mut values: Vec<u64> = steps.iter().map(of).collect();
        values.sort_unstable();
        values
            .get(values.len().saturating_sub(1) / 2)
            .copied()
            .unwrap_or(0)
    };
    StepMemory {
        activations: median(|step| step.activations),
        gradients: median(|step| step.gradients),
        peak: median(|step| step.peak),
        state: steps.first().map_or(0, |step| step.state),
    }
}

/// Parameters and activations by part of the module, in the order of its fields: under the name of a call of `checkpointed`
/// where the parameters' path begins with it, and otherwise under the path's first field, with the number of an element.
pub(super) fn module_rows(parameters: &[Parameter], calls: &[ModuleMemory]) -> Vec<ModuleRow> {
    let mut rows: Vec<ModuleRow> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    let mut row = |rows: &mut Vec<ModuleRow>, name: &str| {
        *at.entry(name.to_string()).or_insert_with(|| {
            rows.push(ModuleRow {
                name: name.into(),
                ..ModuleRow::default()
            });
            rows.len() - 1
        })
    };
    for parameter in parameters {
        let called = calls.iter().find(|call| {
            let rest = parameter.path.strip_prefix(&call.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        let fields: Vec<&str> = parameter.path.split('.').collect();
        let is_element = fields
            .get(1)
            .is_some_and(|field| field.parse::<usize>().is_ok());
        let name = match called {
            Some(call) => call.name.clone(),
            None => fields[..fields.len().min(1 + usize::from(is_element))].join("."),
        };
        let index = row(&mut rows, &name);
        rows[index].parameters += parameter.count();
    }
    for call in calls {
        let index = row(&mut rows, &call.name);
        rows[index].kept = Some(rows[index].kept.unwrap_or(0) + call.kept);
        rows[index].again |= call.again;
    }
    rows
}
