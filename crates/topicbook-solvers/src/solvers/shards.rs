//! The documents of a pass, cut into document shards, and the tree in which the sums of shards are added.
//!
//! Floating-point sums depend on the order of their terms. Shards and tree depend on the counts alone, so that a fit gives
//! the same bits on one process and on many. Each process sums consecutive shards; a sum that cannot be joined yet is
//! joined on the process that has its neighbours. In the tree, [`WAY`] neighbours are added from left to right, then
//! [`WAY`] of their sums, and so on. So one process holds one table of sums for each level, and one for the current shard.

use std::ops::Range;

use rayon::prelude::*;

use super::streaming_em::documents_in_block;

/// Maximum number of shards.
const MOST: u64 = 256;
/// Neighbours that are added from left to right.
const WAY: usize = 4;
/// Nonzero counts that are enough for a shard: the number that is added to the statistics at once.
const NONZEROS: u64 = 1 << 18;
/// Nonzero counts for each term that are enough for a shard: clearing and adding its table of sums takes about a fiftieth of the
/// time that these counts take.
const NONZEROS_PER_TERM: u64 = 160;
/// Values that a task adds.
const CHUNK: usize = 1 << 14;

/// Documents cut into shards: ranges of whole blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DocumentShards {
    documents: usize,
    in_block: usize,
    number: usize,
}

impl DocumentShards {
    pub fn new(documents: usize, terms: usize, nonzeros: u64) -> Self {
        let in_block = documents_in_block(terms);
        let blocks = documents.div_ceil(in_block) as u64;
        let enough = NONZEROS.max(NONZEROS_PER_TERM * terms as u64);
        Self {
            documents,
            in_block,
            number: power_of_two(nonzeros / enough, MOST.min(blocks)) as usize,
        }
    }

    /// The shards of a fit: of its passes or, with a batch size, of its gradient steps, whose sums are added after each batch. In
    /// steps, clearing and adding the tables takes about a sixth of the time that the counts of a batch take. Fewer shards would
    /// occupy fewer ranks.
    pub fn of_fit(
        documents: usize,
        terms: usize,
        nonzeros: u64,
        batch_size: Option<usize>,
    ) -> Self {
        let of_pass = Self::new(documents, terms, nonzeros);
        let Some(batch_size) = batch_size else {
            return of_pass;
        };
        let mean = nonzeros as f64 / documents.max(1) as f64;
        let enough = NONZEROS.max(NONZEROS_PER_TERM * terms as u64) / 8;
        let number = (mean * batch_size as f64) as u64 / enough;
        Self {
            number: power_of_two(number, of_pass.number as u64) as usize,
            ..of_pass
        }
    }

    pub fn number(&self) -> usize {
        self.number
    }

    /// The documents of consecutive shards.
    pub fn documents(&self, shards: Range<usize>) -> Range<usize> {
        let blocks = self.documents.div_ceil(self.in_block);
        let start = |shard: usize| {
            self.documents
                .min(shard * blocks / self.number * self.in_block)
        };
        start(shards.start)..start(shards.end)
    }

    /// The shards of rank `rank` of `ranks` ranks.
    pub fn of_rank(&self, rank: usize, ranks: usize) -> Range<usize> {
        rank * self.number / ranks..(rank + 1) * self.number / ranks
    }

    /// The largest number of documents that any of `ranks` ranks holds.
    pub fn most_documents(&self, ranks: usize) -> usize {
        let documents = (0..ranks).map(|rank| self.documents(self.of_rank(rank, ranks)).len());
        documents.max().unwrap_or_default()
    }

