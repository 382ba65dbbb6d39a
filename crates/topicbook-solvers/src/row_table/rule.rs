//! A table's use of the optimizers of gradient steps: the rule of a step, and the state that a value needs.

use crate::config::Optimizer;
use crate::error::{Error, Result};
use crate::step::update::UpdateRule;

/// The update rule of a table's step `time`, counted from 1, which updates one in `interval` rows of the table.
pub(super) fn update_rule(
    optimizer: Optimizer,
    (time, interval): (u64, u64),
    learning_rate: f64,
) -> UpdateRule {
    match optimizer {
        Optimizer::RowwiseAdamW => {
            UpdateRule::of_rows(optimizer, (time, interval), learning_rate, 0.0)
        }
        _ => UpdateRule::at(optimizer, time, learning_rate, 0.0),
    }
}

/// Values of state that the optimizer keeps for each value of a row.
pub(super) fn state_values(optimizer: Optimizer) -> usize {
    optimizer.state_values().l
}

/// Fails for optimizers whose steps change all rows.
pub(super) fn check_row_wise(optimizer: Optimizer) -> Result<()> {
    match optimizer.moves_all_rows() {
        false => Ok(()),
        true => Err(Error::setting(format!(
            "a row table needs a row-wise optimizer, and each step of {optimizer} changes all rows"
        ))
        .fix("use one whose name begins with Rowwise, such as Optimizer::RowwiseAdagrad")),
    }
}
