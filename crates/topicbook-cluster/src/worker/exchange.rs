//! Sums of all ranks, in an order that does not depend on their number.

use crate::solvers::Tree;

use super::Ranks;

/// Maximum number of pieces of a message; each has at least one shard.
const PIECES: usize = 256;

/// Brings the sums of all shards into the tree of rank 0. In each round the ranks that are left send to a neighbour, so that
/// the last sum arrives after log2(ranks) rounds. `moved` is called after each sum that this rank has sent or received.
pub(super) fn to_first(ranks: &dyn Ranks, tree: &mut Tree, moved: &dyn Fn()) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let mut distance = 1;
    while distance < size {
        if rank % (2 * distance) == distance {
            return send(ranks, tree, rank - distance, moved);
        }
        if rank + distance < size {
            receive(ranks, tree, rank + distance, moved);
        }
        distance *= 2;
    }
}

/// Sends which shards the pieces have, then their sums.
fn send(ranks: &dyn Ranks, tree: &Tree, to: usize, moved: &dyn Fn()) {
    let mut header = [0.0; 1 + 2 * PIECES];
    header[0] = tree.pieces().len() as f64;
    for (entry, piece) in header[1..]
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .zip(tree.pieces())
    {
        *entry = [piece.first as f64, piece.shards as f64];
    }
    ranks.send(&header, to);
    for piece in tree.pieces() {
        ranks.send(&piece.sums, to);
        moved();
    }
}

fn receive(ranks: &dyn Ranks, tree: &mut Tree, from: usize, moved: &dyn Fn()) {
    let mut header = [0.0; 1 + 2 * PIECES];
    ranks.receive(&mut header, from);
    let pieces = header[1..].as_chunks::<2>().0.iter();
    for [first, shards] in pieces.take(header[0] as usize) {
        ranks.receive(tree.push(*first as usize, *shards as usize), from);
        tree.join();
        moved();
    }
}

/// The values of all ranks, in their order, on rank 0; `None` on the others.
pub(super) fn gather<const N: usize>(ranks: &dyn Ranks, values: [f64; N]) -> Option<Vec<[f64; N]>> {
    if ranks.rank() > 0 {
        ranks.send(&values, 0);
        return None;
    }
    let mut all = vec![values];
    for rank in 1..ranks.size() {
        let mut values = [0.0; N];
        ranks.receive(&mut values, rank);
        all.push(values);
    }
    Some(all)
}