    /// The transfers of `ranks` ranks in a pass. At distances 1, 2, 4, ..., every second remaining rank sends all its tables to the
    /// one before it.
    pub fn exchange(&self, ranks: usize) -> Exchange {
        let mut exchange = Exchange::default();
        let mut held: Vec<Vec<(usize, usize)>> = vec![Vec::new(); ranks];
        let mut push = |held: &mut Vec<(usize, usize)>, piece| {
            held.push(piece);
            exchange.most_tables = exchange.most_tables.max(held.len() as u64);
            while let [.., left, right] = held[..]
                && are_joined(left, right)
            {
                held.truncate(held.len() - 2);
                held.push((left.0, left.1 + right.1));
            }
        };
        for (rank, held) in held.iter_mut().enumerate() {
            self.of_rank(rank, ranks)
                .for_each(|shard| push(held, (shard, 1)));
        }
        let mut pieces = 0;
        let mut distance = 1;
        while distance < ranks {
            for rank in (distance..ranks).step_by(2 * distance) {
                for piece in std::mem::take(&mut held[rank]) {
                    pieces += 1;
                    push(&mut held[rank - distance], piece);
                }
            }
            distance *= 2;
        }
        exchange.pieces = pieces;
        exchange
    }

    /// Tables of sums that one process holds at the same time.
    pub fn tables(&self) -> u64 {
        let mut tables = 1;
        let mut joined = 1;
        while joined < self.number {
            joined *= WAY;
            tables += 1;
        }
        tables
    }
}

/// The power of two that is nearest to a number, from 1 to `most`. Two, four or eight processes then have the same number of
/// shards each.
fn power_of_two(number: u64, most: u64) -> u64 {
    let number = number.clamp(1, most.max(1));
    let below = 1 << number.ilog2();
    match number * number > 2 * below * below && 2 * below <= most {
        true => 2 * below,
        false => below,
    }
}

/// The transfers of a pass.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Exchange {
    /// Tables of sums that are sent.
    pub pieces: u64,
    /// Tables that a rank holds at once.
    pub most_tables: u64,
}

/// The sums of consecutive shards.
#[derive(Debug, Clone)]
pub struct Piece {
    pub first: usize,
    pub shards: usize,
    pub sums: Vec<f64>,
}

/// The sums of the shards of a pass, joined as far as possible. It keeps its tables between passes, because the page faults of new
/// ones cost as much as a pass over a few documents.
pub struct Tree {
    /// Sums in a table.
    values: usize,
    pieces: Vec<Piece>,
    free: Vec<Vec<f64>>,
}

impl Tree {
    pub fn new(values: usize) -> Self {
        Self {
            values,
            pieces: Vec::new(),
            free: vec![vec![0.0; values]],
        }
    }

    /// Forgets all sums.
    pub fn clear(&mut self) {
        let pieces = self.pieces.drain(..);
        self.free.extend(pieces.map(|piece| piece.sums));
    }

    /// Starts a shard, and returns its sums, all zero. [`join`](Self::join) follows when they are complete.
    pub fn start(&mut self, shard: usize) -> &mut [f64] {
        self.push(shard, 1).fill(0.0);
        self.current()
    }

    /// The sums of the last shard.
    pub fn current(&mut self) -> &mut [f64] {
        match self.pieces.last_mut() {
            Some(piece) => &mut piece.sums,
            None => &mut [],
        }
    }

    /// Appends a table for the shards that follow the last, with unspecified values.
    pub fn push(&mut self, first: usize, shards: usize) -> &mut [f64] {
        let table = self.free.pop();
        self.pieces.push(Piece {
            first,
            shards,
            sums: table.unwrap_or_else(|| vec![0.0; self.values]),
        });
        self.current()
    }

    /// Adds neighbours as long as the tree allows.
    pub fn join(&mut self) {
        while let [.., left, right] = &*self.pieces
            && are_joined((left.first, left.shards), (right.first, right.shards))
        {
            self.join_last();
        }
    }

    /// The sums of all shards, once each of them is in the tree.
    pub fn total(&mut self) -> &mut [f64] {
        while self.pieces.len() > 1 {
            self.join_last();
        }
        self.current()
    }

    /// The sums that are not joined yet.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    fn join_last(&mut self) {
        let Some(right) = self.pieces.pop() else {
            return;
        };
        if let Some(left) = self.pieces.last_mut() {
            left.shards += right.shards;
            let sums = left.sums.par_chunks_mut(CHUNK);
            sums.zip(right.sums.par_chunks(CHUNK))
                .for_each(|(sums, others)| {
                    for (sum, other) in sums.iter_mut().zip(others) {
                        *sum += other;
                    }
                });
        }
        self.free.push(right.sums);
    }
}

