//! Counts: layouts, file formats, malformed input, resampling and synthetic counts.

mod cells;
mod h5ad;
mod layouts;
#[cfg(feature = "polars")]
mod lists;
mod malformed;
mod numpy;
mod obs;
mod others_files;
mod pytorch;
mod resample;
mod rows;
mod safetensors;
mod shards;
mod subsets;
mod synthetic;
mod writes;
