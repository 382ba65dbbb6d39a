//! A pass over texts: batches are read ahead, processed on all cores, and their results taken in order.

use rayon::prelude::*;

use crate::error::Result;
use crate::system::{Progress, Throughput};
use crate::text::bytes;

use super::texts::{Batch, Reader, Texts};

/// Batches that are processed at the same time. Fixed, so that what happens between groups does not depend on the cores.
const GROUP: usize = 8;

/// Progress of passes over texts, by the bytes that are read.
pub(super) struct PassProgress {
    progress: Progress,
    read: u64,
}

/// Bytes per unit of progress.
const UNIT: u64 = 1 << 20;

impl PassProgress {
    /// `what` is done with the texts.
    pub(super) fn new(what: &str, texts: &Texts) -> Self {
        let total = texts.bytes().div_ceil(UNIT).max(1);
        let title = format!("{what} {} of text", bytes(texts.bytes()));
        Self {
            progress: Progress::in_units(title, ("MiB", total), 2, Throughput::Bytes(UNIT as f64)),
            read: 0,
        }
    }

    fn advance(&mut self, bytes: u64) -> Result<()> {
        let before = self.read / UNIT;
        self.read += bytes;
        self.progress.advance((self.read / UNIT - before) as usize)
    }
}

/// Reads all batches. `work` makes a result of each, on several threads; `between` is called when no thread is working; `take`
/// gets the results in the order of the batches, while the next ones are processed.
pub(super) fn for_each_batch<R: Send>(
    mut reader: Reader,
    progress: &mut PassProgress,
    work: impl Fn(&Batch) -> Result<R> + Sync,
    mut between: impl FnMut() -> Result<()>,
    mut take: impl FnMut(R) -> Result<()> + Send,
) -> Result<()> {
    let mut group = read_group(&mut reader)?;
    let mut results: Vec<Result<R>> = Vec::new();
    while !group.is_empty() || !results.is_empty() {
        let ((done, taken), next) = rayon::join(
            || {
                rayon::join(
                    || group.par_iter().map(&work).collect::<Vec<Result<R>>>(),
                    || results.drain(..).try_for_each(|result| take(result?)),
                )
            },
            || read_group(&mut reader),
        );
        taken?;
        progress.advance(group.iter().map(|batch| batch.bytes).sum())?;
        between()?;
        (group, results) = (next?, done);
    }
    reader.check_unchanged()
}

fn read_group(reader: &mut Reader) -> Result<Vec<Batch>> {
    let mut group = Vec::with_capacity(GROUP);
    while group.len() < GROUP {
        match reader.next()? {
            Some(batch) => group.push(batch),
            None => break,
        }
    }
    Ok(group)
}
