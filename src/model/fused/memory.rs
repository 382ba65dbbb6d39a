//! What a fused step takes.

use super::vector::LANES;
use super::{FusedStep, shard_terms};
use crate::plan::{Item, Shape, When};

impl FusedStep {
    /// The tables and buffers that the step allocates, for batches gathered in parts of `shape.micro_batch` documents.
    /// `resumed`: the state it starts from is there already, and stays with whoever resumes.
    pub(crate) fn memory(shape: &Shape, resumed: bool) -> Vec<Item> {
        let (n, m, k) = (shape.documents, shape.terms, shape.topics);
        let (batch, part) = (shape.batch, shape.micro_batch);
        let width = k.next_multiple_of(LANES as u64);
        let shards = m.div_ceil(shard_terms(k as usize, m as usize) as u64);
        let mut items = vec![
            // Per document: the step it is up to date with.
            Item::ram("L's table", When::Fit, 4 * n * k + 4 * n),
            Item::ram("L's moments (AdamW)", When::Fit, 8 * n * k),
            Item::ram("F's table and its exponentials", When::Fit, 8 * m * k),
            Item::ram("F's moments (AdamW)", When::Fit, 8 * m * k),
            Item::ram("F's gradient", When::Fit, 4 * m * width),
            Item::ram(
                "batch: gradients of L's rows, one part for each range of terms",
                When::Steps,
                4 * part * width * shards + part * (8 * k + 12 * width) + 4 * batch * k,
            ),
        ];
        if shape.dense {
            // Column and count of a document's nonzeros; vectors grow by doubling.
            items.push(Item::ram(
                "batch: one document's nonzeros",
                When::Steps,
                16 * m,
            ));
        }
        if !resumed {
            // The free tables; the moments' zeros are never written, and so take no memory.
            items.push(Item::ram(
                "the starting tables",
                When::Starting,
                4 * k * (n + m),
            ));
        }
        items.push(Item::ram("L and F", When::End, 4 * k * (n + m)));
        items
    }

    /// What a copy of the state takes.
    pub(crate) fn state_bytes(shape: &Shape) -> u64 {
        12 * shape.topics * (shape.documents + shape.terms)
    }
}
