//! Topics and score of documents, with F fixed, by the ranks of a cluster.

use std::sync::Arc;

use crate::cluster::{RunFolder, State, Task, check_file, check_shards};
use crate::config::{Cluster, StateValues};
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::Result;
use crate::fit::Fit;
use crate::solvers::{DocumentShards, fold_in_bytes};
use crate::system::memory::check_free;

use super::cluster::{RANK_PROCESS, job, run_once};

/// An allowance for the blocks of documents that a rank reads; the plan of a fit computes them from the counts.
const BLOCKS: u64 = 20 << 20;

/// What ranks have computed for documents.
pub(crate) struct OnRanks {
    /// L, rows summing to one.
    pub(crate) l: Matrix,
    pub(crate) score: f64,
}

/// L of the documents with F of a fit fixed, and its score; only the score where `l` is given.
pub(crate) fn documents_by_ranks(
    fit: &Fit,
    cluster: &Cluster,
    counts: &Counts,
    l: Option<&Matrix>,
) -> Result<OnRanks> {
    let (settings, f) = (fit.settings(), fit.f());
    cluster.check()?;
    check_file(counts)?;
    let summary = counts.summary()?;
    let (documents, terms) = counts.shape();
    let topics = f.rows();
    let shards = DocumentShards::new(documents, terms, summary.nonzeros());
    let ranks = cluster.ranks()?;
    check_shards(ranks, &shards, false)?;
    let table = 4 * (documents * topics) as u64;
    check_free(2 * table, "the topics of these documents")?;
    let folder = Arc::new(RunFolder::create(
        &cluster.run_parent()?,
        counts.shape(),
        topics,
        StateValues::default(),
    )?);
    let own = (shards.most_documents(ranks), terms);
    let rank_bytes = fold_in_bytes(own, topics) + BLOCKS + RANK_PROCESS;
    let mut job = job(&settings, cluster, counts, rank_bytes)?;
    job.topics = topics;
    job.task = match l {
        Some(_) => Task::Score,
        None => Task::Transform,
    };
    let rows = l.map_or(&[][..], Matrix::values);
    folder.write_start(rows, f.transposed().values(), summary.document_lengths())?;
    job.write(&folder)?;
    run_once(&settings, cluster, counts, &folder)?;
    let state = State::read(&folder)?;
    let l = match l {
        Some(l) => l.clone(),
        None => folder.documents((documents, topics))?,
    };
    Ok(OnRanks {
        l,
        score: state.score,
    })
}
