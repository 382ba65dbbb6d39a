//! The vectorizer: counts against scikit-learn's, words of languages, malformed texts, memory, and files.

mod golden;
mod malformed;
mod memory;
mod sources;
mod words;
