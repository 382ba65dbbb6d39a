//! The job of a fit on a cluster: what the notebook's process and the ranks tell each other, by files in a folder.
//!
//! The notebook's process writes the job, the documents' lengths, and L and F of the start; it starts the ranks by a launcher, and
//! reads a line a pass, signs of life, and the final L and F. Another process may follow the run after that one has died. The ranks
//! (`worker/`) are processes of `topicbook-worker`.

mod job;
mod launch;
mod lost_hosts;
mod process;
mod record;
mod refusals;
mod run_folder;
mod started;
mod state;
mod watch;
#[cfg(any(test, feature = "cluster-worker"))]
pub mod worker;

pub(crate) use job::{Files, Job, Task};
pub(crate) use launch::{Launched, Launcher};
pub(crate) use record::{Event, PassLine};
pub(crate) use refusals::{check_file, check_shards};
pub(crate) use run_folder::RunFolder;
pub(crate) use started::Started;
pub(crate) use state::State;
pub(crate) use watch::{Watchdog, failure, never_began};
