//! Progress lines on standard output, in one format for fitting, generating, writing and resampling.
//!
//! Work of any length prints at most about 20 whole lines, and between them, if it is slow, one every 30 seconds. In
//! topicbook's own kernel the lines are one output that is updated; its last line is the current state.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::text::{bytes, count, pad_left, printable, seconds};

use super::live_output::LiveOutput;
use super::memory::process_memory;
use super::stop_button::StopButton;

/// Number of lines for work with more units than [`ALL`].
const LINES: usize = 16;
/// Up to this many units, each gets a line at its end.
const ALL: f64 = 20.0;
/// Most seconds between two lines.
const SILENCE: f64 = 30.0;
/// Seconds before the first line: work that ends sooner prints nothing.
const FIRST_LINE_SECONDS: f64 = 2.0;
/// Seconds between two updates of the current state.
const UPDATE_SECONDS: f64 = 0.5;
/// Widths of the columns: the work done, throughput, memory and time.
const WIDTHS: [usize; 4] = [8, 9, 9, 9];

/// Whether progress lines are printed. The cells of a notebook link to one shared library, so this holds for all of them.
/// evcxr sets the variable for the process that runs the cells: elsewhere standard output belongs to the program.
static SHOWN: LazyLock<AtomicBool> =
    LazyLock::new(|| AtomicBool::new(std::env::var_os("EVCXR_IS_RUNTIME").is_some()));

/// Switches progress lines on standard output on or off for the whole process: for fitting, generating, writing and
/// resampling.
///
/// They are on in a notebook and off elsewhere by default. `TopicModel::quiet` silences a
/// single fit; `TopicModel::on_epoch` lets a program print lines of its own.
///
/// ```
/// use topicbook::{Synthetic, show_progress};
/// show_progress(false);
/// let corpus = Synthetic::new(50, 20, 3).generate()?; // silent, however long it takes
/// assert_eq!(corpus.counts().documents(), 50);
/// # Ok::<(), topicbook::Error>(())
/// ```
pub fn show_progress(show: bool) {
    SHOWN.store(show, Ordering::Relaxed);
}

/// Where the lines of one task are shown: one output that is updated, or lines on standard output.
pub struct Board {
    output: Option<LiveOutput>,
    lines: String,
    shown: Option<Instant>,
}

impl Board {
    pub fn new() -> Self {
        Self {
            output: LiveOutput::new().filter(|_| SHOWN.load(Ordering::Relaxed)),
            lines: String::new(),
            shown: None,
        }
    }

    /// Adds whole lines.
    pub fn print(&mut self, lines: &str) {
        match &self.output {
            Some(output) => {
                if !self.lines.is_empty() {
                    self.lines.push('\n');
                }
                self.lines.push_str(lines);
                output.show(&[("text/plain", &self.lines)]);
                self.shown = Some(Instant::now());
            }
            None => print_lines(lines),
        }
    }

    /// Shows a line below the others, and replaces the last such line or state. Prints it where outputs cannot be updated.
    pub fn replace(&mut self, line: &str) {
        match &self.output {
            Some(output) => {
                output.show(&[("text/plain", &self.with(line))]);
                self.shown = Some(Instant::now());
            }
            None => print_lines(line),
        }
    }

    /// The lines, and one more line below them.
    fn with(&self, line: &str) -> String {
        match self.lines.as_str() {
            "" => line.into(),
            lines => format!("{lines}\n{line}"),
        }
    }

    /// Shows the current state below the lines, and replaces the last such state. Does nothing where outputs cannot be
    /// updated, before the first line, or within half a second of the last change.
    pub fn state(&mut self, line: impl FnOnce() -> String) {
        if let (Some(output), Some(shown)) = (&self.output, self.shown)
            && shown.elapsed().as_secs_f64() >= UPDATE_SECONDS
        {
            output.show(&[("text/plain", &self.with(&line()))]);
            self.shown = Some(Instant::now());
        }
    }
}

/// Prints whole lines in one write, so that no other thread's output falls between them.
pub fn print_lines(lines: &str) {
    if SHOWN.load(Ordering::Relaxed) {
        // A closed standard output must not end the computation.
        let _ = writeln!(std::io::stdout().lock(), "{}", printable(lines));
    }
}

/// Unit of the throughput column, and its amount per unit of work.
#[derive(Debug, Clone, Copy)]
pub enum Throughput {
    Documents(f64),
    Bytes(f64),
}

