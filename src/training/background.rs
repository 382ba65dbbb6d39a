//! A fit on a background thread, and its handle.

use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[cfg(feature = "charts")]
use crate::charts::Chart;
use crate::cluster::RunFolder;
use crate::data::{Epoch, Matrix};
use crate::error::{Error, ErrorKind, Result, panic_text};
use crate::fit::Fit;
#[cfg(feature = "charts")]
use crate::fit::loss_chart;
use crate::system::{StopButton, give_way, lock};
use crate::text::{Card, count, seconds};

use super::observer::{FitStart, Observer, StepContext};
use super::progress::{epochs_done, loss};
use super::run::Run;

/// Handle to a fit that runs on a background thread: shows its progress, stops it early, and returns its result. Made
/// by [`TopicModel::spawn`](crate::TopicModel::spawn), or by `Trainer::spawn` for a module of one's own.
///
/// It can be shown in a cell at any time. Dropping it without [`join`](Self::join) stops the fit, because its result could no
/// longer be reached. A run of [`TopicModel::attach`](crate::TopicModel::attach) is left as it is, to be found again.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?;
/// let training = TopicModel::new(3).epochs(5).seed(1).spawn(corpus.counts())?;
/// assert!(training.to_string().contains("state"));
/// let fit = training.join()?;
/// assert_eq!(fit.l().shape(), (60, 3));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[must_use = "dropping the handle stops the fit: call `join` for its result"]
#[doc(alias = "JoinHandle")]
pub struct Training<T = Fit> {
    pub(super) shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<Result<T>>>>,
    /// What the thread returned, once it has been joined.
    result: OnceLock<Result<T>>,
    /// The run of a cluster that was found; this handle does not end it.
    run: Option<Arc<RunFolder>>,
    /// What the thread runs, for [`snapshot`](Self::snapshot); nothing once it has ended, or for a module of one's own.
    pub(super) running: Weak<Run>,
}

/// L, F and the finished epochs of a fit that runs.
pub(super) type Snapshot = (Matrix, Matrix, Vec<Epoch>);

#[derive(Default)]
pub(super) struct Shared {
    stop: AtomicBool,
    /// Whether someone watches the fit and waits for new shares of the topics.
    shares_wanted: AtomicBool,
    /// Where snapshots are waited for.
    pub(super) snapshots_wanted: Mutex<Vec<Sender<Result<Snapshot>>>>,
    status: Mutex<Status>,
}

impl Shared {
    /// Stays readable after the fit has panicked.
    fn status(&self) -> MutexGuard<'_, Status> {
        lock(&self.status)
    }
}

#[derive(Default, Clone)]
pub(crate) struct Status {
    pub(crate) start: Option<(FitStart, Instant)>,
    /// Epochs done, including the finished part of the current one.
    pub(crate) done: f64,
    pub(crate) history: Vec<Epoch>,
    pub(crate) notes: Vec<String>,
    /// The mean of each column of L when it was last requested.
    pub(crate) shares: Vec<f64>,
    /// How the fit ended: "finished", "stopped" or "failed" with the error; `None` while it runs.
    pub(crate) outcome: Option<String>,
}

/// An observer that updates the status and requests the stop.
pub(crate) struct StatusObserver {
    shared: Arc<Shared>,
}

/// Largest L of which the shares are computed while the fit runs: a copy of the tables is made for it.
const WATCHED_VALUES: usize = 4 << 20;

impl StatusObserver {
    fn shares(&self, context: &mut StepContext) -> Option<Vec<f64>> {
        let values = self
            .shared
            .status()
            .start
            .as_ref()
            .map(|(start, _)| start.l_values);
        if values? > WATCHED_VALUES {
            return None;
        }
        let (l, _) = context.learner.topics().ok()??;
        let mut sums = vec![0.0; l.columns()];
        for row in 0..l.rows() {
            for (sum, proportion) in sums.iter_mut().zip(l.row(row)) {
                *sum += f64::from(*proportion);
            }
        }
        let documents = l.rows() as f64;
        Some(sums.into_iter().map(|sum| sum / documents).collect())
    }
}

impl Observer for StatusObserver {
    fn started(&mut self, start: &FitStart) {
        let mut status = self.shared.status();
        status.done = start.done;
        status.start = Some((start.clone(), Instant::now()));
    }

    fn epoch_finished(&mut self, epoch: &Epoch) {
        self.shared.status().history.push(*epoch);
    }

