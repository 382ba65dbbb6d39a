//! Counts in HDF5: `.h5ad` of anndata and `.h5` of 10x Genomics' Cell Ranger.

mod anndata;
mod file;
mod matrix;
mod numbers;
mod obs;
mod tenx;
mod write;

use std::path::Path;

use crate::Counts;
use crate::error::Result;

pub use anndata::{Place, h5ad_counts, h5ad_names, layers};
pub use file::Hdf;
pub use numbers::NumberArray;
pub use obs::{h5ad_documents, h5ad_feature_types};
pub use tenx::{other_features, tenx_barcodes, tenx_counts, tenx_feature_types, tenx_features};
pub use write::write_h5ad;

/// Opens the matrix `X` of a `.h5ad` file.
pub fn open_h5ad(path: &Path) -> Result<Counts> {
    h5ad_counts(&Hdf::open(path)?, &Place::X)
}

/// Opens the matrix of a `.h5` file of 10x.
pub fn open_tenx(path: &Path) -> Result<Counts> {
    tenx_counts(&Hdf::open(path)?)
}
