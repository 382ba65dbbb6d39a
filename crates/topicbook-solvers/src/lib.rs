//! The solvers of topicbook on the CPU, their settings and the memory that they need; tables of rows.
//!
//! Users import `topicbook`, which re-exports the items at the root of this crate. The modules are for the crates of this
//! repository alone. The feature `cuda` looks for a GPU; the code that runs there is in `topicbook-gpu`.

#[doc(hidden)]
pub mod cholesky;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod cost;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod row_table;
mod show;
#[doc(hidden)]
pub mod solvers;
#[doc(hidden)]
pub mod step;

pub use config::{
    Cluster, Device, FullPass, GradientStep, MiniBatch, Optimizer, Precision, Settings, Solver,
    TableStorage,
};
pub use row_table::{RowTable, RowTableBuilder};
#[doc(hidden)]
pub use show::settings_card;
#[doc(hidden)]
pub use topicbook_base::{Error, ErrorKind, Result};
#[doc(hidden)]
pub use topicbook_counts::{Counts, Reading};
#[doc(hidden)]
pub use topicbook_data::Matrix;

pub(crate) use topicbook_base::{error, evcxr, system, text};
pub(crate) use topicbook_counts::{self as counts, batches};
pub(crate) use topicbook_data as data;
