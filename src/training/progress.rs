//! Progress lines of a fit.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::config::Resolved;
use crate::data::Epoch;
use crate::system::memory::Handle;
use crate::system::{Board, Lines, Throughput, print_lines};
use crate::text::{bytes, count, fixed};

use super::observer::{FitStart, Observer, Stages, StepContext};

/// An observer that prints aligned lines to stdout: one for each epoch or group of epochs, and within long epochs.
pub(crate) struct FitProgress {
    task: Option<Task>,
    /// The fit's memory, where a GPU is used.
    vram: Option<Handle>,
}

impl FitProgress {
    /// `memory`: the fit's memory monitor, whose VRAM an observer before this one records.
    pub(crate) fn new(memory: Handle, device: Resolved) -> Self {
        Self {
            task: None,
            vram: (device != Resolved::Cpu).then_some(memory),
        }
    }
}

struct Task {
    lines: Lines,
    board: Board,
    began: Instant,
    /// Loss of the last epoch, and what belongs to it: the log-likelihood per token, or what a validation measured.
    last: Vec<String>,
    /// What the solver tries, or how fast ranks are.
    stage: Option<String>,
    vram: Option<Handle>,
}

impl Task {
    /// The cells of the columns between the work done and the throughput.
    fn cells(&self) -> Vec<String> {
        let vram = self.vram.as_ref();
        let vram = vram.map(|memory| bytes(memory.vram_reserved()));
        let cells = self.last.iter().chain(&self.stage).chain(&vram);
        cells.cloned().collect()
    }

    fn report(&mut self, done: f64) {
        let elapsed = self.began.elapsed().as_secs_f64();
        let cells = self.cells();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        match self.lines.line(done, &cells, elapsed) {
            Some(line) => self.board.print(&line),
            None => self.board.state(|| self.lines.state(done, &cells, elapsed)),
        }
    }
}

impl Observer for FitProgress {
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
        let mut columns = match start.stages {
            Stages::None => vec![("loss", 10), ("per token", 9)],
            Stages::Search => vec![("best loss", 10), ("per token", 9), ("tries next", 15)],
            Stages::Ranks => vec![("loss", 10), ("per token", 9), ("ranks' docs/s", 20)],
            Stages::Module => vec![("loss", 10)],
            Stages::Validation => vec![("loss", 10), ("validation", 10)],
        };
        let columns_of_losses = columns.len().min(2);
        columns.extend(self.vram.is_some().then_some(("VRAM", 9)));
        let mut lines = Lines::new(
            title,
            ("epoch", start.epochs as f64),
            Throughput::Documents(start.documents as f64),
        )
        .columns(&columns)
        .starting_at(start.done);
        let mut board = Board::new();
        if let Some(head) = lines.head() {
            board.print(&head);
        }
        self.task = Some(Task {
            lines,
            board,
            began: Instant::now(),
            last: vec![String::new(); columns_of_losses],
            stage: matches!(start.stages, Stages::Search | Stages::Ranks).then(String::new),
            vram: self.vram.clone(),
        });
    }

    fn stage(&mut self, stage: &str) {
        if let Some(known) = self.task.as_mut().and_then(|task| task.stage.as_mut()) {
            *known = stage.into();
        }
    }

    fn epoch_finished(&mut self, report: &Epoch) {
        if let Some(task) = &mut self.task {
            task.last = vec![loss(report.loss)];
            match report.log_likelihood_per_token {
                none if none.is_nan() => task.last.extend(report.validation_loss.map(loss)),
                nats => task.last.push(format!("{nats:.5}")),
            }
            task.report(report.epoch as f64);
        }
    }

    fn batch_finished(&mut self, context: &mut StepContext) -> ControlFlow<()> {
        // `epoch_finished` has reported the end of the epoch.
        if let Some(task) = &mut self.task
            && context.done.fract() > 0.0
        {
            task.report(context.done);
        }
        ControlFlow::Continue(())
    }

    fn noted(&mut self, line: &str) {
        match &mut self.task {
            Some(task) => task.board.print(line),
            None => print_lines(line),
        }
    }
}

/// A loss with separators, and with decimal places where it is small.
pub(crate) fn loss(value: f64) -> String {
    let decimals = match value.abs() {
        large if large >= 10_000.0 => 0,
        small if small < 10.0 => 4,
        _ => 2,
    };
    fixed(value, decimals)
}

/// Formats a number of epochs as `57`, `57.3` or `20,000`.
pub(crate) fn epochs_done(done: f64) -> String {
    fixed(done, 1).trim_end_matches(".0").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::memory::Monitor;

    #[test]
    fn lines_have_the_vram_of_a_gpu() {
        let monitor = Monitor::start();
        monitor.handle().set_vram(1 << 20, 3 << 20);
        for (device, last) in [(Resolved::Cpu, ""), (Resolved::Cuda(0), "3 MiB")] {
            let mut progress = FitProgress::new(monitor.handle(), device);
            progress.started(&FitStart {
                epochs: 2,
                documents: 10,
                l_values: 20,
                device: device.to_string(),
                done: 0.0,
                stages: Stages::None,
            });
            let cells = progress.task.unwrap().cells();
            assert_eq!(cells.last().map(String::as_str), Some(last));
        }
    }
}
