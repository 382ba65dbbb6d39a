//! Topic models for count matrices that do not fit, in evcxr notebooks.
//!
//! The modules follow the data: [`Counts`] (opened, or drawn by [`Synthetic`]) are fitted by a [`TopicModel`] into a
//! [`Fit`], which gives [`Matrix`], [`Table`] and [`Chart`] values that show themselves below a notebook's cell.
//!
//! ```
//! use topicbook::prelude::*;
//!
//! let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(42).generate()?;
//! let fit = TopicModel::new(3).epochs(5).seed(42).quiet().fit(corpus.counts())?;
//! let fit = fit.align_to(corpus.true_f())?;
//! println!("{} nats a token", fit.log_likelihood_per_token());
//! # Ok::<(), Error>(())
//! ```

mod beside;
mod budget;
mod charts;
mod counts;
mod cuda;
mod device;
mod display;
mod doctor;
mod error;
mod exact;
mod fit;
mod loader;
mod matrix;
mod memory;
mod model;
mod place;
mod plan;
mod progress;
mod random;
mod simd;
mod solver;
mod synthetic;
mod table;
mod tensor_file;
mod terms;

pub use budget::Budget;
pub use charts::{Chart, palette, side_by_side, sort_documents, stack};
pub use counts::{CountValue, Counts, Dtype, Layout, Location, Resample, Summary};
pub use device::Device;
pub use doctor::{Doctor, doctor};
pub use error::{Error, ErrorKind, Result};
pub use fit::Fit;
pub use loader::Reading;
pub use matrix::Matrix;
pub use memory::{MemoryScope, memory_scope};
#[doc(hidden)]
pub use model::replay;
pub use model::{Checkpoint, Optimizer, Precision, Settings, TopicModel, Training};
pub use place::TablePlace;
pub use plan::Plan;
/// The Polars that [`Table`] is made of, so that nobody has to match its version.
pub use polars;
pub use progress::show_progress;
pub use solver::Solver;
pub use synthetic::{Corpus, Synthetic};
pub use table::Table;
pub use terms::Terms;

/// What a notebook's first cell brings in.
pub mod prelude {
    pub use crate::{
        Budget, Chart, Checkpoint, Corpus, Counts, Device, Dtype, Error, Fit, Matrix, MemoryScope,
        Optimizer, Plan, Precision, Reading, Result, Settings, Solver, Synthetic, Table,
        TablePlace, Terms, TopicModel, Training, memory_scope, show_progress, side_by_side, stack,
    };
}
