//! The observers of a run, in the order in which the loop calls them.

use crate::config::{OnEpoch, Resolved};
use crate::cost::Limit;
use crate::system::memory::Handle;

use super::callback::Callback;
use super::checkpoint::CheckpointWriter;
use super::memory_watch::MemoryObserver;
use super::observer::Observer;
use super::progress::FitProgress;
use super::stop::StopObserver;

/// The built-in observers of a run.
pub(crate) struct Observers<'a> {
    memory: MemoryObserver,
    progress: Option<FitProgress>,
    writer: Option<CheckpointWriter<'a>>,
    callback: Option<Callback>,
    stop: Option<StopObserver>,
}

impl<'a> Observers<'a> {
    /// `waits`: whether the cell waits for the run, which then listens to the notebook's stop button.
    pub(crate) fn new(
        memory: Handle,
        (ram, device): (Limit, Resolved),
        (quiet, on_epoch): (bool, Option<OnEpoch>),
        writer: Option<CheckpointWriter<'a>>,
        waits: bool,
    ) -> Self {
        Self {
            memory: MemoryObserver::new(memory.clone(), ram, device),
            progress: (!quiet).then(|| FitProgress::new(memory, device)),
            writer,
            callback: on_epoch.map(Callback::new),
            stop: waits.then(StopObserver::listen).flatten(),
        }
    }

    /// All of them, and `last` after them.
    pub(crate) fn all<'o>(
        &'o mut self,
        last: Option<&'o mut (dyn Observer + '_)>,
    ) -> Vec<&'o mut dyn Observer> {
        let mut all: Vec<&mut dyn Observer> = vec![&mut self.memory];
        all.extend(self.progress.as_mut().map(as_observer));
        all.extend(self.writer.as_mut().map(as_observer));
        all.extend(self.callback.as_mut().map(as_observer));
        all.extend(self.stop.as_mut().map(as_observer));
        if let Some(last) = last {
            all.push(last);
        }
        all
    }

    /// Ends them. Returns why the first checkpoint that failed could not be written.
    pub(crate) fn end(self) -> Option<String> {
        self.writer.and_then(CheckpointWriter::into_failure)
    }
}

/// An observer as the loop takes it.
pub(super) fn as_observer<O: Observer>(observer: &mut O) -> &mut dyn Observer {
    observer
}
