//! Counts optimizer steps; gives each step's update rules and says when lazily updated rows must be flushed.

use crate::config::{MiniBatch, Optimizer};

use super::rule::{AdamWStep, UpdateRule};

pub struct StepCounter {
    optimizer: Optimizer,
    weight_decay: f64,
    steps: u64,
    steps_per_epoch: u64,
    steps_between_flushes: usize,
    steps_since_flush: usize,
}

/// The update rules of one step.
#[derive(Clone, Copy)]
pub struct UpdateRules {
    pub l_rule: UpdateRule,
    pub f_rule: UpdateRule,
    /// For the rows of L that dense AdamW updates lazily.
    pub step_sizes: AdamWStep,
}

impl StepCounter {
    /// Continues the count of a fit to `documents` documents after `steps` steps.
    pub fn new(parameters: &MiniBatch, documents: usize, steps: u64) -> Self {
        let batch_size = parameters.batch_size;
        Self {
            optimizer: parameters.optimizer,
            weight_decay: parameters.weight_decay,
            steps,
            steps_per_epoch: documents.div_ceil(batch_size) as u64,
            // Eight flushes an epoch; in small fits at most one in 64 steps, so that their cost is negligible.
            steps_between_flushes: (documents / batch_size / 8).max(64),
            steps_since_flush: 0,
        }
    }

    /// Steps taken since the start of the fit, across resumes.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts a step and returns its update rules.
    pub fn step(&mut self, learning_rate: f64) -> UpdateRules {
        // A checkpoint may claim any number of steps.
        self.steps = self.steps.saturating_add(1);
        self.steps_since_flush += 1;
        let (optimizer, time, decay) = (self.optimizer, self.steps, self.weight_decay);
        // Every row is in exactly one batch of an epoch.
        let row_time = (time, self.steps_per_epoch);
        UpdateRules {
            l_rule: UpdateRule::of_rows(optimizer, row_time, learning_rate, decay),
            f_rule: UpdateRule::at(optimizer, time, learning_rate, decay),
            step_sizes: AdamWStep::at(time, learning_rate, decay),
        }
    }

    /// Whether stale rows have to be flushed now.
    pub fn flush_due(&self) -> bool {
        self.steps_since_flush == self.steps_between_flushes
    }

    /// Notes that all rows have been flushed.
    pub fn mark_flushed(&mut self) {
        self.steps_since_flush = 0;
    }

    /// Whether no step was taken since the last flush.
    pub fn is_flushed(&self) -> bool {
        self.steps_since_flush == 0
    }
}
