//! Counts: layouts, file formats, malformed input, resampling and synthetic counts.

#[cfg(feature = "polars")]
mod arrow;
mod cells;
#[cfg(feature = "polars")]
mod dialects;
#[cfg(feature = "polars")]
mod fifty_inputs;
mod file_set;
mod h5ad;
mod layouts;
#[cfg(feature = "polars")]
mod lists;
mod malformed;
mod numpy;
mod obs;
mod others_files;
mod own_loop;
mod packed;
mod pytorch;
mod resample;
mod rows;
mod safetensors;
#[cfg(feature = "polars")]
mod sheets;
mod subsets;
mod synthetic;
mod writes;
