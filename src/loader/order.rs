//! The order in which the documents of an epoch are met. It depends on the seed and the epoch alone, so that a continued
//! fit meets the same batches as an uninterrupted one.

use std::ops::Range;

use rand::seq::SliceRandom;

use crate::random::{Purpose, stream};

/// Block shuffle: blocks of consecutive documents, in random order one behind the other, are cut into fillings of a
/// buffer, and the documents of each filling are shuffled among themselves.
///
/// Blocks are read in one go, which is what disks are fast at; fillings of many blocks hold documents from everywhere,
/// which is what training needs. Compare scDataset (D'Ascenzo and Cultrera di Montesano 2025).
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockShuffle {
    pub(crate) documents: usize,
    /// Documents in a block.
    pub(crate) block: usize,
    /// Documents in a filling of the buffer.
    pub(crate) buffer: usize,
    pub(crate) seed: u64,
}

impl BlockShuffle {
    /// Fillings in an epoch.
    pub(crate) fn fillings(&self) -> usize {
        self.documents.div_ceil(self.buffer)
    }

    /// The order of the blocks.
    pub(crate) fn blocks(&self, epoch: usize) -> Vec<usize> {
        let mut blocks: Vec<usize> = (0..self.documents.div_ceil(self.block)).collect();
        blocks.shuffle(&mut stream(self.seed, Purpose::BlockOrder, epoch as u64));
        blocks
    }

    /// The documents of a filling, as they lie in the file: runs of consecutive ones, rising. `blocks` is the order of
    /// its epoch's blocks.
    pub(crate) fn runs(&self, blocks: &[usize], filling: usize) -> Vec<Range<usize>> {
        let wanted = filling * self.buffer..self.documents.min((filling + 1) * self.buffer);
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut position = 0;
        for &block in blocks {
            let first = block * self.block;
            let length = self.block.min(self.documents - first);
            let from = wanted.start.max(position);
            let to = wanted.end.min(position + length);
            if from < to {
                runs.push(first + from - position..first + to - position);
            }
            position += length;
            if position >= wanted.end {
                break;
            }
        }
        runs.sort_unstable_by_key(|run| run.start);
        runs
    }

    /// The order of the `rows` rows of a filling.
    pub(crate) fn rows(&self, epoch: usize, filling: usize, rows: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rows).collect();
        let index = epoch * self.fillings() + filling;
        order.shuffle(&mut stream(self.seed, Purpose::BufferOrder, index as u64));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_meets_every_document_once() {
        for (documents, block, buffer) in [
            (1, 1, 1),
            (10, 3, 4),
            (100, 7, 16),
            (100, 64, 16),
            (97, 8, 200),
        ] {
            let order = BlockShuffle {
                documents,
                block,
                buffer,
                seed: 5,
            };
            let mut epochs = Vec::new();
            for epoch in 0..3 {
                let blocks = order.blocks(epoch);
                let mut met = Vec::new();
                for filling in 0..order.fillings() {
                    let all: Vec<usize> =
                        order.runs(&blocks, filling).into_iter().flatten().collect();
                    let last = filling + 1 == order.fillings();
                    assert!(all.len() == buffer || last, "{} of {buffer}", all.len());
                    let rows = order.rows(epoch, filling, all.len());
                    met.extend(rows.iter().map(|&row| all[row]));
                }
                epochs.push(met.clone());
                met.sort_unstable();
                assert_eq!(met, (0..documents).collect::<Vec<_>>());
            }
            assert!(documents == 1 || epochs[0] != epochs[1] && epochs[1] != epochs[2]);
        }
    }
}