/// Whether two neighbours, each given by its first shard and its number of shards, are added to each other by the tree.
fn are_joined((first, shards): (usize, usize), (_, next): (usize, usize)) -> bool {
    // The left one has one to three whole units, and the right one is the next unit.
    let unit = WAY.pow(shards.ilog(WAY));
    next == unit && first.is_multiple_of(WAY * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_whole_blocks_and_cover_all_documents() {
        for (documents, terms, nonzeros) in [
            (1, 1, 1),
            (5_000, 100, 5_000_000),
            (100_000, 100_000, 80_000_000),
            (1_000_000, 20_000, 10_000_000_000),
        ] {
            let shards = DocumentShards::new(documents, terms, nonzeros);
            let all = 0..shards.number();
            assert_eq!(shards.documents(all.clone()), 0..documents);
            for shard in all {
                let own = shards.documents(shard..shard + 1);
                assert!(!own.is_empty() && own.start.is_multiple_of(documents_in_block(terms)));
            }
            for ranks in 1..=shards.number() {
                let ends: Vec<_> = (0..ranks).map(|r| shards.of_rank(r, ranks)).collect();
                assert!(ends.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert!(ends.iter().all(|own| !own.is_empty()));
            }
        }
    }

    #[test]
    fn few_counts_are_one_shard_and_many_are_no_more_than_256() {
        let number =
            |documents, terms, nonzeros| DocumentShards::new(documents, terms, nonzeros).number();
        assert_eq!(number(1_500, 12_419, 746_316), 1);
        assert_eq!(number(100_000, 100_000, 80_000_000), 4);
        assert_eq!(number(100_000, 8_000, 19_700_000), 16);
        assert_eq!(number(1_000_000, 100_000, 4_700_000_000), 256);
        assert_eq!(number(3_000, 500, 1 << 30), 2);
        assert_eq!(number(3_000_000, 500, 1 << 30), 256);
    }

    #[test]
    fn batches_are_cut_into_fewer_shards_than_a_pass() {
        let number = |batch_size| {
            DocumentShards::of_fit(100_000, 8_000, 19_700_000, Some(batch_size)).number()
        };
        assert_eq!([1_000, 4_000, 20_000, 100_000].map(number), [1, 4, 16, 16]);
    }

    /// The sums of shards `own`, whose only value is the shard's.
    fn sums(own: Range<usize>, values: &[f64]) -> Tree {
        let mut tree = Tree::new(1);
        for shard in own {
            tree.start(shard)[0] += values[shard];
            tree.join();
        }
        tree
    }

    #[test]
    fn sums_do_not_depend_on_the_processes() {
        // Values whose sum depends on the order.
        let values: Vec<f64> = (0..256).map(|i| (1.1f64).powi(i * 7 % 90) / 3.0).collect();
        for number in (1..=64).chain([200, 255, 256]) {
            let total = sums(0..number, &values).total()[0];
            for ranks in 1..=number {
                let mut tree = Tree::new(1);
                for rank in 0..ranks {
                    let own = rank * number / ranks..(rank + 1) * number / ranks;
                    for piece in sums(own, &values).pieces() {
                        tree.push(piece.first, piece.shards)
                            .copy_from_slice(&piece.sums);
                        tree.join();
                    }
                }
                assert_eq!(tree.total()[0].to_bits(), total.to_bits(), "{ranks}");
            }
        }
        assert_ne!(
            sums(0..256, &values).total()[0],
            values.iter().sum::<f64>(),
            "the order matters"
        );
    }

    #[test]
    fn one_process_holds_as_many_tables_as_stated() {
        for documents in (1_000..270_000).step_by(1_000) {
            let shards = DocumentShards::new(documents, 1, u64::MAX);
            let tree = sums(0..shards.number(), &[1.0; 256]);
            let held = (tree.pieces.len() + tree.free.len()) as u64;
            assert!(
                held <= shards.tables(),
                "{held} of {} shards",
                shards.number()
            );
        }
    }
}
