//! VRAM and host memory of a gradient step on the GPU, and RAM of one on tensors.

#[cfg(test)]
mod tests;

use crate::backend::cube;
use crate::backend::cube::{PINNED, mask_bytes, sums_workspace, table_bytes};
use crate::config::GradientStep;
use crate::cost::{Consumer, Item, Memory, Phase, Shape};
use crate::step::cpu::l_memory;
use crate::step::update::LazyRows;
use crate::system::LANES;

/// Tables of batch x topics that are allocated at the same time while gradients are computed. With L offloaded it is
/// one, besides the uploaded rows and their gradients, which are not padded.
const BATCH_TABLES: u64 = 5;

/// The same in automatic differentiation: rows of L, their softmax, and gradients.
const ROW_TABLES: u64 = 4;

/// VRAM. `padded`: rows are aligned as CubeCL's CUDA runtime does.
///
/// An allocation is only reused for tensors of exactly the same size (see [`with_gpu`](crate::backend::with_gpu)), so
/// that all distinct sizes of a fit are allocated at the same time.
pub fn on_gpu(shape: &Shape, resident: bool, padded: bool) -> Vec<Item> {
    let table = |rows: u64, columns: u64| table_bytes(rows, columns, padded);
    let rows = |documents: u64| 4 * documents * shape.topics;
    let l = match shape.l_on_host {
        true => 0,
        false => table(shape.documents, shape.topics),
    };
    let gradients = match shape.l_on_host {
        true => "gradient of F",
        false => "gradients of L and F",
    };
    let f = table(shape.topics, shape.terms);
    let mut items = vec![
        Item::vram(Consumer::Parameters, "L's logits", Phase::Fit, l),
        Item::vram(
            Consumer::OptimizerStates,
            "L's optimizer state",
            Phase::Fit,
            shape.l_state_values * l,
        ),
        Item::vram(Consumer::Parameters, "F's logits", Phase::Fit, f),
        Item::vram(
            Consumer::OptimizerStates,
            "F's optimizer state",
            Phase::Fit,
            shape.f_state_values * f,
        ),
        Item::vram(Consumer::Gradients, gradients, Phase::Steps, l + f),
    ];
    if shape.l_on_host {
        items.push(Item::vram(
            Consumer::Gradients,
            "rows of L, and their gradients (of this batch and the previous one)",
            Phase::Steps,
            rows(shape.micro_batch) + 2 * rows(shape.batch),
        ));
    }
    items.extend(match shape.step.has_rates() {
        true => of_rates(shape, resident, padded),
        false => of_kernels(shape, resident, padded),
    });
    // AdamW needs a table besides the gradient; gradient accumulation needs another one, for the sum.
    let adamw = match shape.batch > shape.micro_batch {
        true => 2 * f,
        false => f,
    };
    items.push(Item::vram(
        Consumer::OptimizerStates,
        "workspace: AdamW",
        Phase::Steps,
        l + adamw,
    ));
    items.retain(|item| item.bytes > 0);
    items
}

/// Counts and workspace of the kernels of a fused step.
fn of_kernels(shape: &Shape, resident: bool, padded: bool) -> Vec<Item> {
    let rows = |documents: u64| 4 * documents * shape.topics;
    let mut items = Vec::new();
    if resident {
        let counts = cube::bytes_of_counts(shape, shape.documents);
        items.push(Item::vram(
            Consumer::Counts,
            cube::counts_item("X", shape),
            Phase::Fit,
            counts,
        ));
    }
    let sizes = micro_batch_sizes(shape);
    for &documents in &sizes {
        items.push(Item::vram(
            Consumer::Counts,
            cube::counts_item(&format!("X of {documents} documents"), shape),
            Phase::Steps,
            cube::bytes_of_batch(shape, documents),
        ));
    }
    let workspace = |&micro_batch: &u64| {
        let part_shape = Shape {
            micro_batch,
            ..*shape
        };
        let table = table_bytes(micro_batch, shape.topics, padded);
        let tables = match (shape.l_on_host, micro_batch == shape.micro_batch) {
            (false, _) => BATCH_TABLES * table,
            (true, true) => table,
            (true, false) => table + 2 * rows(micro_batch),
        };
        let mut buffers = cube::buffers(&part_shape, cube::ratios_of_batch(&part_shape));
        buffers.push(tables);
        buffers
    };
    let buffers: Vec<Vec<u64>> = sizes.iter().map(workspace).collect();
    items.push(sums_workspace(&buffers));
    items
}

