//! Progress lines on standard output, in one format for fitting, generating, writing and resampling.
//!
//! A notebook cell cannot overwrite a line, so work of any length prints at most about 20 whole lines.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use crate::text::{bytes, count, pad_left, seconds};

use super::memory::process_memory;

/// Number of lines between the first and the last.
const LINES: usize = 16;
/// Least seconds between two lines, except before the last one.
const GAP: f64 = 0.25;
/// Seconds before the first line: work that ends sooner prints nothing.
pub(crate) const FIRST_LINE_SECONDS: f64 = 2.0;

/// Whether progress lines are printed. The cells of a notebook link to one shared library, so this holds for all of them.
/// evcxr sets the variable for the process that runs the cells: elsewhere standard output belongs to the program.
static SHOWN: LazyLock<AtomicBool> =
    LazyLock::new(|| AtomicBool::new(std::env::var_os("EVCXR_IS_RUNTIME").is_some()));

/// Switches progress lines on standard output on or off for the whole process: those of fitting, generating, writing
/// and resampling.
///
/// They are on in a notebook and off elsewhere by default. [`TopicModel::quiet`](crate::TopicModel::quiet) silences a
/// single fit; [`TopicModel::on_epoch`](crate::TopicModel::on_epoch) lets a program print lines of its own.
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

/// Prints whole lines in one write, so that no other thread's output falls between them.
pub(crate) fn print_lines(lines: &str) {
    if SHOWN.load(Ordering::Relaxed) {
        // A closed standard output must not end the computation.
        let _ = writeln!(std::io::stdout().lock(), "{lines}");
    }
}

/// Unit of the throughput column, and its amount per unit of work.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Throughput {
    Documents(f64),
    Bytes(f64),
}

