//! Progress for a page that takes whole lines only: at most about 20 of them for work of any length, all of it on
//! standard output, in one shape for fits, generating, writing and resampling.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::display::{bytes, count, pad_left, seconds};
use crate::memory::process_memory;

/// Lines between the first and the last.
const LINES: usize = 16;
/// Seconds between two lines, but for the last: what is quick needs fewer.
const GAP: f64 = 0.25;
/// Work that is done before that many seconds says nothing.
pub(crate) const PATIENCE: f64 = 2.0;

/// One for the whole process: cells link to one shared library.
static SHOWN: AtomicBool = AtomicBool::new(true);

/// Shows progress lines, or does not, from now on and in the whole notebook: those of fits, of generating, writing and
/// resampling.
///
/// They are shown by default. [`TopicModel::quiet`](crate::TopicModel::quiet) silences a single fit.
///
/// ```
/// use topicbook::{Synthetic, show_progress};
/// show_progress(false);
/// let corpus = Synthetic::new(50, 20, 3).generate()?;
/// # Ok::<(), topicbook::Error>(())
/// ```
pub fn show_progress(show: bool) {
    SHOWN.store(show, Ordering::Relaxed);
}

/// Prints whole lines in one write, so that no other thread's output falls between them.
pub(crate) fn say(lines: &str) {
    if SHOWN.load(Ordering::Relaxed) {
        // A closed standard output ends the page, not the computation.
        let _ = writeln!(std::io::stdout().lock(), "{lines}");
    }
}

/// What the throughput is counted in, and how much of it a unit of work is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Throughput {
    Documents(f64),
    Bytes(f64),
}

/// The lines of one piece of work. Knows neither the clock nor the page: [`line`](Self::line) gives what is to be shown.
pub(crate) struct Lines {
    title: String,
    unit: &'static str,
    total: f64,
    throughput: Throughput,
    /// What a caller shows besides, with the width of its column.
    columns: Vec<(&'static str, usize)>,
    /// Units and seconds at the start and at the last line.
    start: f64,
    last: (f64, f64),
    titled: bool,
    begun: bool,
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
            titled: false,
            begun: false,
        }
    }

    /// Columns of the caller's own.
    pub(crate) fn columns(mut self, columns: &[(&'static str, usize)]) -> Self {
        self.columns = columns.to_vec();
        self
    }

    /// Units that an earlier process has done.
    pub(crate) fn starting_at(mut self, done: f64) -> Self {
        self.start = done;
        self.last.0 = done;
        self
    }

    /// The title and the names of the columns, if they have not been given yet.
    pub(crate) fn head(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.titled, true) {
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

    /// The line to be shown when `done` units are done, if one is due: a first one after `patience` seconds, then one
    /// for every part of the work, and the last. `cells` are those of the caller's columns.
    pub(crate) fn line(
        &mut self,
        done: f64,
        cells: &[&str],
        elapsed: f64,
        patience: f64,
    ) -> Option<String> {
        // Parts end where units end, as far as there are few: an epoch's end is worth a line.
        let parts = self.total * (LINES as f64 / self.total).floor().max(1.0);
        let parts = parts.min(LINES as f64);
        let part = |done: f64| (done * parts / self.total).floor();
        let (last, ended) = (self.last, done >= self.total);
        let due = match self.begun {
            false => elapsed >= patience,
            true => ended || (part(done) > part(last.0) && elapsed >= last.1 + GAP),
        };
        if !due || done <= last.0 {
            return None;
        }
        self.begun = true;
        self.last = (done, elapsed);
        let speed = (done - last.0) / (elapsed - last.1).max(1e-9);
        let throughput = match self.throughput {
            Throughput::Documents(each) => count((speed * each) as u64),
            Throughput::Bytes(each) => bytes((speed * each) as u64),
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

/// The progress of work over documents, on one thread or many. Quick work says nothing.
pub(crate) struct Progress {
    began: Instant,
    total: u64,
    /// How often each document is met.
    passes: u64,
    done: AtomicU64,
    lines: Mutex<Lines>,
}

impl Progress {
    /// Of `documents` documents, each of which is met `passes` times.
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

    /// So many documents more are done.
    pub(crate) fn advance(&self, documents: usize) {
        let before = self.done.fetch_add(documents as u64, Ordering::Relaxed);
        // Who finds another thread at it leaves it to that one; who ends the work does not.
        let lines = match before + documents as u64 >= self.total {
            true => self.lines.lock().ok(),
            false => self.lines.try_lock().ok(),
        };
        if let Some(mut lines) = lines {
            let done = (self.done.load(Ordering::Relaxed) / self.passes) as f64;
            let elapsed = self.began.elapsed().as_secs_f64();
            if let Some(line) = lines.line(done, &[], elapsed, PATIENCE) {
                say(&line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of work whose every unit takes `seconds`, and is reported in `steps` steps.
    fn lines_of(total: usize, steps: usize, seconds: f64) -> Vec<String> {
        let mut lines = Lines::new(
            "work".into(),
            ("documents", total as f64),
            Throughput::Documents(1.0),
        );
        (1..=total * steps)
            .filter_map(|step| {
                let done = step as f64 / steps as f64;
                lines.line(done, &[], done * seconds, PATIENCE)
            })
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn lines_are_few_aligned_and_end_with_the_end() {
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
    fn quick_work_says_nothing() {
        assert!(lines_of(500, 1, 0.003).is_empty());
    }

    #[test]
    fn few_long_units_all_end_with_a_line() {
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
    fn what_is_left_counts_from_the_start_of_this_process() {
        let mut lines = Lines::new(
            "fitting".into(),
            ("epoch", 200.0),
            Throughput::Documents(50.0),
        )
        .starting_at(100.0);
        let line = lines.line(110.0, &[], 20.0, 0.0).unwrap();
        let cells: Vec<&str> = line.lines().nth(2).unwrap().split_whitespace().collect();
        // 10 epochs took 20 s, 90 are left; 500 documents in 20 s.
        assert_eq!((cells[0], cells[1]), ("110/200", "25"));
        assert!(line.ends_with("3 min 00 s"), "{line}");
    }
}
