//! Progress lines of a fit.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::data::Epoch;
use crate::system::{FIRST_LINE_SECONDS, Lines, Throughput, print_lines};
use crate::text::{count, fixed};

use super::observer::{FitStart, Observer, StepContext};

/// An observer that prints aligned lines to stdout: one for each epoch or group of epochs, and within long epochs.
#[derive(Default)]
pub(crate) struct Progress {
    lines: Option<(Lines, Instant)>,
}

impl Progress {
    fn report(&mut self, done: f64, cells: &[&str], first_line_seconds: f64) {
        if let Some((lines, began)) = &mut self.lines {
            let elapsed = began.elapsed().as_secs_f64();
            if let Some(line) = lines.line(done, cells, elapsed, first_line_seconds) {
                print_lines(&line);
            }
        }
    }
}

impl Observer for Progress {
    fn started(&mut self, start: &FitStart) {
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
            print_lines(&head);
        }
        self.lines = Some((lines, Instant::now()));
    }

    fn epoch_finished(&mut self, report: &Epoch) {
        let loss = format!("{:.2}", report.loss);
        let per_token = format!("{:.5}", report.log_likelihood_per_token);
        self.report(report.epoch as f64, &[&loss, &per_token], 0.0);
    }

    fn batch_finished(&mut self, context: &mut StepContext) -> ControlFlow<()> {
        // `epoch_finished` has reported the end of the epoch.
        if context.done.fract() > 0.0 {
            self.report(context.done, &["", ""], FIRST_LINE_SECONDS);
        }
        ControlFlow::Continue(())
    }

    fn noted(&mut self, line: &str) {
        print_lines(line);
    }
}

/// Formats a number of epochs as `57`, `57.3` or `20,000`.
pub(crate) fn epochs_done(done: f64) -> String {
    fixed(done, 1).trim_end_matches(".0").into()
}
