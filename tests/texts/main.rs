//! The vectorizer: counts against scikit-learn's, malformed texts, memory, and files.

mod golden;
mod malformed;
mod memory;
mod sources;
