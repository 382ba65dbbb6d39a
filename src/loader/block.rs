//! All documents once, in their order, some at a time.

use std::ops::Range;

use crate::counts::{Counts, View};
use crate::error::Result;

/// Consecutive documents: rows `rows` of `view`.
#[derive(Clone)]
pub(crate) struct Block<'a> {
    /// Where the counts lie: all of them, or the part that is in memory now.
    pub(crate) view: View<'a>,
    /// The block's rows in `view`.
    pub(crate) rows: Range<usize>,
    /// The document (row of L) of the first of them; the others follow it.
    pub(crate) first: usize,
}

/// Shows every document once, in their order, `documents_per_block` at a time (the last block may be shorter).
pub(crate) fn for_each_block(
    counts: &Counts,
    documents_per_block: usize,
    visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
) -> Result<()> {
    let documents = counts.documents();
    for first in (0..documents).step_by(documents_per_block.max(1)) {
        visit(Block {
            view: counts.view()?,
            rows: first..documents.min(first + documents_per_block),
            first,
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_every_document_once_and_in_order() {
        let counts = Counts::dense(7, 2, (0..14u8).collect()).unwrap();
        for per_block in [1, 2, 3, 7, 100] {
            let mut met = Vec::new();
            for_each_block(&counts, per_block, &mut |block| {
                let rows: Vec<usize> = block.rows.clone().collect();
                let mut values = vec![0.0; rows.len() * 2];
                block.view.fill(2, &rows, &mut values);
                for (row, values) in values.chunks(2).enumerate() {
                    let document = block.first + row;
                    assert_eq!(values[0] as usize, 2 * document);
                    met.push(document);
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(met, (0..7).collect::<Vec<_>>());
        }
    }
}