/// Counts and activations of automatic differentiation, as Burn's graph allocates them on CUDA. The numbers of tables
/// were measured: the allocator took them from a driver without a GPU (`tests/gpu/memory.rs`).
fn of_rates(shape: &Shape, resident: bool, padded: bool) -> Vec<Item> {
    let (n, m, k) = (shape.documents, shape.terms, shape.topics);
    let table = |rows: u64, columns: u64| table_bytes(rows, columns, padded);
    let sizes = micro_batch_sizes(shape);
    let mut items = Vec::new();
    if resident {
        // They are uploaded in parts, of which the last can have a size of its own.
        let rest = n % shape.micro_batch;
        let rest = if sizes.contains(&rest) { 0 } else { rest };
        let counts = table(n, m) + table(rest, m);
        items.push(Item::vram(
            Consumer::Counts,
            "X, in f32",
            Phase::Fit,
            counts,
        ));
    }
    // The tables besides the counts of the batch are the rates, and what is computed from them and exists at once.
    // Recomputed rates exist twice for a moment.
    let rates = match shape.step {
        GradientStep::Checkpointing => 4,
        _ => 3,
    };
    for documents in sizes {
        items.push(Item::vram(
            Consumer::Counts,
            format!("X of {documents} documents, in f32"),
            Phase::Steps,
            table(documents, m),
        ));
        // The mask says which rates are too small for a logarithm.
        let tables = rates * table(documents, m) + mask_bytes(documents, m, padded);
        items.push(Item::vram(
            Consumer::Activations,
            format!("activations of {documents} documents"),
            Phase::Steps,
            tables + ROW_TABLES * table(documents, k),
        ));
    }
    let softmax = 2 * table(k, m);
    items.push(Item::vram(
        Consumer::Activations,
        "softmax of F",
        Phase::Steps,
        softmax,
    ));
    items
}

/// Buffers of Burn's matrix product on the CPU.
const PRODUCT_BYTES: u64 = 5 << 20;

/// RAM of a step on Burn's tensors on the CPU. The activations of a step are freed before the update allocates its own
/// tables. The factors were measured (`tests/plan/tensors.rs`).
pub fn of_tensors(shape: &Shape, resumed: bool) -> Vec<Item> {
    use Consumer::{Activations, Counts, Gradients, OptimizerStates, Parameters};
    let (n, m, k) = (shape.documents, shape.terms, shape.topics);
    let (l, f, rates) = (4 * n * k, 4 * k * m, 4 * shape.micro_batch * m);
    let accumulated = match shape.batch > shape.micro_batch {
        true => l + f,
        false => 0,
    };
    let batch = if shape.step.has_rates() { rates } else { 0 };
    let activations = match shape.step {
        // The rates, the tables computed from them, and F's softmax with its gradient.
        GradientStep::Autodiff => 4 * rates + 3 * f + PRODUCT_BYTES,
        // F's softmax is computed again after the rates have been freed.
        GradientStep::Checkpointing => (4 * rates).max(3 * f) + PRODUCT_BYTES,
        // Copies of F, and rows of its gradient for the terms of the batch.
        GradientStep::CustomBackward | GradientStep::Fused => {
            let width = k.next_multiple_of(LANES as u64);
            7 * f / 2 + 4 * m.min(shape.micro_batch.saturating_mul(shape.nonzeros)) * width
        }
    };
    let update = (3 * f).max(3 * l / 2);
    let mut items = vec![
        Item::ram(Parameters, "L's logits", Phase::Fit, l),
        Item::ram(
            OptimizerStates,
            "L's optimizer state",
            Phase::Fit,
            shape.l_state_values * l,
        ),
        Item::ram(Parameters, "F's logits", Phase::Fit, f),
        Item::ram(
            OptimizerStates,
            "F's optimizer state",
            Phase::Fit,
            shape.f_state_values * f,
        ),
        Item::ram(
            Gradients,
            "gradients of L and F, added up over micro-batches",
            Phase::Pass,
            accumulated,
        ),
    ];
    items.extend([
        Item::ram(
            Counts,
            "X of a micro-batch, in f32",
            Phase::Gradients,
            batch,
        ),
        Item::ram(Activations, "activations", Phase::Gradients, activations),
        Item::ram(Gradients, "gradients of L and F", Phase::Update, l + f),
        Item::ram(OptimizerStates, "workspace: AdamW", Phase::Update, update),
    ]);
    if !resumed {
        items.push(Item::ram(
            Parameters,
            "the initial logits",
            Phase::Starting,
            l + f,
        ));
    }
    items.push(Item::ram(Parameters, "L and F", Phase::End, 2 * (l + f)));
    items
}

