//! The batches of gradient steps that several processes make. A shard is a range of documents, and each batch takes a share
//! of every shard. So a process reads only its own shards, and batches do not depend on the number of processes.

use std::ops::Range;

use super::SHARE_BLOCK;
use super::shuffle::BlockShuffle;

/// Minimum number of blocks of a share, if it has that many documents.
const BLOCKS: usize = 8;

/// The shares of a shard's documents in the batches of an epoch.
pub struct Shares {
    order: BlockShuffle,
    first: usize,
    batches: usize,
    blocks: Vec<usize>,
}

impl Shares {
    /// `epoch` is counted from 0; `shard` is the shard's number, below `shards`.
    pub fn new(
        documents: Range<usize>,
        batches: usize,
        seed: u64,
        (epoch, shard, shards): (usize, usize, usize),
    ) -> Self {
        let share = documents.len() / batches.max(1);
        let order = BlockShuffle {
            documents: documents.len(),
            block: (share / BLOCKS).clamp(1, SHARE_BLOCK),
            buffer: documents.len(),
            seed,
        };
        Self {
            order,
            first: documents.start,
            batches,
            blocks: order.blocks(epoch * shards + shard),
        }
    }

    /// The shard's documents in a batch, in increasing order: blocks of consecutive documents, drawn at random. Every document
    /// is in one batch of an epoch.
    pub fn of(&self, batch: usize) -> Vec<Range<usize>> {
        let at = |batch: usize| batch * self.order.documents / self.batches;
        let ranges = self.order.ranges_at(&self.blocks, at(batch)..at(batch + 1));
        let absolute = |range: Range<usize>| self.first + range.start..self.first + range.end;
        ranges.into_iter().map(absolute).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_in_one_batch_of_an_epoch() {
        for (documents, batches) in [(0..1, 3), (40..140, 7), (1_000..9_000, 6), (5..5, 2)] {
            let mut epochs = Vec::new();
            for (epoch, shard) in [(0, 0), (1, 0), (0, 1)] {
                let shares = Shares::new(documents.clone(), batches, 3, (epoch, shard, 2));
                let of_batch = |batch: usize| shares.of(batch).into_iter().flatten();
                let sizes: Vec<usize> = (0..batches).map(|batch| of_batch(batch).count()).collect();
                let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
                assert!(most - least <= 1, "{sizes:?}");
                let mut all: Vec<usize> = (0..batches).flat_map(of_batch).collect();
                epochs.push(all.clone());
                all.sort_unstable();
                assert!(all.into_iter().eq(documents.clone()));
            }
            let drawn = documents.len() < 2 || epochs[0] != epochs[1] && epochs[0] != epochs[2];
            assert!(drawn, "{documents:?}");
        }
    }
}
