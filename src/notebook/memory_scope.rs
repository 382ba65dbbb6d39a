//! Memory scopes, which measure the memory that a part of a notebook uses.

use std::fmt;
use std::path::Path;

use polars::prelude::Column;

use crate::charts::{Chart, anonymous, end, files, group, save, spans, vram};
use crate::data::Table;
use crate::error::Result;
use crate::system::memory::{Log, Monitor, Sample, kind_of_phase};
use crate::text::{Card, bytes, count, seconds};

/// Starts a scope that samples the memory of the process until it is finished or dropped. The name is the title of its
/// chart.
///
/// ```
/// use topicbook::memory_scope;
/// let mut scope = memory_scope("load");
/// let counts = vec![1u8; 1 << 20];
/// scope.finish();
/// assert!(scope.peak() > 0);
/// assert!(scope.to_string().starts_with("Memory: load (finished)"));
/// # drop(counts);
/// ```
#[doc(alias = "tracemalloc")]
#[doc(alias = "memory_profiler")]
pub fn memory_scope(name: impl Into<String>) -> MemoryScope {
    let monitor = Monitor::start();
    monitor.register();
    MemoryScope {
        name: name.into(),
        state: State::Open(monitor),
        parts: Vec::new(),
    }
}

/// Memory of the process over time, measured from [`memory_scope`] on: its peak, its change, and a chart.
///
/// A thread takes 100 samples per second at first, and fewer later. The chart marks the work of this crate meanwhile:
/// generating, opening, checking, writing, fitting.
///
/// ```
/// use topicbook::{Counts, memory_scope};
/// let scope = memory_scope("summary");
/// Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?.summary()?;
/// println!("{scope}");
/// assert!(scope.peak() > 0);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[must_use = "dropping the scope ends the measurement"]
pub struct MemoryScope {
    name: String,
    state: State,
    /// The parts that marks have ended.
    parts: Vec<Part>,
}

/// What was measured between two marks. Memory is anonymous, in bytes.
#[derive(Debug, Clone)]
struct Part {
    label: String,
    /// Seconds from the start of the scope to the end of the part.
    until: f64,
    seconds: f64,
    start: u64,
    peak: u64,
    end: u64,
    vram: u64,
}

impl Part {
    /// The part of a log between two times, in seconds.
    fn new(label: String, log: &Log, (from, to): (f64, f64)) -> Self {
        let inside = |sample: &&Sample| (from..=to).contains(&sample.seconds);
        let mut samples = log.samples.iter().filter(inside);
        let first = samples.clone().next().copied().unwrap_or_default();
        let peak_of = |of: fn(&Sample) -> u64| samples.clone().map(of).max().unwrap_or(0);
        let peak = peak_of(|sample| sample.process.anonymous);
        let vram = peak_of(|sample| sample.vram_reserved);
        let last = samples.next_back().copied().unwrap_or(first);
        Self {
            label,
            until: last.seconds,
            seconds: last.seconds - from,
            start: first.process.anonymous,
            peak,
            end: last.process.anonymous,
            vram,
        }
    }
}

enum State {
    Open(Monitor),
    Finished(Log),
}

impl MemoryScope {
    /// Stops sampling and keeps the samples. A second call changes nothing.
    ///
    /// ```
    /// let mut scope = topicbook::memory_scope("load");
    /// scope.finish();
    /// let peak = scope.peak();
    /// let later = vec![1u8; 8 << 20];
    /// assert_eq!(scope.peak(), peak);
    /// # drop(later);
    /// ```
    pub fn finish(&mut self) {
        if let State::Open(monitor) = &self.state {
            self.state = State::Finished(monitor.log());
        }
    }

    /// Ends a part of the scope and names it; the first one begins with the scope, each other where the one before ended.
    /// [`table`](Self::table) has a row for each. In a finished scope it does nothing.
    ///
    /// ```
    /// let mut scope = topicbook::memory_scope("load");
    /// let counts = vec![1u8; 32 << 20];
    /// scope.mark("counts made");
    /// drop(counts);
    /// scope.mark("counts dropped");
    /// assert_eq!(scope.table().height(), 2);
    /// ```
    #[doc(alias = "snapshot")]
    pub fn mark(&mut self, label: impl Into<String>) {
        if let State::Open(monitor) = &self.state {
            let part = Part::new(label.into(), &monitor.log(), (self.marked(), f64::INFINITY));
            self.parts.push(part);
        }
    }

    /// Seconds from the start to the last mark.
    fn marked(&self) -> f64 {
        self.parts.last().map_or(0.0, |part| part.until)
    }

