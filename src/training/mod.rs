//! One run of a fit: the starting state, the training loop with its observers, checkpoints, and the result.

mod background;
mod callback;
mod checkpoint;
pub(crate) mod checkpoint_contents;
mod checkpoint_files;
mod cluster;
mod cluster_documents;
mod divergence;
mod epochs;
mod full_pass;
mod init;
mod memory_watch;
mod minibatch;
mod observer;
mod observers;
mod position;
mod progress;
mod run;
mod smoothing;
mod snapshot;
mod state;
mod stop;
mod target;

pub use background::Training;
#[cfg(feature = "notebook")]
pub(crate) use background::Watch;
pub(crate) use checkpoint::ExistingFile;
#[cfg(feature = "cuda")]
pub(crate) use checkpoint::{CheckpointWriter, Contents};
pub(crate) use checkpoint_files::{CheckpointFiles, read_either};
pub(crate) use cluster::RANK_PROCESS;
pub(crate) use cluster_documents::{OnRanks, documents_by_ranks};
#[cfg(any(test, feature = "bench-hooks", feature = "cuda"))]
pub(crate) use epochs::Loop;
pub(crate) use init::ResumeState;
pub(crate) use progress::epochs_done;
pub(crate) use run::Run;
#[cfg(feature = "cuda")]
pub(crate) use {
    epochs::Learner,
    memory_watch::watch_steps,
    observer::{Observer, Stages},
    observers::Observers,
    position::Position,
    state::{ModuleState, RunningState},
};
#[cfg(any(test, feature = "bench-hooks"))]
pub(crate) use {minibatch::Steps, run::catch_device_errors, target::Target};
