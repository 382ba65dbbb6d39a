//! A fit on a thread of its own, and the handle that a notebook keeps of it.

use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::history::{Epoch, loss_chart};
use super::observer::{EpochReport, Moment, Observer, Start};
use super::progress::epochs_done;
use crate::charts::Chart;
use crate::display::{Card, count, seconds};
use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;

/// A fit that runs in the background: shows how far it is, stops early, and gives its result.
///
/// Show it in a cell whenever you like. Dropped without [`join`](Self::join), it ends its fit: what nobody can reach
/// any more should not keep the machine busy.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?;
/// let training = TopicModel::new(3).epochs(5).seed(1).spawn(corpus.counts())?;
/// training.evcxr_display();
/// let fit = training.join()?;
/// assert_eq!(fit.l().shape(), (60, 3));
/// # Ok::<(), topicbook::Error>(())
/// ```
pub struct Training {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<Fit>>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    status: Mutex<Status>,
}

impl Shared {
    /// A panic of the fit leaves the numbers readable.
    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default, Clone)]
struct Status {
    start: Option<(Start, Instant)>,
    /// Epochs done, with the part of the one at hand.
    done: f64,
    history: Vec<Epoch>,
    notes: Vec<String>,
    /// How it ended.
    outcome: Option<String>,
}

/// Writes into the status what happens to the fit.
pub(crate) struct Watch(Arc<Shared>);

impl Observer for Watch {
    fn started(&mut self, start: &Start) {
        let mut status = self.0.status();
        status.done = start.done;
        status.start = Some((start.clone(), Instant::now()));
    }

    fn epoch_finished(&mut self, report: &EpochReport) {
        self.0.status().history.push(report.into());
    }

    fn batch_finished(&mut self, at: &mut Moment) -> ControlFlow<()> {
        self.0.status().done = at.done;
        match self.0.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn noted(&mut self, line: &str) {
        self.0.status().notes.push(line.into());
    }
}

impl Training {
    /// Runs `fit` on its own thread; `history` is what an interrupted fit has behind it.
    pub(crate) fn start(
        history: Vec<Epoch>,
        fit: impl FnOnce(&mut Watch) -> Result<Fit> + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        shared.status().history = history;
        let mut watch = Watch(shared.clone());
        let work = move || {
            let result = catch_unwind(AssertUnwindSafe(|| fit(&mut watch)))
                .unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
            watch.0.status().outcome = Some(match &result {
                Ok(_) if watch.0.stop.load(Ordering::Relaxed) => "stopped".into(),
                Ok(_) => "finished".into(),
                Err(error) => format!("failed: {}", error.headline()),
            });
            result
        };
        let thread = thread::Builder::new()
            .name("topicbook fit".into())
            .spawn(work)
            .map_err(|error| {
                Error::new(
                    ErrorKind::Space,
                    format!("no thread could be started: {error}"),
                )
                .fix("end some other programs, or use fit instead of spawn")
                .because(error)
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Ends the fit soon: at the end of the epoch, after 64 batches, or after an eighth of a longer epoch. What it has
    /// learned is kept and comes from [`join`](Self::join). Returns at once.
    ///
    /// The history of the result has the whole epochs. A fit with checkpoints writes one last, so that
    /// [`TopicModel::resume`](crate::TopicModel::resume) can go on from there.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the fit has ended, so that [`join`](Self::join) would not wait.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Epochs finished so far.
    pub fn epochs_done(&self) -> usize {
        self.shared.status().history.len()
    }

    /// Waits for the end of the fit and gives its result.
    ///
    /// # Errors
    /// Whatever ended the fit, as [`TopicModel::fit`](crate::TopicModel::fit) reports it; a panic too, with kind
    /// [`ErrorKind::Panic`].
    pub fn join(mut self) -> Result<Fit> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => Err(panicked(panic.as_ref())),
            None => Err(Error::new(ErrorKind::Panic, "the fit has no thread")),
        }
    }

    /// The loss and the log-likelihood per token over the epochs so far.
    pub fn plot_loss(&self) -> Chart {
        loss_chart(&self.shared.status().history)
    }

    /// Shows how far the fit is, below a cell.
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn card(&self) -> Card {
        let status = self.shared.status().clone();
        let ended = status.outcome.is_some();
        let state = match &status.outcome {
            Some(outcome) => outcome.clone(),
            None if self.shared.stop.load(Ordering::Relaxed) => "stopping".into(),
            None => "running".into(),
        };
        let mut card = Card::new("Fit in the background").row("state", state);
        if let Some((start, began)) = &status.start {
            card = card
                .row("documents", count(start.documents as u64))
                .row("device", start.device.clone())
                .row(
                    "epochs",
                    format!("{} of {}", epochs_done(status.done), start.epochs),
                );
            let (done, left) = (status.done - start.done, start.epochs as f64 - status.done);
            if !ended && done > 0.0 {
                let elapsed = began.elapsed().as_secs_f64();
                card = card.row("time left", seconds(elapsed / done * left));
            }
        }
        if let Some(last) = status.history.last() {
            card = card.row("loss", format!("{:.2} a batch", last.loss)).row(
                "log-likelihood",
                format!("{:.5} nats a token", last.log_likelihood_per_token),
            );
        }
        for note in &status.notes {
            card = card.note(note);
        }
        match status.history.len() {
            ..2 => card,
            _ => card.picture(loss_chart(&status.history)),
        }
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Training {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.card().text().trim_end())
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    Error::new(
        ErrorKind::Panic,
        format!("the fit in the background panicked: {}", panic_text(panic)),
    )
    .fix("this is a mistake in topicbook; a fit with checkpoints can be resumed from the last one")
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()))
        .unwrap_or_else(|| "no reason given".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let training = Training::start(Vec::new(), |_| panic!("topic {} is missing", 3)).unwrap();
        while !training.is_finished() {
            thread::yield_now();
        }
        assert!(training.card().text().contains("failed: "));
        let error = training.join().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert!(error.to_string().contains("topic 3 is missing"), "{error}");
    }
}