/// Formats the progress lines of one task. The caller measures the time and prints what [`line`](Self::line) returns.
pub(crate) struct Lines {
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
    pub(crate) fn new(
        title: String,
        (unit, total): (&'static str, f64),
        throughput: Throughput,
    ) -> Self {
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
    pub(crate) fn columns(mut self, columns: &[(&'static str, usize)]) -> Self {
        self.columns = columns.to_vec();
        self
    }

    /// Sets the units that an earlier process has done.
    pub(crate) fn starting_at(mut self, done: f64) -> Self {
        self.start = done;
        self.last.0 = done;
        self
    }

    /// The title and the column names; `None` after the first call.
    pub(crate) fn head(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.head_given, true) {
            return None;
        }
        let throughput = match self.throughput {
            Throughput::Documents(_) => "documents/s",
            Throughput::Bytes(_) => "bytes/s",
        };
        let names: Vec<&str> = self.columns.iter().map(|column| column.0).collect();
        let names = self.row(self.unit, &names, [throughput, "RAM", "left"]);
        Some(format!("{}\n{names}", self.title))
    }

    /// The line after `done` units and `elapsed` seconds, if one is due, with the head before the first one.
    ///
    /// The first line is due after `first_line_seconds`, then one for each part of the work, and one at the end.
    /// `cells` are the values of the caller's columns.
    pub(crate) fn line(
        &mut self,
        done: f64,
        cells: &[&str],
        elapsed: f64,
        first_line_seconds: f64,
    ) -> Option<String> {
        // With few units, a whole number of parts per unit: then the end of every unit (an epoch) gets a line.
        let parts = self.total * (LINES as f64 / self.total).floor().max(1.0);
        let parts = parts.min(LINES as f64);
        let part = |done: f64| (done * parts / self.total).floor();
        let (last, ended) = (self.last, done >= self.total);
        let due = match self.line_given {
            false => elapsed >= first_line_seconds,
            true => ended || (part(done) > part(last.0) && elapsed >= last.1 + GAP),
        };
        if !due || done <= last.0 {
            return None;
        }
        self.line_given = true;
        self.last = (done, elapsed);
        let speed = (done - last.0) / (elapsed - last.1).max(1e-9);
        let throughput = match self.throughput {
            Throughput::Documents(per_unit) => count((speed * per_unit) as u64),
            Throughput::Bytes(per_unit) => bytes((speed * per_unit) as u64),
        };
        let left = match ended {
            true => format!("in {}", seconds(elapsed)),
            false => seconds(elapsed / (done - self.start) * (self.total - done)),
        };
        let line = self.row(
            &label(done, self.total),
            cells,
            [&throughput, &bytes(process_memory().anonymous), &left],
        );
        Some(match self.head() {
            Some(head) => format!("{head}\n{line}"),
            None => line,
        })
    }

    fn row(&self, done: &str, cells: &[&str], [throughput, memory, left]: [&str; 3]) -> String {
        let width = (label(self.total, self.total).len() + 2).max(11);
        let mut row = pad_left(done, width);
        for (cell, &(_, width)) in cells.iter().zip(&self.columns) {
            row += &pad_left(cell, width + 1);
        }
        for (cell, width) in [(throughput, 12), (memory, 10), (left, 14)] {
            row += &pad_left(cell, width + 1);
        }
        row
    }
}

/// `57/200`, `0.3/5` or `40,000/500,000`.
fn label(done: f64, total: f64) -> String {
    let total = count(total as u64);
    match done.fract() {
        0.0 => format!("{}/{total}", count(done as u64)),
        _ => format!("{done:.1}/{total}"),
    }
}

/// Progress of a task over documents, on one or several threads. Prints nothing if the task ends within
/// [`FIRST_LINE_SECONDS`].
pub(crate) struct Progress {
    began: Instant,
    total: u64,
    /// Passes over all documents.
    passes: u64,
    done: AtomicU64,
    lines: Mutex<Lines>,
}

impl Progress {
    /// Progress of `passes` passes over `documents` documents.
    pub(crate) fn new(
        title: String,
        documents: usize,
        passes: usize,
        throughput: Throughput,
    ) -> Self {
        let lines = Lines::new(title, ("documents", documents as f64), throughput);
        Self {
            began: Instant::now(),
            total: (documents * passes) as u64,
            passes: passes as u64,
            done: AtomicU64::new(0),
            lines: Mutex::new(lines),
        }
    }

    /// Counts `documents` more documents as done, and prints a line if one is due.
    pub(crate) fn advance(&self, documents: usize) {
        let before = self.done.fetch_add(documents as u64, Ordering::Relaxed);
        // Skip if another thread is printing, except for the last line.
        let lines = match before + documents as u64 >= self.total {
            true => self.lines.lock().ok(),
            false => self.lines.try_lock().ok(),
        };
        if let Some(mut lines) = lines {
            let done = (self.done.load(Ordering::Relaxed) / self.passes) as f64;
            let elapsed = self.began.elapsed().as_secs_f64();
            if let Some(line) = lines.line(done, &[], elapsed, FIRST_LINE_SECONDS) {
                print_lines(&line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a task whose units take `seconds` each and are reported in `steps` steps each.
    fn lines_of(total: usize, steps: usize, seconds: f64) -> Vec<String> {
        let mut lines = Lines::new(
            "work".into(),
            ("documents", total as f64),
            Throughput::Documents(1.0),
        );
        (1..=total * steps)
            .filter_map(|step| {
                let done = step as f64 / steps as f64;
                lines.line(done, &[], done * seconds, FIRST_LINE_SECONDS)
            })
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn lines_are_few_and_aligned_and_the_last_one_is_at_the_end() {
        for (total, steps, seconds) in [
            (1, 40, 30.0),
            (3, 7, 4.0),
            (5, 100, 300.0),
            (17, 1, 3.0),
            (200, 1, 0.04),
            (500_000, 1, 0.001),
            (1_000_000, 1, 0.3),
        ] {
            let lines = lines_of(total, steps, seconds);
            assert!((3..=20).contains(&lines.len()), "{total}: {lines:#?}");
            let width = lines[1].len();
            assert!(lines[1..].iter().all(|line| line.len() == width));
            let last = lines[lines.len() - 1].trim_start();
            let whole = count(total as u64);
            assert!(last.starts_with(&format!("{whole}/{whole} ")), "{last}");
        }
    }

    #[test]
    fn a_short_task_prints_nothing() {
        assert!(lines_of(500, 1, 0.003).is_empty());
    }

    #[test]
    fn the_end_of_every_long_unit_gets_a_line() {
        let lines = lines_of(5, 100, 60.0);
        for epoch in 1..=5 {
            let done = format!("{epoch}/5 ");
            assert!(
                lines
                    .iter()
                    .any(|line| line.trim_start().starts_with(&done))
            );
        }
    }

    #[test]
    fn the_time_left_counts_from_the_start_of_this_process() {
        let mut lines = Lines::new(
            "fitting".into(),
            ("epoch", 200.0),
            Throughput::Documents(50.0),
        )
        .starting_at(100.0);
        let line = lines.line(110.0, &[], 20.0, 0.0).unwrap();
        let cells: Vec<&str> = line.lines().nth(2).unwrap().split_whitespace().collect();
        // 10 epochs took 20 s and 90 are left: 180 s. 500 documents in 20 s: 25 a second.
        assert_eq!((cells[0], cells[1]), ("110/200", "25"));
        assert!(line.ends_with("3 min 00 s"), "{line}");
    }
}