/// The distinct sizes of micro-batches, in descending order: full ones, the remainder of a batch, and the micro-batches
/// of the last batch of an epoch.
fn micro_batch_sizes(shape: &Shape) -> Vec<u64> {
    let last = shape.documents % shape.batch;
    let full = shape.micro_batch;
    let mut sizes = vec![full, shape.batch % full, last.min(full), last % full];
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|documents| *documents > 0);
    sizes.reverse();
    sizes
}

/// Host memory of a step on the GPU. `resumed`: the start state belongs to the resumed checkpoint, and is not counted.
pub fn in_host_memory(shape: &Shape, resident: bool, resumed: bool) -> Vec<Item> {
    let (n, m, k) = (shape.documents, shape.terms, shape.topics);
    // While a table is downloaded, it is in memory twice.
    let mut items = match shape.l_on_host {
        false => vec![Item::ram(
            Consumer::Parameters,
            "L and F",
            Phase::End,
            8 * k * (n + m),
        )],
        true => vec![
            Item::new(
                Consumer::Parameters,
                "L",
                l_memory(shape),
                Phase::End,
                4 * k * n,
            ),
            Item::ram(Consumer::Parameters, "F", Phase::End, 8 * k * m),
        ],
    };
    let rows = if shape.l_on_host { shape.batch } else { 0 };
    let uploaded = if resident {
        shape.documents
    } else {
        shape.micro_batch
    };
    items.push(Item::ram(
        Consumer::Counts,
        PINNED,
        Phase::Fit,
        cube::bytes_pinned(shape, (uploaded, resident), rows),
    ));
    if shape.step.has_rates() {
        // An upload reads its table while the next one is made.
        let phase = if resident {
            Phase::Starting
        } else {
            Phase::Gradients
        };
        items.push(Item::ram(
            Consumer::Counts,
            "X of two micro-batches, in f32, until they are uploaded",
            phase,
            8 * shape.micro_batch * m,
        ));
    } else if resident && shape.bytes_of_count.is_none() {
        items.push(Item::ram(
            Consumer::Counts,
            "row pointers of X",
            Phase::Fit,
            8 * (n + 1),
        ));
    }
    if shape.l_on_host {
        items.extend(LazyRows::memory(shape));
    }
    if !resumed && shape.l_on_host {
        let initial = |what: &str, memory, size| {
            Item::new(Consumer::Parameters, what, memory, Phase::Starting, size)
        };
        items.push(initial("L's initial logits", l_memory(shape), 4 * k * n));
        items.push(initial("F's initial logits", Memory::Ram, 8 * k * m));
    } else if !resumed {
        // Both tables, and the copy of the one that is being uploaded.
        let bytes = 4 * k * (n + m) + 4 * k * n.max(m);
        items.push(Item::ram(
            Consumer::Parameters,
            "the initial logits",
            Phase::Starting,
            bytes,
        ));
    }
    items
}
