//! Fits to counts that are streamed from a file.

#[cfg(target_os = "linux")]
mod cut;
#[cfg(all(target_os = "linux", feature = "polars"))]
mod cut_table;
mod faults;
mod stream;