    fn batch_finished(&mut self, context: &mut StepContext) -> ControlFlow<()> {
        self.shared.status().done = context.done;
        if self.shared.shares_wanted.swap(false, Ordering::Relaxed)
            && let Some(shares) = self.shares(context)
        {
            self.shared.status().shares = shares;
        }
        for waiting in lock(&self.shared.snapshots_wanted).drain(..) {
            if let Some(topics) = context.learner.topics().transpose() {
                // Whoever waited may have stopped.
                let _unwanted = waiting.send(topics.map(|(l, f)| (l, f, context.history.to_vec())));
            }
        }
        match self.shared.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn noted(&mut self, line: &str) {
        self.shared.status().notes.push(line.into());
    }
}

// Bounds stand at the methods: rust-analyzer, which sees no derived traits, then still finds the methods in a notebook.
impl<T> Training<T> {
    /// Runs `fit` on a new thread. `history`: the epochs of an interrupted fit that is resumed.
    pub(crate) fn start(
        history: Vec<Epoch>,
        fit: impl FnOnce(&mut StatusObserver) -> Result<T> + Send + 'static,
    ) -> Result<Self>
    where
        T: Send + 'static,
    {
        let shared = Arc::new(Shared::default());
        shared.status().history = history;
        let mut observer = StatusObserver {
            shared: shared.clone(),
        };
        let work = move || {
            give_way();
            let result = catch_unwind(AssertUnwindSafe(|| fit(&mut observer)))
                .unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
            observer.shared.status().outcome = Some(match &result {
                Ok(_) if observer.shared.stop.load(Ordering::Relaxed) => "stopped".into(),
                Ok(_) => "finished".into(),
                Err(error) => format!("failed: {}", error.headline()),
            });
            result
        };
        let thread = thread::Builder::new()
            .name("topicbook fit".into())
            .spawn(work)
            .map_err(|error| {
                Error::space(format!("cannot start a thread: {error}"))
                    .fix("end other programs, or use fit instead of spawn")
                    .because(error)
            })?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
            result: OnceLock::new(),
            run: None,
            running: Weak::new(),
        })
    }

    /// The handle of a fit that can be seen while it runs.
    pub(super) fn of(mut self, running: Weak<Run>) -> Self {
        self.running = running;
        self
    }

    /// The handle of a run that was found.
    pub(crate) fn of_run(mut self, run: Arc<RunFolder>) -> Self {
        self.run = Some(run);
        self
    }

    /// What a view of the fit needs, also after this handle was used up by [`join`](Self::join).
    pub(crate) fn watch(&self) -> Watch {
        Watch(self.shared.clone())
    }

    /// Asks the fit to stop and returns at once. The fit ends at the end of the epoch, after 64 batches, or after an
    /// eighth of a longer epoch; [`join`](Self::join) returns what it has learned.
    ///
    /// The history of the result contains the finished epochs. A fit with checkpoints writes a last one, from which
    /// [`Checkpoint::open`](crate::Checkpoint::open) can continue.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let training = TopicModel::new(3).epochs(1_000_000).spawn(&counts)?;
    /// training.stop();
    /// assert!(training.join()?.epochs().len() < 1_000_000);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("cancel", "early_stopping"))]
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the fit has ended, so that [`join`](Self::join) returns at once.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let training = TopicModel::new(3).epochs(5).spawn(&counts)?;
    /// while !training.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(training.epochs_done(), 5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn is_finished(&self) -> bool {
        match self.thread().as_ref() {
            Some(thread) => thread.is_finished(),
            None => self.result.get().is_some(),
        }
    }

    /// Number of finished epochs.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let training = TopicModel::new(3).epochs(5).spawn(&counts)?;
    /// assert!(training.epochs_done() <= 5);
    /// assert_eq!(training.join()?.epochs().len(), 5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn epochs_done(&self) -> usize {
        self.shared.status().history.len()
    }

    /// Waits until the fit ends and returns its result; a second call returns it again. The handle keeps the result as
    /// long as it lives. The notebook's stop button ends the fit early meanwhile.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let training = TopicModel::new(3).epochs(5).spawn(&counts)?;
    /// assert_eq!(training.join()?.l().shape(), (60, 3));
    /// assert_eq!(training.join()?.l(), training.join()?.l());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error that ended the fit, as [`TopicModel::fit`](crate::TopicModel::fit) reports it. A panic is an error of
    /// kind [`ErrorKind::Panic`].
    pub fn join(&self) -> Result<T>
    where
        T: Clone,
    {
        let result = self.result.get_or_init(|| {
            self.wait();
            let thread = self.thread().take();
            match thread.map(JoinHandle::join) {
                Some(Ok(result)) => result,
                Some(Err(panic)) => Err(panicked(panic.as_ref())),
                None => Err(Error::new(ErrorKind::Panic, "the fit has no thread")),
            }
        });
        if let (Ok(_), Some(run)) = (result, &self.run) {
            run.remove();
        }
        result.clone()
    }

    /// Waits for the end of the fit, and stops it if the notebook's stop button is pressed meanwhile.
    fn wait(&self) {
        let Some(button) = StopButton::listen() else {
            return;
        };
        while !self.is_finished() {
            if button.is_pressed() {
                self.stop();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<Result<T>>>> {
        lock(&self.thread)
    }

    /// Plots the loss and the log-likelihood per token of the epochs so far.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let training = TopicModel::new(3).epochs(5).spawn(&counts)?;
    /// while training.epochs_done() == 0 {
    ///     std::thread::yield_now();
    /// }
    /// assert!(training.plot_loss().to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// Before the first epoch has ended there is nothing to draw: [`Chart::to_png`] then returns an error.
    #[cfg(feature = "charts")]
    pub fn plot_loss(&self) -> Chart {
        loss_chart(&self.shared.status().history)
    }
}

/// A view of a fit in the background.
#[derive(Clone)]
pub(crate) struct Watch(Arc<Shared>);

impl Watch {
    /// A copy of the current status.
    pub(crate) fn status(&self) -> Status {
        self.0.status().clone()
    }

    /// Whether the fit has ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.0.status().outcome.is_some()
    }

    /// Asks the fit for new shares of the topics, which the status holds some time later.
    pub(crate) fn want_shares(&self) {
        self.0.shares_wanted.store(true, Ordering::Relaxed);
    }

    /// State and progress as a notebook card.
    pub(crate) fn card(&self) -> Card {
        let status = self.status();
        let ended = status.outcome.is_some();
        let state = match &status.outcome {
            Some(outcome) => outcome.clone(),
            None if self.0.stop.load(Ordering::Relaxed) => "stopping".into(),
            None => "running".into(),
        };
        let mut card = Card::new("Fit in the background").row("state", state);
        if let Some((start, began)) = &status.start {
            card = card
                .row("documents", count(start.documents as u64))
                .row("device", start.device.clone())
                .row(
                    "epochs",
                    format!(
                        "{} of {}",
                        epochs_done(status.done),
                        count(start.epochs as u64)
                    ),
                );
            let (done, left) = (status.done - start.done, start.epochs as f64 - status.done);
            if !ended && done > 0.0 {
                let elapsed = began.elapsed().as_secs_f64();
                card = card.row("time left", seconds(elapsed / done * left));
            }
        }
        if let Some(last) = status.history.last() {
            card = card.row("loss", format!("{} per batch", loss(last.loss)));
            if last.log_likelihood_per_token.is_finite() {
                let nats = format!("{:.5} nats per token", last.log_likelihood_per_token);
                card = card.row("log-likelihood", nats);
            }
            if let Some(validation) = last.validation_loss {
                card = card.row("validation", loss(validation));
            }
        }
        for note in &status.notes {
            card = card.note(note);
        }
        card
    }
}

impl<T> Drop for Training<T> {
    fn drop(&mut self) {
        match &self.run {
            Some(run) if !self.shared.stop.load(Ordering::Relaxed) => run.leave(),
            _ => self.stop(),
        }
    }
}

/// Writes the state, epochs, time left and loss.
impl<T> fmt::Display for Training<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.watch().card().text().trim_end())
    }
}

impl<T> fmt::Debug for Training<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.shared.status();
        f.debug_struct("Training")
            .field("epochs_done", &status.done)
            .field("outcome", &status.outcome)
            .finish_non_exhaustive()
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    Error::new(
        ErrorKind::Panic,
        format!("the fit in the background panicked: {}", panic_text(panic)),
    )
    .fix("this is a bug in topicbook; a fit with checkpoints can be resumed from the last one")
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;

    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        // Unlike `panic!`, this prints no message into the tests' output.
        let panics = || resume_unwind(Box::new("topic 3 is missing"));
        let training: Training = Training::start(Vec::new(), move |_| panics()).unwrap();
        while !training.is_finished() {
            thread::yield_now();
        }
        let outcome = training.shared.status().outcome.clone();
        assert!(outcome.is_some_and(|outcome| outcome.contains("failed: ")));
        testkit::refused! { training.join() => Panic, "topic 3 is missing"; }
    }
}