    /// Table with one row per [`mark`](Self::mark): `part`, `seconds`, and in MiB of anonymous memory `start`, `peak` and
    /// `change`; with a GPU also `VRAM peak`, of what the allocator has reserved. A scope without marks is one part.
    ///
    /// ```
    /// let mut scope = topicbook::memory_scope("load");
    /// let counts = vec![1u8; 32 << 20];
    /// scope.mark("counts made");
    /// let change = scope.table().column("change, MiB")?.f64()?.get(0);
    /// assert!(change.is_some_and(|mib| mib > 16.0));
    /// # drop(counts);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn table(&self) -> Table {
        let mut parts = self.parts.clone();
        if parts.is_empty() {
            parts.push(Part::new(
                self.name.clone(),
                &self.log(),
                (0.0, f64::INFINITY),
            ));
        }
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        let column = |name: &str, of: fn(&Part) -> f64| {
            let values: Vec<f64> = parts.iter().map(|part| mib(of(part))).collect();
            Column::new(name.into(), values)
        };
        let labels: Vec<_> = parts.iter().map(|part| part.label.clone()).collect();
        let seconds: Vec<_> = parts.iter().map(|part| part.seconds).collect();
        let mut columns = vec![
            Column::new("part".into(), labels),
            Column::new("seconds".into(), seconds),
            column("start, MiB", |part| part.start as f64),
            column("peak, MiB", |part| part.peak as f64),
            column("change, MiB", |part| part.end as f64 - part.start as f64),
        ];
        if parts.iter().any(|part| part.vram > 0) {
            columns.push(column("VRAM peak, MiB", |part| part.vram as f64));
        }
        Table::from_columns(columns)
    }

    /// The largest anonymous memory of the process so far, in bytes: the memory that a limit cannot reclaim.
    ///
    /// ```
    /// let scope = topicbook::memory_scope("load");
    /// let counts = vec![1u8; 32 << 20];
    /// assert!(scope.peak() > 32 << 20);
    /// # drop(counts);
    /// ```
    pub fn peak(&self) -> u64 {
        self.log().peak.anonymous
    }

    /// The anonymous memory of the process now, or at the end of a finished scope, minus its value at the start, in bytes.
    ///
    /// ```
    /// let scope = topicbook::memory_scope("load");
    /// let counts = vec![1u8; 32 << 20];
    /// assert!(scope.change() > 16 << 20);
    /// # drop(counts);
    /// ```
    pub fn change(&self) -> i64 {
        let log = self.log();
        let anonymous =
            |sample: Option<&Sample>| sample.map_or(0, |sample| sample.process.anonymous as i64);
        anonymous(log.samples.last()) - anonymous(log.samples.first())
    }

    /// Chart of anonymous memory and resident file pages over time, with the work of this crate.
    ///
    /// ```
    /// let mut scope = topicbook::memory_scope("load");
    /// scope.finish();
    /// assert!(scope.plot().to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn plot(&self) -> Chart {
        let log = self.log();
        let mut panels = vec![anonymous(&log, Vec::new()), files(&log)];
        panels.extend(group(&log));
        if log.peak.vram_reserved > 0 {
            panels.push(vram(&log, Vec::new()));
        }
        Chart::memory(panels, spans(&log), end(&log)).title(format!("Memory: {}", self.name))
    }

    /// Writes memory over time as an HTML page: the chart of [`plot`](Self::plot), the parts that marks have ended, and the
    /// peak of each kind of work of this crate. The page is light or dark as the reader's system, and needs no network. The
    /// write is atomic.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// let mut scope = topicbook::memory_scope("load");
    /// let counts = vec![1u8; 32 << 20];
    /// scope.mark("counts made");
    /// scope.save_html("memory.html")?;
    /// assert!(std::fs::read_to_string("memory.html").unwrap().contains("counts made"));
    /// # drop(counts);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written.
    #[doc(alias = "snapshot")]
    pub fn save_html(&self, path: impl AsRef<Path>) -> Result<()> {
        let log = self.log();
        let mut tables = self.card().html();
        let line = |part: &Part| {
            vec![
                part.label.clone(),
                seconds(part.seconds),
                bytes(part.start),
                bytes(part.end),
                bytes(part.peak),
            ]
        };
        for (title, parts) in [("Marks", self.parts.clone()), ("Work", work(&log))] {
            if !parts.is_empty() {
                let headings = ["part", "time", "start", "end", "peak"];
                let card = Card::new(title).grid(&headings, parts.iter().map(line).collect());
                tables.push_str(&card.html());
            }
        }
        save(path.as_ref(), self.plot().html_page(&tables)?.as_bytes())
    }

    #[doc(hidden)]
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
            .row(
                "read from the disk",
                bytes(last.read_bytes - first.read_bytes),
            )
            .row(
                "page faults with disk reads",
                count(last.major_faults - first.major_faults),
            );
        if log.limit > 0 {
            let used = format!(
                "{} of {}, with page cache",
                bytes(log.peak.group),
                bytes(log.limit)
            );
            card = card.row("control group, peak", used);
        }
        if log.peak.vram_reserved > 0 {
            card = card.row("VRAM reserved, peak", bytes(log.peak.vram_reserved));
        }
        card.note(
            "Start, peak and change are anonymous memory of the process, which a memory limit cannot reclaim. \
             Pages of files are not included; the system reclaims them when memory is short.",
        )
    }
}

/// The work of this crate in a log, by kind: the start of the first time, the end of the last, and the peak and the seconds
/// of all.
fn work(log: &Log) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut spans: Vec<_> = log.spans.iter().collect();
    spans.sort_by(|a, b| a.from.total_cmp(&b.from));
    for span in spans {
        let kind = kind_of_phase(&span.name);
        let part = Part::new(kind.into(), log, (span.from, span.to));
        match parts.iter_mut().find(|known| known.label == kind) {
            Some(known) => {
                known.end = part.end;
                known.peak = known.peak.max(part.peak);
                known.seconds += span.to - span.from;
            }
            None => parts.push(Part {
                seconds: span.to - span.from,
                ..part
            }),
        }
    }
    parts
}

/// The card of the scope as text.
impl fmt::Display for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.card().text().trim_end())
    }
}

impl fmt::Debug for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryScope")
            .field("name", &self.name)
            .field("peak", &self.peak())
            .finish_non_exhaustive()
    }
}
