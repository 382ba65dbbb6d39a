//! RAM and disk space of a fused step.

use crate::cost::{Consumer, Item, Memory, Phase, Shape};
use crate::kernels::{BLOCK_TERMS, DOCUMENTS, is_dense};
use crate::step::update::LazyRows;
use crate::system::LANES;

use super::kept::KEPT_PER_TERM;
use super::scratch::COLLECTED;
use super::tiles::documents_in_run;
use super::{FusedStep, terms_per_shard};

/// The kind of memory that holds L's logits and their optimizer state, unless they are on a GPU.
pub fn l_memory(shape: &Shape) -> Memory {
    match shape.l_in_file {
        true => Memory::Disk,
        false => Memory::Ram,
    }
}

impl LazyRows {
    /// L's logits, their optimizer state and the bookkeeping of stale rows.
    pub fn memory(shape: &Shape) -> Vec<Item> {
        let (n, k, memory) = (shape.documents, shape.topics, l_memory(shape));
        let bytes = shape.l_precision.bytes();
        let mut items = vec![
            Item::new(
                Consumer::Parameters,
                "L's logits",
                memory,
                Phase::Fit,
                bytes * n * k,
            ),
            Item::new(
                Consumer::OptimizerStates,
                "L's optimizer state",
                memory,
                Phase::Fit,
                bytes * shape.l_state_values * n * k,
            ),
        ];
        if shape.l_moves_whole {
            items.push(Item::ram(
                Consumer::OptimizerStates,
                "the step that each row of L is up to date with",
                Phase::Fit,
                4 * n,
            ));
        }
        items
    }
}

/// Values of F's gradient, and of the nonzero counts that are kept for it, where few counts are nonzero.
fn gradient_of_rows(shape: &Shape, in_shard: u64) -> u64 {
    let (m, k) = (shape.terms, shape.topics);
    let of_one_shard = in_shard * k + LANES as u64;
    let in_part = shape.micro_batch.saturating_mul(shape.nonzeros);
    let most = KEPT_PER_TERM as u64 * m;
    // A term and a ratio of each nonzero count that is kept, in lists with half as much capacity again.
    let kept = 3 * in_part.min(most);
    // On average: where counts are uneven, some shards have a table of their own before others.
    let is_added = shape.clips || shape.batch > shape.micro_batch || in_part > most;
    // Groups of terms that have no count in any document stay lazily zeroed.
    let with_counts = match is_added {
        true => m.min(shape.documents.saturating_mul(shape.nonzeros)),
        false => 0,
    };
    rayon::current_num_threads() as u64 * of_one_shard + kept + with_counts * k
}

impl FusedStep {
    /// The tables and buffers that the step allocates, with gradients accumulated over micro-batches of
    /// `shape.micro_batch` documents. `resumed`: the start state belongs to the resumed checkpoint, and is not counted.
    pub fn memory(shape: &Shape, resumed: bool) -> Vec<Item> {
        let (n, m, k) = (shape.documents, shape.terms, shape.topics);
        let (batch, micro_batch) = (shape.batch, shape.micro_batch);
        let lanes = LANES as u64;
        let width = k.next_multiple_of(lanes);
        let shards = m.div_ceil(terms_per_shard(k as usize, m as usize) as u64);
        let l_memory = l_memory(shape);
        let padding = BLOCK_TERMS as u64 * k + shards * lanes;
        let tiles = is_dense(shape.nonzeros as usize, m as usize);
        // Each thread has the exponentials of the terms of one shard, and the shard's terms and slots. It has column, term, count
        // and row of each nonzero count of the collected documents, and column, count and ratio of one document's.
        let in_shard = terms_per_shard(k as usize, m as usize) as u64;
        let collected = 4 * micro_batch.min(COLLECTED as u64);
        let exps = rayon::current_num_threads() as u64 * in_shard * (width + 5 + collected);
        let padded = micro_batch.next_multiple_of(DOCUMENTS as u64);
        let in_run = match tiles {
            true => padded.min(documents_in_run(k as usize) as u64),
            false => 0,
        };
        let (exps_of_tiles, gradient) = match tiles {
            true => (m * k + padding, m * k + padding),
            false => (0, gradient_of_rows(shape, in_shard)),
        };
        let mut items = LazyRows::memory(shape);
        items.extend([
            Item::ram(
                Consumer::Parameters,
                "F's logits and their exponentials",
                Phase::Fit,
                4 * (m * k + padding + exps_of_tiles + exps),
            ),
            Item::ram(
                Consumer::OptimizerStates,
                "F's optimizer state",
                Phase::Fit,
                4 * shape.f_state_values * m * k,
            ),
            Item::ram(
                Consumer::Gradients,
                "F's gradient",
                Phase::Fit,
                4 * gradient,
            ),
            Item::ram(
                Consumer::Gradients,
                "sums for rows of L, lane by lane, one table for each thread",
                Phase::Fit,
                4 * lanes * k * in_run * rayon::current_num_threads() as u64,
            ),
            Item::ram(
                Consumer::Gradients,
                "batch: gradients of L's rows, one part for each shard of terms",
                Phase::Steps,
                4 * padded * (width * shards + width + k)
                    + micro_batch * (4 * k + 8 * width)
                    + 4 * batch * k,
            ),
        ]);
        if !resumed {
            // Only the logits: the initial optimizer state is lazily zeroed, and never written.
            let initial = |what: &str, memory, size| {
                Item::new(
                    Consumer::Parameters,
                    what,
                    memory,
                    Phase::Starting,
                    4 * k * size,
                )
            };
            items.push(initial("L's initial logits", l_memory, n));
            items.push(initial("F's initial logits", Memory::Ram, m));
        }
        items.push(Item::new(
            Consumer::Parameters,
            "L",
            l_memory,
            Phase::End,
            4 * k * n,
        ));
        items.push(Item::ram(Consumer::Parameters, "F", Phase::End, 4 * k * m));
        items
    }

    /// The copy of the state that is made for a checkpoint: logits and optimizer state of L and F.
    pub fn checkpoint_memory(shape: &Shape) -> Vec<Item> {
        let item = |memory, rows, state_values| {
            let bytes = 4 * (1 + state_values) * shape.topics * rows;
            Item::new(
                Consumer::Parameters,
                "a copy of the tables",
                memory,
                Phase::Checkpoint,
                bytes,
            )
        };
        vec![
            item(Memory::Ram, shape.terms, shape.f_state_values),
            item(l_memory(shape), shape.documents, shape.l_state_values),
        ]
    }
}
