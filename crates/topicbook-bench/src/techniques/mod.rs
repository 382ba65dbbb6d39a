//! What memory techniques of training save on a GPU: the fits, one run of each, and the table of them.

pub mod gpu_runs;
pub mod list;
pub mod measure;
pub mod table;