/// Formats the progress lines of one task. The caller measures the time and prints what [`line`](Self::line) returns.
pub struct Lines {
    title: String,
    unit: &'static str,
    total: f64,
    throughput: Throughput,
    /// Names and widths of the caller's columns.
    columns: Vec<(&'static str, usize)>,
    /// Units done before this process started.
    start: f64,
    /// Units done and seconds elapsed at the last line.
    last: (f64, f64),
    head_given: bool,
    line_given: bool,
}

impl Lines {
    pub fn new(title: String, (unit, total): (&'static str, f64), throughput: Throughput) -> Self {
        Self {
            title,
            unit,
            total,
            throughput,
            columns: Vec::new(),
            start: 0.0,
            last: (0.0, 0.0),
            head_given: false,
            line_given: false,
        }
    }

    /// Adds columns of the caller between the first one and the throughput.
    pub fn columns(mut self, columns: &[(&'static str, usize)]) -> Self {
        self.columns = columns.to_vec();
        self
    }

    /// Sets the units that an earlier process has done.
    pub fn starting_at(mut self, done: f64) -> Self {
        self.start = done;
        self.last.0 = done;
        self
    }

    /// The title and the column names; `None` after the first call.
    pub fn head(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.head_given, true) {
            return None;
        }
        let throughput = match self.throughput {
            Throughput::Documents(_) => "docs/s",
            Throughput::Bytes(_) => "bytes/s",
        };
        let names: Vec<&str> = self.columns.iter().map(|column| column.0).collect();
        let names = self.row(self.unit, &names, [throughput, "RAM", "left"]);
        Some(format!("{}\n{names}", self.title))
    }

    /// The line after `done` units and `elapsed` seconds, if one is due; the head precedes the first line.
    ///
    /// Lines are due at the end of each unit if there are at most 20, else after each sixteenth; between them after 30 seconds
    /// of silence. `cells` are the values of the caller's columns, for a line at the end of a unit.
    pub fn line(&mut self, done: f64, cells: &[&str], elapsed: f64) -> Option<String> {
        let parts = if self.total <= ALL {
            self.total
        } else {
            LINES as f64
        };
        let part = |done: f64| (done * parts / self.total).floor();
        let (last, ended) = (self.last, done >= self.total);
        let due = match done.fract() == 0.0 {
            true => {
                ended
                    || !self.line_given
                    || part(done) > part(last.0)
                    || elapsed >= last.1 + SILENCE
            }
            false => elapsed >= last.1 + SILENCE,
        };
        if !due || done <= last.0 {
            return None;
        }
        let line = self.state(done, cells, elapsed);
        self.line_given = true;
        self.last = (done, elapsed);
        Some(match self.head() {
            Some(head) => format!("{head}\n{line}"),
            None => line,
        })
    }

    /// The line after `done` units and `elapsed` seconds, whether it is due or not.
    pub fn state(&self, done: f64, cells: &[&str], elapsed: f64) -> String {
        let speed = (done - self.last.0) / (elapsed - self.last.1).max(1e-9);
        let throughput = match self.throughput {
            Throughput::Documents(per_unit) => count((speed * per_unit) as u64),
            Throughput::Bytes(per_unit) => bytes((speed * per_unit) as u64),
        };
        let left = match done >= self.total {
            true => format!("in {}", clock(elapsed)),
            false => clock(elapsed / (done - self.start) * (self.total - done)),
        };
        let memory = bytes(process_memory().anonymous);
        self.row(
            &label(done, self.total),
            cells,
            [&throughput, &memory, &left],
        )
    }

    fn row(&self, done: &str, cells: &[&str], ends: [&str; 3]) -> String {
        let [first, rest @ ..] = WIDTHS;
        let mut row = pad_left(done, label(self.total, self.total).len().max(first));
        for (cell, &(_, width)) in cells.iter().zip(&self.columns) {
            row += &pad_left(cell, width + 1);
        }
        for (cell, width) in ends.iter().zip(rest) {
            row += &pad_left(cell, width + 1);
        }
        row
    }
}

/// `57/200`, `3: 45%` within the third unit, or `400,000` where the total would make it too long.
fn label(done: f64, total: f64) -> String {
    if done.fract() > 0.0 {
        return format!(
            "{}: {:.0}%",
            count(done.ceil() as u64),
            100.0 * done.fract()
        );
    }
    let (done, all) = (count(done as u64), count(total as u64));
    match all.len() {
        ..4 => format!("{done}/{all}"),
        _ => done,
    }
}

/// A time as `2.5 s`, `3:20` (minutes and seconds) or `1:03:20` (with hours).
fn clock(time: f64) -> String {
    let whole = time.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) => seconds(time),
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Progress of a task over documents, on one or several threads. Prints nothing if the task ends within
/// `FIRST_LINE_SECONDS`. The notebook's stop button ends the task with an error, so no variable is lost.
pub struct Progress {
    began: Instant,
    total: u64,
    /// Passes over all documents.
    passes: u64,
    done: AtomicU64,
    lines: Mutex<(Lines, Board)>,
    stop: Option<StopButton>,
}

impl Progress {
    /// Progress of `passes` passes over `documents` documents.
    pub fn new(title: String, documents: usize, passes: usize, throughput: Throughput) -> Self {
        Self::in_units(title, ("documents", documents as u64), passes, throughput)
    }

    /// Progress of `passes` passes over `units` units, which are named `unit`.
    pub fn in_units(
        title: String,
        (unit, units): (&'static str, u64),
        passes: usize,
        throughput: Throughput,
    ) -> Self {
        let lines = Lines::new(title, (unit, units as f64), throughput);
        Self {
            began: Instant::now(),
            total: units * passes as u64,
            passes: passes as u64,
            done: AtomicU64::new(0),
            lines: Mutex::new((lines, Board::new())),
            stop: StopButton::listen(),
        }
    }

    /// Counts `documents` more documents (or other units) as done, and prints a line if one is due.
    ///
    /// # Errors
    /// When the stop button was pressed.
    pub fn advance(&self, documents: usize) -> Result<()> {
        let before = self.done.fetch_add(documents as u64, Ordering::Relaxed);
        // Skip if another thread is printing, except for the last line.
        let lines = match before + documents as u64 >= self.total {
            true => self.lines.lock().ok(),
            false => self.lines.try_lock().ok(),
        };
        if let Some(mut lines) = lines {
            let (lines, board) = &mut *lines;
            let done = (self.done.load(Ordering::Relaxed) / self.passes) as f64;
            let elapsed = self.began.elapsed().as_secs_f64();
            if self.stop.as_ref().is_some_and(StopButton::is_pressed) {
                let what = format!("stopped while {}", lines.title);
                return Err(Error::new(ErrorKind::Interrupted, what).fix(
                    "run the cell again: nothing was kept of it, and every variable is as it was",
                ));
            }
            if !lines.line_given && elapsed < FIRST_LINE_SECONDS {
                return Ok(());
            }
            match lines.line(done, &[], elapsed) {
                Some(line) => board.print(&line),
                None => board.state(|| lines.state(done, &[], elapsed)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a task whose units take `seconds` each and are reported in `steps` steps each.
    fn lines_of(total: usize, steps: usize, seconds: f64) -> Vec<String> {
        let mut lines = Lines::new(
            "work".into(),
            ("epoch", total as f64),
            Throughput::Documents(1.0),
        )
        .columns(&[("loss", 10), ("per token", 9)]);
        (1..=total * steps)
            .filter_map(|step| {
                let done = step as f64 / steps as f64;
                lines.line(done, &["7,146,537", "-9.17326"], done * seconds)
            })
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn lines_are_few_and_short_and_aligned_and_the_last_one_is_at_the_end() {
        for (total, steps, seconds) in [
            (1, 40, 30.0),
            (3, 7, 4.0),
            (5, 100, 60.0),
            (17, 1, 3.0),
            (200, 1, 0.04),
            (20_000, 3, 0.01),
            (500_000, 1, 0.0001),
        ] {
            let lines = lines_of(total, steps, seconds);
            assert!((3..=22).contains(&lines.len()), "{total}: {lines:#?}");
            let width = lines[1].len();
            assert!(width < 60, "{lines:#?}");
            assert!(
                lines[1..].iter().all(|line| line.len() == width),
                "{lines:#?}"
            );
            let last = lines[lines.len() - 1].trim_start();
            assert!(last.starts_with(&count(total as u64)), "{last}");
        }
    }

    #[test]
    fn the_end_of_every_unit_of_few_gets_a_line() {
        for seconds in [0.001, 60.0] {
            let lines = lines_of(20, 100, seconds);
            for epoch in 1..=20 {
                let done = format!("{epoch}/20 ");
                let found = lines
                    .iter()
                    .any(|line| line.trim_start().starts_with(&done));
                assert!(found, "{epoch}: {lines:#?}");
            }
        }
    }

    #[test]
    fn no_silence_is_longer_than_half_a_minute() {
        // Two epochs of ten minutes, reported every second.
        let lines = lines_of(2, 600, 600.0);
        assert!((40..=44).contains(&lines.len()), "{lines:#?}");
        assert!(lines[2].trim_start().starts_with("1: 5%"), "{lines:#?}");
    }

    #[test]
    fn the_time_left_counts_from_the_start_of_this_process() {
        let mut lines = Lines::new(
            "fitting".into(),
            ("epoch", 200.0),
            Throughput::Documents(50.0),
        )
        .starting_at(100.0);
        let line = lines.line(110.0, &[], 20.0).unwrap();
        let cells: Vec<&str> = line.lines().nth(2).unwrap().split_whitespace().collect();
        // 10 epochs took 20 s and 90 are left: 180 s. 500 documents in 20 s: 25 a second.
        assert_eq!((cells[0], cells[1]), ("110/200", "25"));
        assert!(line.ends_with("3:00"), "{line}");
    }

    #[test]
    fn times_are_short() {
        let shown = [2.52, 59.9, 200.0, 3800.0].map(clock);
        assert_eq!(shown, ["2.52 s", "1:00", "3:20", "1:03:20"]);
    }
}
