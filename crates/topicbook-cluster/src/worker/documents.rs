//! Topics and score of a rank's documents, with F fixed.

use crate::counts::rows::for_each_file_block;
use crate::error::Result;
use crate::job::{Job, Task};
use crate::record::Event;
use crate::run_folder::RunFolder;
use crate::solvers::{DocumentShards, FoldIn, documents_in_block};
use crate::state::{State, read_at, write_at};

use super::alive::{Alive, Phase};
use super::{Ranks, checked_counts, layouts, tell};

/// Computes the rows of L of this rank's documents, unless they are given, and their part of the score.
pub(super) fn compute(
    folder: &RunFolder,
    job: &Job,
    ranks: &dyn Ranks,
    alive: &Alive,
) -> Result<()> {
    let (documents, terms, topics) = (job.fingerprint.documents, job.fingerprint.terms, job.topics);
    let shards = DocumentShards::new(documents, terms, job.fingerprint.nonzeros());
    let of_rank = |rank| shards.documents(shards.of_rank(rank, ranks.size()));
    let own = of_rank(ranks.rank());
    let (counts, _) = checked_counts(folder, job, own.clone(), (ranks, alive))?;
    alive.phase(Phase::Working);
    let [given, f] = folder.tables(0);
    let f = read_at(&f, 0..terms * topics, f32::from_le_bytes)?;
    let fold_in = FoldIn::for_documents(f, topics, layouts(&counts, job, ranks)?);
    let in_block = documents_in_block(terms);
    let [found, _] = folder.tables(1);
    let (mut l, mut scores) = (Vec::new(), Vec::new());
    let rows = counts.rows(job, false)?;
    for_each_file_block(rows, own.clone(), in_block, &mut |block| {
        alive.block();
        let proportions = match job.task {
            Task::Score => {
                let range = block.first * topics..(block.first + block.rows.len()) * topics;
                read_at(&given, range, f32::from_le_bytes)?
            }
            _ => fold_in.proportions(&block),
        };
        scores.push(fold_in.log_likelihood(&block, &proportions));
        if job.task == Task::Transform {
            l.extend(proportions);
        }
        Ok(())
    })?;
    if job.task == Task::Transform {
        alive.phase(Phase::Writing);
        write_at(&found, own.start * topics, &l, f32::to_le_bytes)?;
    }
    alive.phase(Phase::Waiting);
    // Scores of blocks are added in the order of the documents, as one process adds them.
    if ranks.rank() > 0 {
        ranks.send(&scores, 0);
        return Ok(());
    }
    for rank in 1..ranks.size() {
        let mut of_other = vec![0.0; of_rank(rank).len().div_ceil(in_block)];
        ranks.receive(&mut of_other, rank);
        scores.extend(of_other);
    }
    let state = State {
        passes: 1,
        score: scores.into_iter().fold(0.0, |sum, score| sum + score),
        last: true,
    };
    state.commit(folder)?;
    tell(folder, &Event::Finished)
}
