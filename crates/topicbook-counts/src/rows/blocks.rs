//! Sequential passes over all documents, in blocks.

use std::ops::Range;

use crate::error::Result;
use crate::{Counts, View};

use super::prefetch::Reader;
use super::row_file::{Access, RowBuffer};
use super::row_files::RowFiles;

/// A block of consecutive documents: rows `rows` of `view`.
#[derive(Clone)]
pub struct Block<'a> {
    /// The counts that `rows` refers to: the whole matrix, or the buffer that was read.
    pub view: View<'a>,
    /// The block's rows in `view`.
    pub rows: Range<usize>,
    /// The first document (row of L) of the block.
    pub first: usize,
}

/// Callback of a pass over blocks.
pub type Visit<'a> = &'a mut dyn FnMut(Block<'_>) -> Result<()>;

/// Calls `visit` with all documents in order, in blocks of `documents_per_block` (the last may be shorter).
///
/// With `streamed`, and counts in a file that allows it, a background thread reads the blocks into two buffers: one is
/// filled while the other is visited. Otherwise the blocks refer to the counts in memory or in the memory map.
pub fn for_each_block(
    counts: &Counts,
    streamed: bool,
    documents_per_block: usize,
    visit: Visit<'_>,
) -> Result<()> {
    if streamed && let Some(row_file) = counts.row_file(counts.is_buffered_as_csr()?)? {
        let documents = 0..row_file.documents();
        return for_each_file_block(row_file, documents, documents_per_block, visit);
    }
    let documents = counts.documents();
    for first in (0..documents).step_by(documents_per_block.max(1)) {
        let rows = first..documents.min(first + documents_per_block);
        counts.with_view(|view| visit(Block { view, rows, first }))?;
    }
    Ok(())
}

/// The streamed pass of [`for_each_block`] over these documents of an open file.
pub fn for_each_file_block(
    row_file: RowFiles,
    documents: Range<usize>,
    documents_per_block: usize,
    visit: Visit<'_>,
) -> Result<()> {
    let blocks = || {
        (documents.clone())
            .step_by(documents_per_block.max(1))
            .map(|first| first..documents.end.min(first + documents_per_block))
    };
    let requests = blocks().map(|rows| vec![rows]);
    let mut ahead = ReadAhead::new(row_file, Access::Sequential, requests)?;
    for rows in blocks() {
        let buffer = ahead.receive()?;
        visit(Block {
            view: buffer.view()?,
            rows: 0..rows.len(),
            first: rows.start,
        })?;
        ahead.give_back(buffer);
    }
    Ok(())
}

/// Reads documents into two buffers: one is filled by a background thread while the other is in use.
pub struct ReadAhead<I> {
    reader: Reader,
    /// The ranges of documents of each buffer, in the order of the requests.
    requests: I,
    free: Vec<RowBuffer>,
}

impl<I: Iterator<Item = Vec<Range<usize>>>> ReadAhead<I> {
    pub fn new(row_file: RowFiles, access: Access, requests: I) -> Result<Self> {
        Ok(Self {
            free: vec![row_file.buffer(), row_file.buffer()],
            reader: Reader::start(row_file, access)?,
            requests,
        })
    }

    /// The documents of the next request, of which there must be one.
    pub fn receive(&mut self) -> Result<RowBuffer> {
        while let Some(buffer) = self.free.pop() {
            match self.requests.next() {
                Some(ranges) => self.reader.request(ranges, buffer),
                None => break,
            }
        }
        self.reader.receive()
    }

    /// Takes a buffer back, to fill it again.
    pub fn give_back(&mut self, buffer: RowBuffer) {
        self.free.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    #[test]
    fn blocks_contain_every_document_once_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, terms) = (57, 5);
        // Mostly zeros, which are streamed as CSR, and no zeros, which are streamed as dense rows.
        for zeros in [10, 0] {
            let values = (0..documents * terms).map(|at| {
                if at % 11 < zeros {
                    0
                } else {
                    (at % 200) as u8 + 1
                }
            });
            let memory = Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap();
            let mut sources = vec![
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
                sources.push(
                    memory
                        .write_npy_as(folder.path().join(format!("{dtype}.npy")), dtype)
                        .unwrap(),
                );
            }
            let mut expected = vec![0.0; documents * terms];
            memory
                .fill_rows(&(0..documents).collect::<Vec<_>>(), &mut expected)
                .unwrap();
            for counts in sources {
                for (streamed, per_block) in
                    [(false, 7), (true, 1), (true, 7), (true, 57), (true, 100)]
                {
                    let mut found = Vec::new();
                    for_each_block(&counts, streamed, per_block, &mut |block| {
                        assert_eq!(block.first * terms, found.len());
                        let rows: Vec<usize> = block.rows.clone().collect();
                        let start = found.len();
                        found.resize(start + rows.len() * terms, 0.0);
                        block.view.fill(terms, &rows, &mut found[start..]);
                        Ok(())
                    })
                    .unwrap();
                    assert!(found == expected, "{counts}, {streamed}, {per_block}");
                }
            }
        }
    }
}
