//! Panels of a memory chart from the log of a memory monitor.

use crate::system::memory::{Log, Sample, label};

use super::memory::{MemoryCurve, MemoryLine, MemoryPanel};

/// The panel of the process's anonymous memory, with the lines of its limit.
pub fn anonymous(log: &Log, lines: Vec<MemoryLine>) -> MemoryPanel {
    MemoryPanel {
        label: format!("{} (of this process alone)", label::ANONYMOUS),
        curves: vec![curve(log, "", |s| s.process.anonymous)],
        lines,
    }
}

/// The panel of resident file pages.
pub fn files(log: &Log) -> MemoryPanel {
    MemoryPanel {
        label: format!(
            "{} (reclaimed by the system when memory is short)",
            label::FILE_PAGES
        ),
        curves: vec![curve(log, "", |s| s.process.file_backed)],
        lines: Vec::new(),
    }
}

/// The panel of the cgroup's memory; `None` if no cgroup has a limit.
pub fn group(log: &Log) -> Option<MemoryPanel> {
    (log.limit > 0).then(|| MemoryPanel {
        label: format!("{} with page cache (reclaimed at the limit)", label::GROUP),
        curves: vec![curve(log, "", |s| s.group)],
        lines: vec![MemoryLine {
            label: "limit".into(),
            bytes: log.limit,
            dashed: false,
        }],
    })
}

/// The panel of the GPUs' memory, with the lines of its limit.
pub fn vram(log: &Log, lines: Vec<MemoryLine>) -> MemoryPanel {
    MemoryPanel {
        label: "VRAM".into(),
        curves: vec![
            curve(log, "reserved", |s| s.vram_reserved),
            curve(log, "in use", |s| s.vram),
        ],
        lines,
    }
}

/// A curve over the samples, of the bytes that `value` picks from each.
fn curve(log: &Log, label: &str, value: fn(&Sample) -> u64) -> MemoryCurve {
    MemoryCurve {
        label: label.into(),
        points: log
            .samples
            .iter()
            .map(|sample| (sample.seconds, value(sample) as f64))
            .collect(),
    }
}

/// The phases: name, start and end in seconds.
pub fn spans(log: &Log) -> Vec<(String, f64, f64)> {
    log.spans
        .iter()
        .map(|span| (span.name.clone(), span.from, span.to))
        .collect()
}

/// Seconds at the last sample.
pub fn end(log: &Log) -> f64 {
    log.samples.last().map_or(0.0, |sample| sample.seconds)
}
