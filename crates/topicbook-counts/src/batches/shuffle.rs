//! Block shuffle: the order of the documents in an epoch of a streamed fit. It depends only on the seed and the epoch,
//! so a resumed fit gets the same batches as an uninterrupted one.

use std::ops::Range;

use rand::seq::SliceRandom;

use crate::system::{Purpose, stream};

/// Shuffles blocks and then documents: blocks of consecutive documents are put in random order, the sequence is divided
/// into buffer fills, and the documents of each fill are shuffled.
///
/// Contiguous blocks make reads fast, and a fill of many blocks has documents from all parts of the file, as training
/// needs. Compare scDataset (D'Ascenzo and Cultrera di Montesano 2025).
#[derive(Debug, Clone, Copy)]
pub struct BlockShuffle {
    pub documents: usize,
    /// Documents in a block.
    pub block: usize,
    /// Documents in a buffer fill.
    pub buffer: usize,
    pub seed: u64,
}

impl BlockShuffle {
    /// Number of buffer fills in an epoch.
    pub fn fills(&self) -> usize {
        self.documents.div_ceil(self.buffer)
    }

    /// The random order of the blocks in an epoch.
    pub fn blocks(&self, epoch: usize) -> Vec<usize> {
        let mut blocks: Vec<usize> = (0..self.documents.div_ceil(self.block)).collect();
        blocks.shuffle(&mut stream(self.seed, Purpose::BlockOrder, epoch as u64));
        blocks
    }

    /// The documents of a buffer fill as ranges of consecutive documents, in increasing order. `blocks` is the order of
    /// the epoch's blocks.
    pub fn row_ranges(&self, blocks: &[usize], fill: usize) -> Vec<Range<usize>> {
        let wanted = fill * self.buffer..self.documents.min((fill + 1) * self.buffer);
        self.ranges_at(blocks, wanted)
    }

    /// The documents at some positions in the sequence of blocks, in the same way.
    pub(super) fn ranges_at(&self, blocks: &[usize], wanted: Range<usize>) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        // Position of the block in the sequence of blocks, in documents.
        let mut position = 0;
        for &block in blocks {
            let first = block * self.block;
            let length = self.block.min(self.documents - first);
            let from = wanted.start.max(position);
            let to = wanted.end.min(position + length);
            if from < to {
                ranges.push(first + from - position..first + to - position);
            }
            position += length;
            if position >= wanted.end {
                break;
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }

    /// The random order of the `rows` rows of a buffer fill.
    pub fn row_order(&self, epoch: usize, fill: usize, rows: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rows).collect();
        let index = epoch * self.fills() + fill;
        order.shuffle(&mut stream(self.seed, Purpose::BufferOrder, index as u64));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_occurs_once_per_epoch() {
        for (documents, block, buffer) in [
            (1, 1, 1),
            (10, 3, 4),
            (100, 7, 16),
            (100, 64, 16),
            (97, 8, 200),
        ] {
            let shuffle = BlockShuffle {
                documents,
                block,
                buffer,
                seed: 5,
            };
            let mut epochs = Vec::new();
            for epoch in 0..3 {
                let blocks = shuffle.blocks(epoch);
                let mut visited = Vec::new();
                for fill in 0..shuffle.fills() {
                    let ranges = shuffle.row_ranges(&blocks, fill);
                    let all: Vec<usize> = ranges.into_iter().flatten().collect();
                    let last = fill + 1 == shuffle.fills();
                    assert!(all.len() == buffer || last, "{} of {buffer}", all.len());
                    let rows = shuffle.row_order(epoch, fill, all.len());
                    visited.extend(rows.iter().map(|&row| all[row]));
                }
                epochs.push(visited.clone());
                visited.sort_unstable();
                assert_eq!(visited, (0..documents).collect::<Vec<_>>());
            }
            assert!(documents == 1 || epochs[0] != epochs[1] && epochs[1] != epochs[2]);
        }
    }
}
