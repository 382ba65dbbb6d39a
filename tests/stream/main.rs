//! Fits to counts that are streamed from a file.

#[cfg(target_os = "linux")]
mod cut;
mod faults;
mod stream;
