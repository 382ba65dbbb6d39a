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
mod position;
mod progress;
mod run;
mod smoothing;
mod state;
mod stop;

pub use background::Training;
#[cfg(feature = "notebook")]
pub(crate) use background::Watch;
pub(crate) use checkpoint::ExistingFile;
pub(crate) use checkpoint_files::{CheckpointFiles, previous};
pub(crate) use cluster::RANK_PROCESS;
pub(crate) use cluster_documents::{OnRanks, documents_by_ranks};
pub(crate) use init::ResumeState;
pub(crate) use progress::epochs_done;
pub(crate) use run::Run;
#[cfg(any(test, feature = "bench-hooks"))]
pub(crate) use {epochs::Loop, minibatch::Steps, run::catch_device_errors};
