//! What a fused step takes.

use super::dense::TERMS;
use super::sparse::WIDEST;
use super::vector::LANES;
use super::{Documents, FusedStep, per_shard};
use crate::plan::{Item, Lives, Shape, When};

/// Where L's table lives, where it is not on a card.
pub(in crate::model) fn place_of_l(shape: &Shape) -> Lives {
    match shape.l_in_file {
        true => Lives::Disk,
        false => Lives::Ram,
    }
}

impl Documents {
    /// The table behind L and what belongs to it.
    pub(in crate::model) fn memory(shape: &Shape) -> Vec<Item> {
        let (n, k, lives) = (shape.documents, shape.topics, place_of_l(shape));
        vec![
            Item::new("L's table", lives, When::Fit, 4 * n * k),
            Item::new("L's moments (AdamW)", lives, When::Fit, 8 * n * k),
            Item::ram(
                "the step that each row of L is up to date with",
                When::Fit,
                4 * n,
            ),
        ]
    }
}

impl FusedStep {
    /// The tables and buffers that the step allocates, for batches gathered in parts of `shape.micro_batch` documents.
    /// `resumed`: the state it starts from is there already, and stays with whoever resumes.
    pub(crate) fn memory(shape: &Shape, resumed: bool) -> Vec<Item> {
        let (n, m, k) = (shape.documents, shape.terms, shape.topics);
        let (batch, part) = (shape.batch, shape.micro_batch);
        let lanes = LANES as u64;
        let width = k.next_multiple_of(lanes);
        let shards = m.div_ceil(per_shard(k as usize, m as usize) as u64);
        let of_l = place_of_l(shape);
        let spare = shards * (TERMS as u64 * k + WIDEST as u64);
        // Rows of the gradient, in the order in which a batch touches its terms; what is not touched takes no memory.
        let touched = m.min(batch.saturating_mul(shape.nonzeros));
        let padded = part.next_multiple_of(lanes);
        let mut items = Documents::memory(shape);
        items.extend([
            Item::ram(
                "F's table and its exponentials",
                When::Fit,
                8 * m * k + 4 * spare,
            ),
            Item::ram("F's moments (AdamW)", When::Fit, 8 * m * k),
            // Beside it: each term's row, and column and count of one document's nonzeros.
            Item::ram("F's gradient", When::Fit, 4 * touched * width + 16 * m),
            Item::ram(
                "batch: gradients of L's rows, one part for each range of terms",
                When::Steps,
                4 * padded * (width * shards + width + k)
                    + part * (4 * k + 8 * width + 16 * shards)
                    + 4 * batch * k,
            ),
        ]);
        if !resumed {
            // The free tables; the moments' zeros are never written, and so take no memory.
            let start =
                |what: &str, lives, size| Item::new(what, lives, When::Starting, 4 * k * size);
            items.push(start("the table behind L that it starts from", of_l, n));
            items.push(start(
                "the table behind F that it starts from",
                Lives::Ram,
                m,
            ));
        }
        items.push(Item::new("L", of_l, When::End, 4 * k * n));
        items.push(Item::ram("F", When::End, 4 * k * m));
        items
    }

    /// What a copy of the state takes.
    pub(crate) fn state(shape: &Shape) -> Vec<Item> {
        let what = "a copy of the tables";
        let of_f = Item::ram(what, When::Checkpoint, 12 * shape.topics * shape.terms);
        let of_l = 12 * shape.topics * shape.documents;
        vec![
            of_f,
            Item::new(what, place_of_l(shape), When::Checkpoint, of_l),
        ]
    }
}
