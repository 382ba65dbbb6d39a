//! What a fit's memory did, beside what its plan had said.

use polars::prelude::{Column, DataFrame};
use serde::{Deserialize, Serialize};

use super::monitor::{Log, Sample};
use crate::charts::{Chart, MemoryCurve, MemoryLine, MemoryPanel};
use crate::display::{bytes, percent};
use crate::table::Table;

/// What a plan says about one kind of memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) budget: u64,
    pub(crate) predicted: u64,
}

/// A finished fit's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Profile {
    log: Log,
    ram: Goal,
    /// Of the card, or of one that a budget stands for.
    vram: Option<Goal>,
}

/// Samples that are kept of a finished fit: as many as a chart can show.
const KEPT: usize = 400;

impl Profile {
    pub(crate) fn new(mut log: Log, ram: Goal, vram: Option<Goal>) -> Self {
        while log.samples.len() > KEPT {
            log.thin();
        }
        Self { log, ram, vram }
    }

    /// The highest anonymous memory of the process, in bytes.
    pub(crate) fn peak(&self) -> u64 {
        self.log.peak.anonymous
    }

    /// `412 MiB measured, 398 MiB predicted (3.4% off)`
    pub(crate) fn sentence(&self) -> String {
        let peak = self.peak();
        format!(
            "{} measured, {} predicted ({} off), budget {}",
            bytes(peak),
            bytes(self.ram.predicted),
            percent(off(self.ram.predicted, peak).abs()),
            bytes(self.ram.budget)
        )
    }

    /// One row per kind of memory.
    pub(crate) fn table(&self) -> Table {
        let group = format!("control group of {}, page cache too", bytes(self.log.limit));
        let mut rows = vec![(
            "RAM, anonymous",
            Some(self.ram),
            Some(self.log.peak.anonymous),
        )];
        rows.push(("RAM, pages of files", None, Some(self.log.peak.file_backed)));
        if self.log.limit > 0 {
            rows.push((&group, None, Some(self.log.peak.group)));
        }
        if let Some(goal) = self.vram {
            let (in_use, reserved) = (self.log.peak.vram, self.log.peak.vram_reserved);
            // What the allocator has taken is gone for others.
            rows.push((
                "VRAM reserved",
                Some(goal),
                (reserved > 0).then_some(reserved),
            ));
            if reserved > 0 {
                rows.push(("VRAM in use", None, Some(in_use)));
            }
        }
        let mib = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
        let goals = |of: fn(&Goal) -> u64| -> Vec<Option<f64>> {
            rows.iter()
                .map(|(_, goal, _)| mib(goal.as_ref().map(of)))
                .collect()
        };
        let errors: Vec<Option<f64>> = rows
            .iter()
            .map(|(_, goal, peak)| Some(100.0 * off(goal.as_ref()?.predicted, (*peak)?)))
            .collect();
        let columns = vec![
            Column::new(
                "memory".into(),
                rows.iter().map(|row| row.0).collect::<Vec<_>>(),
            ),
            Column::new("budget, MiB".into(), goals(|goal| goal.budget)),
            Column::new("predicted peak, MiB".into(), goals(|goal| goal.predicted)),
            Column::new(
                "measured peak, MiB".into(),
                rows.iter().map(|row| mib(row.2)).collect::<Vec<_>>(),
            ),
            Column::new("error, %".into(), errors),
        ];
        Table::from(DataFrame::new_infer_height(columns).unwrap_or_default())
    }

    pub(crate) fn chart(&self) -> Chart {
        let anonymous = MemoryPanel {
            label: "RAM that only this process holds (anonymous)".into(),
            curves: vec![curve(&self.log, "", |s| s.process.anonymous)],
            lines: lines(self.ram),
        };
        let mut panels = vec![anonymous, files(&self.log)];
        panels.extend(group(&self.log));
        if let Some(goal) = self.vram {
            let panel = match self.log.peak.vram_reserved {
                0 => MemoryPanel {
                    label: "VRAM: no card in this machine, so only the plan".into(),
                    curves: Vec::new(),
                    lines: lines(goal),
                },
                _ => MemoryPanel {
                    label: "VRAM".into(),
                    curves: vec![
                        curve(&self.log, "reserved", |s| s.vram_reserved),
                        curve(&self.log, "in use", |s| s.vram),
                    ],
                    lines: lines(goal),
                },
            };
            panels.push(panel);
        }
        Chart::memory(panels, spans(&self.log), end(&self.log))
    }
}

/// The panel of the pages that files back.
pub(super) fn files(log: &Log) -> MemoryPanel {
    MemoryPanel {
        label: "pages of files in use (the system takes them back when it needs them)".into(),
        curves: vec![curve(log, "", |s| s.process.file_backed)],
        lines: Vec::new(),
    }
}

/// The panel of the control group, where there is one with a limit.
pub(super) fn group(log: &Log) -> Option<MemoryPanel> {
    (log.limit > 0).then(|| MemoryPanel {
        label:
            "all that the control group holds, page cache too (the system gives it up at the limit)"
                .into(),
        curves: vec![curve(log, "", |s| s.group)],
        lines: vec![MemoryLine {
            label: "limit".into(),
            bytes: log.limit,
            dashed: false,
        }],
    })
}

pub(super) fn curve(log: &Log, label: &str, of: fn(&Sample) -> u64) -> MemoryCurve {
    MemoryCurve {
        label: label.into(),
        points: log
            .samples
            .iter()
            .map(|sample| (sample.seconds, of(sample) as f64))
            .collect(),
    }
}

pub(super) fn spans(log: &Log) -> Vec<(String, f64, f64)> {
    log.spans
        .iter()
        .map(|span| (span.name.clone(), span.from, span.to))
        .collect()
}

pub(super) fn end(log: &Log) -> f64 {
    log.samples.last().map_or(0.0, |sample| sample.seconds)
}

fn lines(goal: Goal) -> Vec<MemoryLine> {
    vec![
        MemoryLine {
            label: "budget".into(),
            bytes: goal.budget,
            dashed: false,
        },
        MemoryLine {
            label: "predicted peak".into(),
            bytes: goal.predicted,
            dashed: true,
        },
    ]
}

/// How far the prediction lies above the measured value, as a share of it.
fn off(predicted: u64, measured: u64) -> f64 {
    match measured {
        0 => 0.0,
        _ => predicted as f64 / measured as f64 - 1.0,
    }
}
