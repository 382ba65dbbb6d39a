//! What a part of a notebook does to the memory.

use std::fmt;

use super::monitor::{Log, Monitor};
use super::profile::{curve, end, files, group, spans};
use crate::charts::{Chart, MemoryPanel};
use crate::display::{Card, bytes, count, seconds};

/// Watches the process's memory from here until it is finished or dropped.
///
/// ```
/// use topicbook::memory_scope;
/// let mut scope = memory_scope("load");
/// let counts = vec![1u8; 1 << 20];
/// scope.finish();
/// assert!(scope.peak() > 0);
/// scope.evcxr_display();
/// # drop(counts);
/// ```
pub fn memory_scope(name: impl Into<String>) -> MemoryScope {
    let monitor = Monitor::start();
    monitor.listen();
    MemoryScope {
        name: name.into(),
        state: State::Open(monitor),
    }
}

/// A watch over the process's memory, made by [`memory_scope`]: shows peak and change, plots the way between.
///
/// A thread of its own looks 100 times a second at first and less often later. What the library does meanwhile
/// (generating, opening, checking, writing, fitting) is marked in the chart.
pub struct MemoryScope {
    name: String,
    state: State,
}

enum State {
    Open(Monitor),
    Finished(Log),
}

impl MemoryScope {
    /// Stops watching; what was seen stays.
    pub fn finish(&mut self) {
        if let State::Open(monitor) = &self.state {
            self.state = State::Finished(monitor.log());
        }
    }

    /// The highest anonymous memory of the process so far, in bytes: what a memory limit counts.
    pub fn peak(&self) -> u64 {
        self.log().peak.anonymous
    }

    /// How much anonymous memory the process has now (or had at the end) beyond what it had at the start, in bytes.
    pub fn change(&self) -> i64 {
        let log = self.log();
        let of = |sample: Option<&super::monitor::Sample>| {
            sample.map_or(0, |sample| sample.process.anonymous as i64)
        };
        of(log.samples.last()) - of(log.samples.first())
    }

    /// Anonymous memory and pages of files over time, with what the library did.
    pub fn plot(&self) -> Chart {
        let log = self.log();
        let anonymous = MemoryPanel {
            label: "RAM that only this process holds (anonymous)".into(),
            curves: vec![curve(&log, "", |s| s.process.anonymous)],
            lines: Vec::new(),
        };
        let mut panels = vec![anonymous, files(&log)];
        panels.extend(group(&log));
        Chart::memory(panels, spans(&log), end(&log)).title(format!("Memory: {}", self.name))
    }

    /// Shows peak and change below a cell.
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn log(&self) -> Log {
        match &self.state {
            State::Open(monitor) => monitor.log(),
            State::Finished(log) => log.clone(),
        }
    }

    fn card(&self) -> Card {
        let log = self.log();
        let state = match self.state {
            State::Open(_) => "so far",
            State::Finished(_) => "finished",
        };
        let (Some(first), Some(last)) = (log.samples.first(), log.samples.last()) else {
            return Card::new(format!("Memory: {}", self.name));
        };
        let signed = |change: i64| match change {
            0.. => format!("+{}", bytes(change as u64)),
            _ => format!("-{}", bytes(change.unsigned_abs())),
        };
        let mut card = Card::new(format!("Memory: {} ({state})", self.name))
            .row("time", seconds(last.seconds))
            .row("at the start", bytes(first.process.anonymous))
            .row("peak", bytes(log.peak.anonymous))
            .row(
                "change",
                signed(last.process.anonymous as i64 - first.process.anonymous as i64),
            )
            .row("pages of files, peak", bytes(log.peak.file_backed))
            .row("read from the disk", bytes(last.read - first.read))
            .row("page faults that waited", count(last.waits - first.waits));
        if log.limit > 0 {
            let held = format!(
                "{} of {}, page cache too",
                bytes(log.peak.group),
                bytes(log.limit)
            );
            card = card.row("control group, peak", held);
        }
        card.note("Anonymous memory of the process: what a memory limit counts. Pages of files come on top; the system takes them back when it needs them.")
    }
}

impl fmt::Debug for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.card().text().trim_end())
    }
}
