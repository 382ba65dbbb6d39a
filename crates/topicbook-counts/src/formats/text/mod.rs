//! Counts in text files of one line per nonzero count: MatrixMarket (`.mtx`) and UCI's bags of words (`docword.*.txt`), also
//! gzipped.

mod docword;
mod entries;
mod lines;
mod mtx;
mod names;
mod write;

pub use docword::open as open_docword;
pub use mtx::{
    Orientation, open as open_mtx, open_documents_by_terms, orientation, shape as mtx_shape,
};
pub use names::{CELLS, GENES, column, companion, matrices};
pub use write::write_mtx;
