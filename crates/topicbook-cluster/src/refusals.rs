//! Counts that ranks cannot read or share, refused before a job is made.

use crate::counts::Counts;
use crate::counts::formats::is_table;
use crate::error::{Error, Result};
use crate::solvers::DocumentShards;

/// An error unless the ranks can stream these counts.
pub fn check_file(counts: &Counts) -> Result<()> {
    let files = counts.files();
    if files.is_empty() || !counts.has_row_file() || files.iter().any(|file| is_table(file)) {
        return Err(Error::setting(format!(
            "counts in {} on a cluster: the ranks stream them from a file",
            counts.location()
        ))
        .fix("write them where every rank sees them, and pass what that returns: counts.write_npz(\"X.npz\")?"));
    }
    Ok(())
}

/// An error unless each rank has a shard. `by_batches`: the shards belong to a batch.
pub fn check_shards(ranks: usize, shards: &DocumentShards, by_batches: bool) -> Result<()> {
    if ranks > shards.number() {
        return Err(Error::setting(format!(
            "{ranks} ranks for counts that are cut into {}: each rank sums whole shards",
            match shards.number() {
                1 => "1 shard".into(),
                number => format!("{number} shards"),
            }
        ))
        .fix(format!(
            "use at most {} ranks{}; more shards of these counts would cost more than they save",
            shards.number(),
            if by_batches {
                ", or larger batches"
            } else {
                ""
            }
        )));
    }
    Ok(())
}
