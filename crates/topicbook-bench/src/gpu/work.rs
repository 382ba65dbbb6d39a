//! The pieces of work without counts of their own files: transfers, offloading, and memory from fit to fit.

use serde_json::{Value, json};
use topicbook::bench_hooks::{self, On};
use topicbook::{Result, Synthetic, TopicModel};

use crate::gpu::fit::device;
use crate::support::few_terms::few_terms;

/// Mean length of the synthetic documents in tokens.
const LENGTH: usize = 1_000;

/// Transfers a second are medians of this many.
const ROUNDS: usize = 20;

/// The speed of the bus: one large copy out of pageable memory, and uploads and downloads of a table through the pinned
/// staging buffers of a step.
pub fn bus(on: On, bytes: usize, (rows, columns): (usize, usize)) -> Result<Value> {
    let [uploads, downloads] = bench_hooks::transfers(on, (rows, columns), ROUNDS)?;
    Ok(json!({
        "pageable_bytes_per_second": bench_hooks::plain_copy(on, bytes, 3)?,
        "rows": rows,
        "columns": columns,
        "to_gpu_per_second": uploads,
        "from_gpu_per_second": downloads,
    }))
}

/// `rows` random rows of a table of `table_rows`, gathered to the GPU and scattered back.
pub fn gathered(on: On, table_rows: usize, (rows, columns): (usize, usize)) -> Result<Value> {
    let [uploads, downloads] = bench_hooks::gathered(on, table_rows, (rows, columns), ROUNDS)?;
    Ok(json!({
        "table_rows": table_rows,
        "rows": rows,
        "columns": columns,
        "to_gpu_per_second": uploads,
        "from_gpu_per_second": downloads,
    }))
}

/// Iterations per second with L on the GPU and with L offloaded to host memory.
pub fn offload(on: On, [documents, topics, batch, steps]: [usize; 4]) -> Result<Value> {
    let counts = few_terms(documents, 200)?;
    let settings = TopicModel::new(topics).batch_size(batch).settings();
    let run =
        |l_on_host| bench_hooks::iterations_offloaded(on, &settings, &counts, l_on_host, steps);
    Ok(json!({
        "documents": documents,
        "topics": topics,
        "batch": batch,
        "on_gpu_per_second": run(false)?,
        "on_host_per_second": run(true)?,
    }))
}

/// Consecutive fits in one process: memory of the pool and of the GPU after each. The first fit has one epoch.
pub fn growth(on: On, [documents, terms, topics]: [usize; 3], fits: usize) -> Result<Value> {
    const EPOCHS: usize = 50;
    let corpus = Synthetic::new(documents, terms, topics).avg_doc_length(LENGTH);
    let corpus = corpus.seed(1).generate()?;
    let mut after = Vec::new();
    for number in 0..=fits {
        TopicModel::new(topics)
            .epochs(if number == 0 { 1 } else { EPOCHS })
            .batch_size(256.min(documents))
            .seed(number as u64)
            .device(device(on))
            .quiet()
            .fit(corpus.counts())?;
        after.push(bench_hooks::gpu_memory_now(on));
    }
    let column = |index: usize| after.iter().map(|usage| usage[index]).collect::<Vec<_>>();
    Ok(json!({
        "fits": fits,
        "epochs": EPOCHS,
        "in_use": column(0),
        "reserved": column(1),
        "nvml": column(2),
    }))
}
