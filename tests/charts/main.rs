//! Charts and tables through the public API.
#![cfg(feature = "notebook")]

mod added;
mod charts;
mod invalid;
mod labels;
mod pictures;
mod plain;
mod structure;
mod table;
