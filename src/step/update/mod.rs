//! Updates of the tables in one optimizer step: the update rules, L's lazily updated rows, the count of steps.

mod lazy_rows;
mod rows;
mod rule;
mod skipped_steps;
mod step_counter;

pub(crate) use lazy_rows::{LazyRows, step_row};
pub(crate) use rows::rounding_key;
pub(crate) use rule::{Rule, UpdateRule, step_entry, with_rule};
pub(crate) use step_counter::StepCounter;
#[cfg(any(test, feature = "cluster-worker"))]
pub(crate) use step_counter::UpdateRules;
