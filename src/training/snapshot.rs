//! The topics of a fit while it runs in the background.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;
use crate::system::{StopButton, lock};

use super::background::Training;

impl Training<Fit> {
    /// The topics as they are now: a [`Fit`] made from a copy of L and F, while the fit goes on. After its end, the result.
    ///
    /// It waits until the tables are consistent: for the end of the epoch, of 64 batches, or of an eighth of a longer epoch.
    /// The notebook's stop button ends the waiting, and not the fit. Takes the memory of L and F once more.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let training = TopicModel::new(3).epochs(1_000_000).spawn(&counts)?;
    /// let early = training.snapshot()?;
    /// assert_eq!(early.l().shape(), (60, 3));
    /// assert!(early.epochs().len() < 1_000_000 && !training.is_finished());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error that ended the fit, as [`join`](Self::join) reports it; when the ranks of a cluster hold L, or the stop
    /// button was pressed.
    #[doc(alias("peek", "intermediate"))]
    pub fn snapshot(&self) -> Result<Fit> {
        let (sender, snapshots) = channel();
        lock(&self.shared.snapshots_wanted).push(sender);
        let button = StopButton::listen();
        loop {
            let running = self.running.upgrade();
            let (Some(running), false) = (running, self.is_finished()) else {
                return self.join();
            };
            if let Ok(snapshot) = snapshots.recv_timeout(Duration::from_millis(20)) {
                let (l, f, history) = snapshot?;
                return running.result(l, f, history);
            }
            if button.as_ref().is_some_and(StopButton::is_pressed) {
                return Err(Error::new(
                    ErrorKind::Interrupted,
                    "stopped while waiting for the end of an epoch; the fit runs on",
                )
                .fix("`training.stop()` ends the fit"));
            }
        }
    }
}
