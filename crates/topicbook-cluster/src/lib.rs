//! The job of a fit on a cluster. The notebook's process and the ranks communicate by files in a folder.
//!
//! The notebook's process writes the job, the documents' lengths, and the initial L and F, and starts the ranks by a launcher.
//! It then reads a line per pass, signs of life, and the final L and F. If it dies, another process may follow the run. The
//! ranks (`worker/`) are processes of `topicbook-worker`.
//!
//! For the crates of this repository alone.

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
pub mod worker;

#[doc(hidden)]
pub use job::{Files, Job, Task};
#[doc(hidden)]
pub use launch::{Launched, Launcher};
#[doc(hidden)]
pub use record::{Event, PassLine};
#[doc(hidden)]
pub use refusals::{check_file, check_shards};
#[doc(hidden)]
pub use run_folder::RunFolder;
#[doc(hidden)]
pub use started::Started;
#[doc(hidden)]
pub use state::State;
#[doc(hidden)]
pub use watch::{Watchdog, failure, never_began};

pub(crate) use topicbook_base::{error, system, text};
pub(crate) use topicbook_counts::{self as counts, batches};
pub(crate) use topicbook_data as data;
pub(crate) use topicbook_solvers::{config, solvers, step};
