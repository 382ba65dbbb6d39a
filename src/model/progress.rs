//! The progress lines of a fit.

use std::ops::ControlFlow;
use std::time::Instant;

use super::observer::{EpochReport, Moment, Observer, Start};
use crate::display::count;
use crate::progress::{Lines, PATIENCE, Throughput, say};

/// Prints aligned lines to stdout: one for each epoch or part of the fit, within an epoch when it is a long one.
#[derive(Default)]
pub(crate) struct Progress {
    lines: Option<(Lines, Instant)>,
}

impl Progress {
    fn report(&mut self, done: f64, cells: &[&str], patience: f64) {
        if let Some((lines, began)) = &mut self.lines {
            let elapsed = began.elapsed().as_secs_f64();
            if let Some(line) = lines.line(done, cells, elapsed, patience) {
                say(&line);
            }
        }
    }
}

impl Observer for Progress {
    fn started(&mut self, start: &Start) {
        let from = match start.done {
            0.0 => String::new(),
            done => format!(", {} of {} epochs done", epochs_done(done), start.epochs),
        };
        let title = format!(
            "fitting {} documents on {}{from}",
            count(start.documents as u64),
            start.device
        );
        let mut lines = Lines::new(
            title,
            ("epoch", start.epochs as f64),
            Throughput::Documents(start.documents as f64),
        )
        .columns(&[("loss", 16), ("per token", 10)])
        .starting_at(start.done);
        if let Some(head) = lines.head() {
            say(&head);
        }
        self.lines = Some((lines, Instant::now()));
    }

    fn epoch_finished(&mut self, report: &EpochReport) {
        let loss = format!("{:.2}", report.loss);
        let per_token = format!("{:.5}", report.log_likelihood_per_token);
        self.report(report.epoch as f64, &[&loss, &per_token], 0.0);
    }

    fn batch_finished(&mut self, at: &mut Moment) -> ControlFlow<()> {
        // The end of an epoch has had its line, or was not worth one.
        if at.done.fract() > 0.0 {
            self.report(at.done, &["", ""], PATIENCE);
        }
        ControlFlow::Continue(())
    }

    fn noted(&mut self, line: &str) {
        say(line);
    }
}

/// `57` or `57.3`.
pub(crate) fn epochs_done(done: f64) -> String {
    format!("{done:.1}").trim_end_matches(".0").into()
}
