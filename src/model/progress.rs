//! Progress for a page that only takes whole lines: at most about 20 of them for a fit of any length.

use super::observer::{EpochReport, Observer, Start};
use crate::display::{bytes, count, seconds};

/// Lines for the epochs between the first and the last.
const LINES: usize = 16;

/// Prints aligned lines to stdout.
#[derive(Default)]
pub(crate) struct Progress {
    epochs: usize,
    documents: usize,
    /// Epochs that an earlier process had done.
    done: f64,
    shown: bool,
}

impl Observer for Progress {
    fn started(&mut self, start: &Start) {
        self.epochs = start.epochs;
        self.documents = start.documents;
        self.done = start.done;
        let from = match start.done {
            0.0 => String::new(),
            done => format!(", {} of {} epochs done", epochs_done(done), start.epochs),
        };
        println!(
            "fitting {} documents on {}{from}\n{:>11} {:>16} {:>10} {:>12} {:>10} {:>10}",
            count(start.documents as u64),
            start.device,
            "epoch",
            "loss",
            "per token",
            "documents/s",
            "RAM",
            "left"
        );
    }

    fn epoch_finished(&mut self, report: &EpochReport) {
        let line = |epoch: usize| epoch * LINES / self.epochs;
        let due = !self.shown
            || report.epoch == self.epochs
            || line(report.epoch) > line(report.epoch - 1);
        if !due {
            return;
        }
        self.shown = true;
        let per_epoch = report.elapsed / (report.epoch as f64 - self.done);
        println!(
            "{:>11} {:>16} {:>10.5} {:>12} {:>10} {:>10}",
            format!("{}/{}", report.epoch, self.epochs),
            format!("{:.2}", report.loss),
            report.log_likelihood_per_token,
            count((self.documents as f64 / report.seconds.max(1e-9)) as u64),
            bytes(report.memory),
            seconds(per_epoch * (self.epochs - report.epoch) as f64),
        );
    }

    fn noted(&mut self, line: &str) {
        println!("{line}");
    }
}

/// `57` or `57.3`.
pub(crate) fn epochs_done(done: f64) -> String {
    format!("{done:.1}").trim_end_matches(".0").into()
}
