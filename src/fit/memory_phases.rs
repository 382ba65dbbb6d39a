//! The peak of each phase of a fit, compared with the items that its plan has there.

#[cfg(feature = "polars")]
use polars::prelude::Column;
use serde::{Deserialize, Serialize};

use crate::cost::{Item, Memory, Phase, in_part};
#[cfg(feature = "polars")]
use crate::data::Table;
use crate::step::StepPart;
use crate::system::memory::{Log, Sample, Span, kind_of_phase};

/// A row of the table of phases; sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PhaseRow {
    pub(crate) phase: String,
    pub(crate) memory: String,
    pub(crate) item: String,
    pub(crate) predicted: Option<u64>,
    pub(crate) measured: Option<u64>,
    /// What was measured, or why nothing was.
    pub(crate) measurement: String,
}

/// The phases in the order in which they begin.
const PHASES: [Phase; 7] = [
    Phase::Checking,
    Phase::Starting,
    Phase::Steps,
    Phase::Gradients,
    Phase::Update,
    Phase::Checkpoint,
    Phase::End,
];

const NOT_SEPARABLE: &str = "not separable";

/// A phase that the monitor has recorded, with the start of what its items are added to.
struct Recorded<'a> {
    span: &'a Span,
    /// When the memory that the phase adds had not been allocated: the start of the phase or of its step.
    before: f64,
}

/// The table's rows from the items of a plan and the log of its fit.
pub(crate) fn phase_rows(items: &[Item], log: &Log) -> Vec<PhaseRow> {
    let mut rows = lasting(items, log);
    for memory in [Memory::Ram, Memory::Vram] {
        for phase in PHASES {
            rows.extend(of_phase(items, log, memory, phase));
        }
    }
    rows
}

fn row(item: &Item, measured: Option<u64>, measurement: &str) -> PhaseRow {
    PhaseRow {
        phase: item.phase.to_string(),
        memory: item.memory.to_string(),
        item: item.what.clone(),
        predicted: Some(item.bytes),
        measured,
        measurement: measurement.into(),
    }
}

/// Rows of the items that are there during the whole fit. The first of them, the process before the fit, is what the first
/// sample shows.
fn lasting(items: &[Item], log: &Log) -> Vec<PhaseRow> {
    let of_fit = [Phase::Throughout, Phase::Fit];
    let lasting = items.iter().filter(|item| of_fit.contains(&item.phase));
    let lasting = lasting.filter(|item| item.memory != Memory::Disk);
    let first = log.samples.first().map(|sample| sample.process.anonymous);
    lasting
        .enumerate()
        .map(|(index, item)| match index {
            0 => row(item, first, "first sample, with counts in memory"),
            _ => row(item, None, NOT_SEPARABLE),
        })
        .collect()
}

/// Rows of a phase: all that is allocated in it, what it adds, and its items.
fn of_phase(items: &[Item], log: &Log, memory: Memory, phase: Phase) -> Vec<PhaseRow> {
    let own: Vec<&Item> = items
        .iter()
        .filter(|item| item.memory == memory && begins_with(phase).contains(&item.phase))
        .collect();
    let recorded = recorded(log, phase);
    let of_steps = matches!(phase, Phase::Gradients | Phase::Update);
    let is_used = items.iter().any(|item| item.memory == memory);
    if recorded.is_empty() || !is_used || (own.is_empty() && !of_steps) {
        return Vec::new();
    }
    let line = |item: &str, predicted, measured: Option<u64>, how: &str| PhaseRow {
        phase: phase.to_string(),
        memory: memory.to_string(),
        item: item.into(),
        predicted,
        measured,
        measurement: if measured.is_some() {
            how
        } else {
            "not sampled"
        }
        .into(),
    };
    let all = in_part(items, memory, phase);
    let highest = recorded.iter().filter_map(|one| {
        let inside = within(log, one.span.from, one.span.to);
        inside.map(|sample| reserved(sample, memory)).max()
    });
    // A GPU that is only simulated has no memory.
    let highest = highest.max().filter(|bytes| *bytes > 0);
    let mut rows = vec![line("everything", all, highest, "peak")];
    // Tables are allocated together with other items while a fit starts, and in its first step.
    let adds = !matches!(phase, Phase::Starting | Phase::Steps);
    let rise = recorded.last().filter(|_| adds).and_then(|last| {
        let level = level_at(log, last.before, memory)?;
        // Activations are allocated in the forward pass, before the backward pass; an update follows the pass over its batch.
        let from = match phase {
            Phase::Update => last.span.from,
            _ => last.before,
        };
        let inside = within(log, from, last.span.to);
        let peak = inside.map(|sample| in_use(sample, memory)).max()?;
        (highest.is_some()).then(|| peak.saturating_sub(level))
    });
    match own.as_slice() {
        [only] if rise.is_some() => rows.push(row(only, rise, "rise")),
        _ => {
            if adds && (rise.is_some() || !own.is_empty()) {
                let predicted = own.iter().map(|item| item.bytes).sum();
                let predicted = (!own.is_empty()).then_some(predicted);
                rows.push(line("added by this phase", predicted, rise, "rise"));
            }
            rows.extend(own.iter().map(|item| row(item, None, NOT_SEPARABLE)));
        }
    }
    rows
}

/// The phases of items that are allocated when this part of a fit begins.
fn begins_with(phase: Phase) -> &'static [Phase] {
    match phase {
        Phase::Checking => &[Phase::Checking],
        Phase::Starting => &[Phase::Starting],
        Phase::Steps => &[Phase::Steps, Phase::Reading, Phase::Pass],
        Phase::Gradients => &[Phase::Gradients],
        Phase::Update => &[Phase::Update],
        Phase::Checkpoint => &[Phase::Checkpoint],
        Phase::End => &[Phase::End],
        _ => &[],
    }
}

