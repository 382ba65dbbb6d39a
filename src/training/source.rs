//! Chooses the source of a fit's batches.

use crate::batches::{InPlace, Source, Streamed};
use crate::config::Settings;
use crate::counts::Counts;
use crate::error::Result;

use super::init::orders;

/// Streams batches from the file if the settings ask for a stream and the counts are stored in one; otherwise reads
/// them in place.
pub(crate) fn source<'a>(settings: &Settings, counts: &'a Counts) -> Result<Box<dyn Source + 'a>> {
    let batch_size = settings.batch_size();
    if let Some(shuffle) = settings.reading.shuffle()
        && let Some(row_file) = counts.row_file(counts.is_buffered_as_csr()?)?
    {
        let (seed, end) = (settings.seed, settings.epochs);
        return Ok(Box::new(Streamed::new(
            (row_file, counts.largest_known()),
            shuffle,
            batch_size,
            seed,
            end,
        )?));
    }
    let (documents, terms) = counts.shape();
    let mut orders = orders(settings, documents, terms);
    let order = Box::new(move |epoch| orders.of(epoch));
    Ok(Box::new(InPlace::new(counts, batch_size, order)))
}
