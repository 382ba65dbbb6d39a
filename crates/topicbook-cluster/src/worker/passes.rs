//! Passes of expectation-maximisation or coordinate descent: the sums of all shards are exchanged once a pass.

use std::path::PathBuf;
use std::time::Instant;

use crate::error::Result;
use crate::job::Task;
use crate::solvers::{RankStart, StreamingEm};
use crate::state::{State, read_at, write_at};

use super::{Pass, Phase, Rank, Work};

pub(super) struct Passes(StreamingEm);

impl Passes {
    /// `lengths`: the lengths of the rank's documents, in tokens.
    pub(super) fn new(rank: &Rank<'_>, lengths: Vec<f64>, state: State) -> Result<Self> {
        let job = &rank.job;
        let (terms, topics, own) = (job.fingerprint.terms, job.topics, &rank.own);
        let [l, f] = rank.folder.tables(state.passes);
        let start = RankStart {
            descent: job.task == Task::Descent,
            shards: rank.shards,
            own: rank.own_shards.clone(),
            topics,
            terms,
            tokens: job.fingerprint.total(),
            entropy: job.entropy,
            lengths,
            l: read_at(&l, own.start * topics..own.end * topics, f32::from_le_bytes)?,
            f: read_at(&f, 0..terms * topics, f32::from_le_bytes)?,
        };
        Ok(Self(StreamingEm::of_rank(start, rank.layouts()?)))
    }
}

impl Work for Passes {
    fn pass(&mut self, rank: &Rank<'_>, before: State) -> Result<Pass> {
        let began = Instant::now();
        rank.alive.phase(Phase::Working);
        let rows = rank.counts.rows(&rank.job, false)?;
        let own = rank.own.clone();
        self.0.pass_of_rank(rows, own, &mut || rank.block())?;
        let working = began.elapsed();
        rank.exchange(self.0.tree());
        let (mut score, mut converged) = (0.0, false);
        if rank.ranks.rank() == 0 {
            let iteration = self.0.update();
            score = iteration.score;
            converged = iteration.converged(before.score, rank.job.tolerance);
        }
        rank.ranks.broadcast(self.0.f_mut());
        Ok(Pass {
            working,
            score,
            converged,
        })
    }

    fn write(&self, rank: &Rank<'_>, [l, f]: &[PathBuf; 2]) -> Result<()> {
        let first = rank.own.start * rank.job.topics;
        write_at(l, first, self.0.l(), f32::to_le_bytes)?;
        match rank.ranks.rank() {
            0 => write_at(f, 0, self.0.f(), f32::to_le_bytes),
            _ => Ok(()),
        }
    }
}