/// The spans of the log that are this phase.
fn recorded(log: &Log, phase: Phase) -> Vec<Recorded<'_>> {
    let mut spans: Vec<&Span> = log.spans.iter().collect();
    spans.sort_by(|a, b| a.from.total_cmp(&b.from));
    let (forward, backward, update) = (
        StepPart::Forward.name(),
        StepPart::Backward.name(),
        StepPart::Update.name(),
    );
    let (mut of_part, mut of_step): (Option<f64>, Option<f64>) = (None, None);
    let mut recorded = Vec::new();
    for span in spans {
        let name = span.name.as_str();
        if name == forward {
            of_part = Some(span.from);
            of_step = of_step.or(of_part);
        }
        let is_this = match phase {
            Phase::Checking => name == "check",
            Phase::Starting => name == "start",
            Phase::Steps => kind_of_phase(name) == "epoch",
            Phase::Gradients => name == forward || name == backward,
            Phase::Update => name == update,
            Phase::Checkpoint => name == "checkpoint",
            Phase::End => name == "end",
            _ => false,
        };
        if is_this {
            let before = match phase {
                Phase::Gradients => of_part,
                Phase::Update => of_step,
                _ => None,
            };
            recorded.push(Recorded {
                span,
                before: before.unwrap_or(span.from),
            });
        }
        if name == update {
            (of_part, of_step) = (None, None);
        }
    }
    recorded
}

fn within(log: &Log, from: f64, to: f64) -> impl Iterator<Item = &Sample> {
    let samples = log.samples.iter();
    samples.filter(move |sample| (from..=to).contains(&sample.seconds))
}

/// What is in use at the last sample before a time.
fn level_at(log: &Log, seconds: f64, memory: Memory) -> Option<u64> {
    let mut before = log.samples.iter().rev();
    let sample = before.find(|sample| sample.seconds <= seconds)?;
    Some(in_use(sample, memory))
}

fn in_use(sample: &Sample, memory: Memory) -> u64 {
    match memory {
        Memory::Vram => sample.vram,
        _ => sample.process.anonymous,
    }
}

/// What counts against the budget: of VRAM all that the allocator has taken from the driver.
fn reserved(sample: &Sample, memory: Memory) -> u64 {
    match memory {
        Memory::Vram => sample.vram_reserved,
        _ => sample.process.anonymous,
    }
}

/// The rows as a table, sizes in MiB.
#[cfg(feature = "polars")]
pub(crate) fn table(rows: &[PhaseRow]) -> Table {
    let texts = |name: &str, of: fn(&PhaseRow) -> &String| {
        let values: Vec<String> = rows.iter().map(|row| of(row).clone()).collect();
        Column::new(name.into(), values)
    };
    let sizes = |name: &str, of: fn(&PhaseRow) -> Option<u64>| {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let values: Vec<Option<f64>> = rows.iter().map(|row| of(row).map(mib)).collect();
        Column::new(name.into(), values)
    };
    Table::from_columns(vec![
        texts("phase", |row| &row.phase),
        texts("memory", |row| &row.memory),
        texts("item", |row| &row.item),
        sizes("predicted, MiB", |row| row.predicted),
        sizes("measured, MiB", |row| row.measured),
        texts("measurement", |row| &row.measurement),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Consumer;
    use crate::system::memory::ProcessMemory;

    #[test]
    fn what_a_phase_adds_is_measured_above_its_step() {
        let item = |what: &str, phase, bytes| Item::ram(Consumer::Rest, what, phase, bytes);
        let items = [
            item("process", Phase::Throughout, 100),
            item("tables", Phase::Fit, 50),
            item("X of a micro-batch", Phase::Gradients, 10),
            item("activations", Phase::Gradients, 30),
            item("gradients", Phase::Update, 20),
        ];
        let span = |name: &str, from, to| Span {
            name: name.into(),
            from,
            to,
        };
        // Two micro-batches of a step.
        let spans = vec![
            span("forward", 2.0, 3.0),
            span("backward", 3.0, 4.0),
            span("forward", 4.0, 5.0),
            span("backward", 5.0, 6.0),
            span("update", 6.0, 7.0),
            span("epoch 1", 1.0, 8.0),
        ];
        let levels = [101, 150, 150, 185, 155, 190, 165, 172, 151];
        let samples = levels
            .iter()
            .enumerate()
            .map(|(second, &anonymous)| Sample {
                seconds: second as f64,
                process: ProcessMemory {
                    anonymous,
                    file_backed: 0,
                },
                ..Sample::default()
            });
        let log = Log {
            samples: samples.collect(),
            spans,
            ..Log::default()
        };
        let rows = phase_rows(&items, &log);
        let lines: Vec<_> = rows
            .iter()
            .map(|row| (row.item.as_str(), row.predicted, row.measured))
            .collect();
        assert_eq!(
            lines,
            [
                ("process", Some(100), Some(101)),
                ("tables", Some(50), None),
                // Forward and backward of the second micro-batch rise from 155 to 190.
                ("everything", Some(190), Some(190)),
                ("added by this phase", Some(40), Some(35)),
                ("X of a micro-batch", Some(10), None),
                ("activations", Some(30), None),
                // The update rises from 150, before the first micro-batch.
                ("everything", Some(170), Some(172)),
                ("gradients", Some(20), Some(22)),
            ]
        );
        // Without a record there is nothing to compare.
        assert_eq!(phase_rows(&items, &Log::default()).len(), 2);
    }
}
