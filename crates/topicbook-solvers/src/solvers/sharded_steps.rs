//! Gradient steps that several processes make together, each for the documents of its document shards.
//!
//! The gradients of a batch come from the sums of expectation-maximisation. W are the documents' rows of L, and x / rate the
//! counts over their rates. F's statistics sum W x / rate over the documents, and the multipliers of a row of L sum F x / rate
//! over the terms. A logit's gradient is a share of the tokens minus the tokens that the model expects from the topic. So shards,
//! sums and tree are the same as in a pass of [`StreamingEm`](super::streaming_em::StreamingEm), and results do not depend on the
//! number of processes.

mod rank;
mod term_rows;
#[cfg(test)]
mod tests;

use crate::config::MiniBatch;
use crate::cost::{Consumer, Item, Phase, Shape};

use super::shards::DocumentShards;
use super::streaming_em;

pub use rank::{ShardedSteps, StepsStart};

/// Memory of a process without its counts: for a pass of expectation-maximisation, and for the optimizer's state.
pub fn memory(shape: &Shape, shards: &DocumentShards, parameters: &MiniBatch) -> Vec<Item> {
    let state = parameters.optimizer.state_values();
    let (of_l, of_f) = (shape.topics * shape.documents, shape.topics * shape.terms);
    let mut items = streaming_em::memory(shape, shards, false);
    items.extend([
        // L's own table holds its logits.
        Item::ram(Consumer::Parameters, "logits of F", Phase::Fit, 4 * of_f),
        Item::ram(
            Consumer::OptimizerStates,
            "optimizer state of L and F",
            Phase::Fit,
            4 * (of_l * state.l as u64 + of_f * state.f as u64),
        ),
        Item::ram(
            Consumer::Gradients,
            "expected tokens of F",
            Phase::Steps,
            4 * of_f,
        ),
        Item::ram(
            Consumer::Parameters,
            "tables that are read or written",
            Phase::Starting,
            4 * (of_l * (1 + state.l as u64) + of_f * (1 + state.f as u64)),
        ),
    ]);
    items
}
