//! Measured memory of a fit, compared with its plan.

#[cfg(feature = "polars")]
use polars::prelude::Column;
use serde::{Deserialize, Serialize};

#[cfg(feature = "charts")]
use crate::charts::{Chart, MemoryLine, MemoryPanel, anonymous, end, files, group, spans, vram};
use crate::cost::{Item, Limit};
#[cfg(feature = "polars")]
use crate::data::Table;
#[cfg(feature = "charts")]
use crate::step::StepPart;
use crate::system::memory::Log;
#[cfg(feature = "polars")]
use crate::system::memory::label;
use crate::text::{bytes, percent};

use super::memory_phases::{PhaseRow, phase_rows};

/// The memory record of a finished fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemoryProfile {
    log: Log,
    ram: Limit,
    /// The limit of the GPU, or of the GPU that a VRAM budget simulates.
    vram: Option<Limit>,
    /// The peak of each phase, compared with the items of the plan; empty in files of earlier versions.
    #[serde(default)]
    phases: Vec<PhaseRow>,
}

/// Maximum number of samples kept of a finished fit: a chart cannot show more.
const MAX_SAMPLES: usize = 400;

impl MemoryProfile {
    pub(crate) fn new(mut log: Log, ram: Limit, vram: Option<Limit>, items: &[Item]) -> Self {
        let phases = phase_rows(items, &log);
        while log.samples.len() > MAX_SAMPLES {
            log.thin();
        }
        Self {
            log,
            ram,
            vram,
            phases,
        }
    }

    /// The highest anonymous memory of the process, in bytes.
    pub(crate) fn peak(&self) -> u64 {
        self.log.peak.anonymous
    }

    /// The peak of each phase, compared with the items of the plan.
    #[cfg(any(feature = "polars", feature = "charts"))]
    pub(crate) fn phases(&self) -> &[PhaseRow] {
        &self.phases
    }

    /// Formats, for example, `412 MiB measured, 398 MiB predicted (3.4% off), budget 1 GiB`.
    pub(crate) fn sentence(&self) -> String {
        let peak = self.peak();
        format!(
            "{} measured, {} predicted ({} off), budget {}",
            bytes(peak),
            bytes(self.ram.predicted),
            percent(relative_error(self.ram.predicted, peak).abs()),
            bytes(self.ram.budget)
        )
    }

    /// Table of peaks, one row per kind of memory.
    #[cfg(feature = "polars")]
    pub(crate) fn table(&self) -> Table {
        let group = format!(
            "{} of {}, with page cache",
            label::GROUP,
            bytes(self.log.limit)
        );
        let mut rows = vec![(
            label::ANONYMOUS,
            Some(self.ram),
            Some(self.log.peak.anonymous),
        )];
        rows.push((label::FILE_PAGES, None, Some(self.log.peak.file_backed)));
        if self.log.limit > 0 {
            rows.push((&group, None, Some(self.log.peak.group)));
        }
        if let Some(limit) = self.vram {
            let (in_use, reserved) = (self.log.peak.vram, self.log.peak.vram_reserved);
            // The limit applies to reserved memory, because other processes cannot use it.
            rows.push((
                "VRAM reserved",
                Some(limit),
                (reserved > 0).then_some(reserved),
            ));
            if reserved > 0 {
                rows.push(("VRAM in use", None, Some(in_use)));
            }
        }
        let mib = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
        let limits = |of: fn(&Limit) -> u64| -> Vec<Option<f64>> {
            rows.iter()
                .map(|(_, limit, _)| mib(limit.as_ref().map(of)))
                .collect()
        };
        let errors: Vec<Option<f64>> = rows
            .iter()
            .map(|(_, limit, peak)| {
                Some(100.0 * relative_error(limit.as_ref()?.predicted, (*peak)?))
            })
            .collect();
        let columns = vec![
            Column::new(
                "memory".into(),
                rows.iter().map(|row| row.0).collect::<Vec<_>>(),
            ),
            Column::new("budget, MiB".into(), limits(|limit| limit.budget)),
            Column::new(
                "predicted peak, MiB".into(),
                limits(|limit| limit.predicted),
            ),
            Column::new(
                "measured peak, MiB".into(),
                rows.iter().map(|row| mib(row.2)).collect::<Vec<_>>(),
            ),
            Column::new("error, %".into(), errors),
        ];
        Table::from_columns(columns)
    }

    #[cfg(feature = "charts")]
    pub(crate) fn chart(&self) -> Chart {
        let mut panels = vec![anonymous(&self.log, lines(self.ram)), files(&self.log)];
        panels.extend(group(&self.log));
        if let Some(limit) = self.vram {
            let panel = match self.log.peak.vram_reserved {
                0 => MemoryPanel {
                    label: "VRAM: no GPU in use, plan only".into(),
                    curves: Vec::new(),
                    lines: lines(limit),
                },
                _ => vram(&self.log, lines(limit)),
            };
            panels.push(panel);
        }
        let end = end(&self.log);
        let mut spans = spans(&self.log);
        // Phases of a few steps at the start of a long fit would be slivers.
        spans.retain(|(name, from, to)| !StepPart::is_name(name) || to - from > end / 100.0);
        Chart::memory(panels, spans, end)
    }
}

#[cfg(feature = "charts")]
fn lines(limit: Limit) -> Vec<MemoryLine> {
    vec![
        MemoryLine {
            label: "budget".into(),
            bytes: limit.budget,
            dashed: false,
        },
        MemoryLine {
            label: "predicted peak".into(),
            bytes: limit.predicted,
            dashed: true,
        },
    ]
}

/// The relative error of the prediction: positive if it exceeds the measured value.
fn relative_error(predicted: u64, measured: u64) -> f64 {
    match measured {
        0 => 0.0,
        _ => predicted as f64 / measured as f64 - 1.0,
    }
}
