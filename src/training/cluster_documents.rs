//! Topics and score of documents, with F fixed, by the ranks of a cluster.

use std::sync::Arc;

use crate::cluster::{RunFolder, State, Task, check_file, check_shards};
use crate::config::{Cluster, Settings, StateValues};
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::Result;
use crate::solvers::{DocumentShards, fold_in_bytes};
use crate::system::memory::check_free;

use super::cluster::{job, run_once};

/// Anonymous memory of a rank in addition to F and its rows of L: MPI, buffers, and what the heap leaves unused.
const PROCESS: u64 = 32 << 20;

/// What ranks have computed for documents.
pub(crate) struct OnRanks {
    /// L, rows summing to one.
    pub(crate) l: Matrix,
    pub(crate) score: f64,
}

/// L of the documents with F (topics x terms) fixed, and its score; only the score where `l` is given.
pub(crate) fn documents_by_ranks(
    settings: &Settings,
    cluster: &Cluster,
    counts: &Counts,
    (l, f): (Option<&Matrix>, &Matrix),
) -> Result<OnRanks> {
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
    let rank_bytes = fold_in_bytes((shards.most_documents(ranks), terms), topics) + PROCESS;
    let mut job = job(settings, (cluster, rank_bytes), counts)?;
    job.topics = topics;
    job.task = match l {
        Some(_) => Task::Score,
        None => Task::Transform,
    };
    let rows = l.map_or(&[][..], Matrix::values);
    folder.write_start(rows, f.transposed().values(), summary.document_lengths())?;
    job.write(&folder)?;
    run_once(settings, cluster, counts, &folder)?;
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
