//! Gradient steps: the sums of all shards are exchanged at each step.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::batches::Shares;
use crate::config::MiniBatch;
use crate::counts::rows::{Access, Block, ReadAhead};
use crate::data::Matrix;
use crate::error::Result;
use crate::solvers::{ShardedSteps, StepsStart, documents_in_block};
use crate::state::{State, read_at, write_at};
use crate::step::WarmRestarts;

use super::{Pass, Phase, Rank, Work};

pub(super) struct Steps {
    solver: ShardedSteps,
    schedule: WarmRestarts,
    /// Number of batches of an epoch.
    batches: usize,
    seed: u64,
}

impl Steps {
    pub(super) fn new(
        rank: &Rank<'_>,
        (parameters, seed): (&MiniBatch, u64),
        state: State,
    ) -> Result<Self> {
        let job = &rank.job;
        let (documents, terms, topics) =
            (job.fingerprint.documents, job.fingerprint.terms, job.topics);
        let batches = documents.div_ceil(parameters.batch_size);
        let [l, f] = rank.folder.tables(state.passes);
        let of_l = |table: usize| -> Result<Matrix> {
            let first = table * documents;
            let rows = first + rank.own.start..first + rank.own.end;
            let values = read_at(
                &l,
                rows.start * topics..rows.end * topics,
                f32::from_le_bytes,
            )?;
            Ok(Matrix::from_parts(rows.len(), topics, values))
        };
        let of_f = |table: usize| {
            let range = table * terms * topics..(table + 1) * terms * topics;
            read_at(&f, range, f32::from_le_bytes)
        };
        let values = parameters.optimizer.state_values();
        let start = StepsStart {
            parameters: parameters.clone(),
            documents,
            own: rank.own.clone(),
            steps: (state.passes * batches) as u64,
            l: of_l(0)?,
            l_state: (1..=values.l).map(of_l).collect::<Result<_>>()?,
            f: (0..=values.f).map(of_f).collect::<Result<_>>()?,
        };
        Ok(Self {
            solver: ShardedSteps::new(start, rank.layouts()?)?,
            schedule: WarmRestarts::new(parameters),
            batches,
            seed,
        })
    }

    /// The shares that the rank's shards have in the batches of an epoch, counted from 0.
    fn shares(&self, rank: &Rank<'_>, epoch: usize) -> Vec<Shares> {
        let of_shard = |shard: usize| {
            let documents = rank.shards.documents(shard..shard + 1);
            let of_epoch = (epoch, shard, rank.shards.number());
            Shares::new(documents, self.batches, self.seed, of_epoch)
        };
        rank.own_shards.clone().map(of_shard).collect()
    }
}

impl Work for Steps {
    fn pass(&mut self, rank: &Rank<'_>, before: State) -> Result<Pass> {
        let (epoch, batches) = (before.passes, self.batches);
        let shares = self.shares(rank, epoch);
        let in_block = documents_in_block(rank.job.fingerprint.terms);
        let of_batch = |batch| {
            shares
                .iter()
                .flat_map(move |share| pieces(&share.of(batch), in_block))
        };
        let rows = rank.counts.rows(&rank.job, false)?;
        let requests = (0..batches).flat_map(of_batch);
        let mut ahead = ReadAhead::new(rows, Access::Scattered, requests)?;
        let (mut working, mut score) = (Duration::ZERO, 0.0);
        for batch in 0..batches {
            let began = Instant::now();
            rank.alive.phase(Phase::Working);
            let rules = self
                .solver
                .start(self.schedule.of_step((epoch, batch), batches));
            for (shard, share) in rank.own_shards.clone().zip(&shares) {
                let documents = share.of(batch);
                self.solver
                    .start_shard(shard, documents.iter().cloned().flatten());
                let mut first = 0;
                for piece in pieces(&documents, in_block) {
                    let buffer = ahead.receive()?;
                    let documents: usize = piece.iter().map(Range::len).sum();
                    let block = Block {
                        view: buffer.view()?,
                        rows: 0..documents,
                        first,
                    };
                    self.solver.add(&block, &rules);
                    first += documents;
                    ahead.give_back(buffer);
                    rank.block();
                }
                self.solver.end_shard();
            }
            working += began.elapsed();
            rank.exchange(self.solver.tree());
            if rank.ranks.rank() == 0 {
                score += self.solver.update_f(&rules);
            }
            rank.ranks.broadcast(self.solver.f_mut());
            self.solver.end(&rules);
        }
        self.solver.end_epoch()?;
        Ok(Pass {
            working,
            score,
            converged: false,
        })
    }

    fn write(&self, rank: &Rank<'_>, [l, f]: &[PathBuf; 2]) -> Result<()> {
        let (documents, topics) = (rank.job.fingerprint.documents, rank.job.topics);
        for (table, values) in self.solver.l_tables()?.iter().enumerate() {
            let first = (table * documents + rank.own.start) * topics;
            write_at(l, first, values.values(), f32::to_le_bytes)?;
        }
        if rank.ranks.rank() == 0 {
            for (table, values) in self.solver.f_tables().iter().enumerate() {
                write_at(f, table * values.len(), values, f32::to_le_bytes)?;
            }
        }
        Ok(())
    }
}

/// Documents, cut into pieces of at most `most`.
fn pieces(documents: &[Range<usize>], most: usize) -> Vec<Vec<Range<usize>>> {
    let mut pieces = Vec::new();
    let (mut piece, mut left) = (Vec::new(), most);
    for range in documents {
        let mut range = range.clone();
        while !range.is_empty() {
            let end = range.end.min(range.start + left);
            piece.push(range.start..end);
            left -= end - range.start;
            range.start = end;
            if left == 0 {
                pieces.push(std::mem::take(&mut piece));
                left = most;
            }
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_full_and_hold_every_document() {
        let documents = [3..5, 9..20, 20..21, 40..43];
        let cut = pieces(&documents, 4);
        let lengths: Vec<usize> = cut.iter().map(|p| p.iter().map(Range::len).sum()).collect();
        assert_eq!(lengths, [4, 4, 4, 4, 1]);
        let all = cut.into_iter().flatten().flatten();
        assert!(all.eq(documents.into_iter().flatten()));
        assert!(pieces(&[], 4).is_empty());
    }
}
