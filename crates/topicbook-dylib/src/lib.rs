//! The library as one shared library: what `cargo xtask setup` builds for cells.

pub use topicbook::*;
