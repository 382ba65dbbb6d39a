//! Counts: layouts, file formats, malformed input, resampling and synthetic counts.

mod cells;
mod layouts;
mod malformed;
mod numpy;
mod resample;
mod rows;
mod shards;
mod subsets;
mod synthetic;
mod writes;
