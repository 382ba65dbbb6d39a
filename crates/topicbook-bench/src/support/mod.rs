//! What several benchmarks use.

pub mod arguments;
pub mod ceiling;
pub mod described;
pub mod draw;
pub mod few_terms;
pub mod long_text;
pub mod rate_rule;
pub mod record;
pub mod sampler;
pub mod text;
pub mod tokens;
