//! Updates of the tables in one optimizer step: the update rules, L's lazily updated rows, the count of steps.

mod lazy_rows;
mod rows;
mod rule;
mod skipped_steps;
mod step_counter;

pub use lazy_rows::{LazyRows, step_row};
pub use rows::rounding_key;
pub(crate) use rule::with_rule;
pub use rule::{AdamWStep, Rule, UpdateRule, step_entry};
pub use step_counter::StepCounter;
pub use step_counter::UpdateRules;
