//! What all crates of topicbook use: the error type, the texts of cards, and access to the operating system.
//!
//! Users import `topicbook`, which shows the items at the root of this crate. The modules are for the crates of this
//! repository alone.

#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod evcxr;
#[doc(hidden)]
pub mod system;
#[doc(hidden)]
pub mod text;

pub use error::{Error, ErrorKind, Result};
pub use system::show_progress;
