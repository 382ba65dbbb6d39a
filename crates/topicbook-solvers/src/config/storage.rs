//! Where the large tables of a fit are stored.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::or_ref;
use crate::error::Result;
use crate::system::{Plain, Values, lazy_zeroed, mapped_zeros};
use crate::text::shown_path;

/// Where L's logits and their optimizer state are stored during a fit, and L itself afterwards.
///
/// In a file, a document's logits and their optimizer state are adjacent: a step reads and writes one or two pages for each
/// document of its batch, and the system keeps in memory what fits. Row-wise optimizers ([`Optimizer`](crate::Optimizer))
/// suit this; dense AdamW passes over the whole file eight times an epoch. The files need 8 + b (1 + s) bytes x k x documents
/// during a fit, where s is the optimizer's state values of an entry and b is 4, or 2 with
/// `MiniBatch::table_precision`: 20 bytes for AdamW, or 14. They are unlinked when they
/// are created, so that they vanish with the process, also when it crashes.
///
/// With row-wise AdamW and 2 GiB of memory, L of 2,829,853 x 400 in `f32` (9.1 GB with its state) takes 75 steps of 283
/// documents a second, and L of 14,886,544 x 188 (22.4 GB) 18 of 1,489 (`benches/records/tables.md`, on a disk that writes
/// 0.37 GB/s). A checkpoint of such a fit is not read into memory either.
///
/// ```
/// use topicbook::{Optimizer, Solver, TableStorage, TopicModel};
/// # let (counts, _) = topicbook::example_fit()?;
/// let in_file = Solver::mini_batch()
///     .optimizer(Optimizer::RowwiseAdamW)
///     .table_storage(TableStorage::File(std::env::temp_dir()));
/// let fit = TopicModel::new(3).solver(in_file).epochs(2).quiet().fit(&counts)?;
/// assert_eq!(fit.l().shape(), (60, 3));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[doc(alias("offload", "memmap"))]
pub enum TableStorage {
    /// In memory: VRAM where the fit runs on a GPU and the budget allows it, else RAM; the default.
    #[default]
    Memory,
    /// In memory-mapped files in this folder, with the bytes above free. With a GPU, L is offloaded to them.
    File(PathBuf),
}

or_ref!(TableStorage);

impl TableStorage {
    /// A table of `length` zeros.
    #[doc(hidden)]
    pub fn zeros<T: Plain>(&self, length: usize) -> Result<Values<T>> {
        match self {
            Self::Memory => Ok(lazy_zeroed(length)),
            Self::File(folder) => mapped_zeros(folder, length),
        }
    }
}

impl fmt::Display for TableStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::File(folder) => write!(f, "memory-mapped files in {}", shown_path(folder)),
        }
    }
}
