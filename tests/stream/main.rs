//! Fits to counts that are streamed from a file.

mod faults;
mod stream;
