//! What the number of a step decides: the laws by which tables move, and when every sleeping row is woken.

use super::rule::{Law, Rates};
use crate::model::optimizer::Optimizer;
use crate::model::settings::Settings;
use crate::model::step::State;

pub(in crate::model) struct Clock {
    optimizer: Optimizer,
    weight_decay: f64,
    steps: u64,
    /// Batches that meet every document once.
    steps_of_an_epoch: u64,
    steps_between_rests: usize,
    steps_since_rest: usize,
}

/// How tables move in one step.
pub(in crate::model) struct Laws {
    pub(in crate::model) of_l: Law,
    pub(in crate::model) of_f: Law,
    /// Of the rows of L that sleep.
    pub(in crate::model) asleep: Rates,
}

impl Clock {
    /// Goes on from a state.
    pub(in crate::model) fn new(settings: &Settings, state: &State) -> Self {
        let (documents, batch_size) = (state.l.rows(), settings.batch_size);
        Self {
            optimizer: settings.optimizer,
            weight_decay: settings.weight_decay,
            steps: state.steps,
            steps_of_an_epoch: documents.div_ceil(batch_size) as u64,
            // Eight times an epoch; in small fits, seldom enough to cost nothing.
            steps_between_rests: (documents / (8 * batch_size)).max(64),
            steps_since_rest: 0,
        }
    }

    /// Steps so far.
    pub(in crate::model) fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts a step.
    pub(in crate::model) fn step(&mut self, learning_rate: f64) -> Laws {
        self.steps += 1;
        self.steps_since_rest += 1;
        let law = |time| Law::at(self.optimizer, time, learning_rate, self.weight_decay);
        // A row-wise optimizer counts a row's own steps: one an epoch.
        let time_of_l = match self.optimizer {
            Optimizer::AdamW => self.steps,
            _ => (self.steps - 1) / self.steps_of_an_epoch + 1,
        };
        Laws {
            of_l: law(time_of_l),
            of_f: law(self.steps),
            asleep: Rates::at(self.steps, learning_rate, self.weight_decay),
        }
    }

    /// Whether every row should be woken now.
    pub(in crate::model) fn rest_is_due(&self) -> bool {
        self.steps_since_rest == self.steps_between_rests
    }

    /// Every row has been woken.
    pub(in crate::model) fn rested(&mut self) {
        self.steps_since_rest = 0;
    }

    pub(in crate::model) fn at_rest(&self) -> bool {
        self.steps_since_rest == 0
    }
}
