//! All documents once, in their order, some at a time.

use std::ops::Range;

use super::reader::Reader;
use super::reading::Reading;
use crate::counts::{Access, Counts, Stored, View};
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

/// What is done with every block.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(Block<'_>) -> Result<()>;

/// Shows every document once, in their order, `documents_per_block` at a time (the last block may be shorter): as they
/// lie, or (`reading`) read from their file into two buffers in turn while the block before is looked at.
// Not used in this branch: the one-pass solvers read by it.
#[allow(dead_code)]
pub(crate) fn for_each_block(
    counts: &Counts,
    reading: Reading,
    documents_per_block: usize,
    visit: Visit<'_>,
) -> Result<()> {
    if matches!(reading, Reading::Stream { .. })
        && let Some(stored) = counts.stored(counts.better_sparse()?)?
    {
        return for_each_stored(stored, documents_per_block, visit);
    }
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

/// The same for rows of a file.
pub(crate) fn for_each_stored(
    stored: Stored,
    documents_per_block: usize,
    visit: Visit<'_>,
) -> Result<()> {
    let documents = stored.documents();
    let mut spare = vec![stored.buffer(), stored.buffer()];
    let reader = Reader::start(stored, Access::Sequential)?;
    let blocks = |first: usize| {
        (first..documents)
            .step_by(documents_per_block.max(1))
            .map(|first| first..documents.min(first + documents_per_block))
    };
    let mut ahead = blocks(0);
    for rows in blocks(0) {
        while let Some(buffer) = spare.pop() {
            match ahead.next() {
                Some(next) => reader.request(vec![next], buffer),
                None => break,
            }
        }
        let buffer = reader.receive()?;
        visit(Block {
            view: buffer.view()?,
            rows: 0..rows.len(),
            first: rows.start,
        })?;
        spare.push(buffer);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Dtype;

    #[test]
    fn blocks_hold_every_document_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, terms) = (57, 5);
        // Mostly zeros, and hardly any: kept as nonzero counts, and as they are.
        for zeros in [10, 0] {
            let values = (0..documents * terms).map(|at| {
                if at % 11 < zeros {
                    0
                } else {
                    (at % 200) as u8 + 1
                }
            });
            let memory = Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap();
            let mut all = vec![
                memory.clone(),
                memory.write_npz(folder.path().join("X.npz")).unwrap(),
            ];
            for dtype in [
                Dtype::U8,
                Dtype::U16,
                Dtype::U32,
                Dtype::I32,
                Dtype::I64,
                Dtype::F32,
                Dtype::F64,
            ] {
                all.push(
                    memory
                        .write_npy_as(folder.path().join(format!("{dtype}.npy")), dtype)
                        .unwrap(),
                );
            }
            let mut expected = vec![0.0; documents * terms];
            memory
                .fill_rows(&(0..documents).collect::<Vec<_>>(), &mut expected)
                .unwrap();
            for counts in all {
                for (streamed, per_block) in
                    [(false, 7), (true, 1), (true, 7), (true, 57), (true, 100)]
                {
                    let mut met = Vec::new();
                    let reading = match streamed {
                        true => Reading::Stream {
                            block: 1,
                            blocks: 1,
                        },
                        false => Reading::InPlace,
                    };
                    for_each_block(&counts, reading, per_block, &mut |block| {
                        assert_eq!(block.first * terms, met.len());
                        let rows: Vec<usize> = block.rows.clone().collect();
                        let start = met.len();
                        met.resize(start + rows.len() * terms, 0.0);
                        block.view.fill(terms, &rows, &mut met[start..]);
                        Ok(())
                    })
                    .unwrap();
                    assert!(met == expected, "{counts}, {streamed}, {per_block}");
                }
            }
        }
    }
}
