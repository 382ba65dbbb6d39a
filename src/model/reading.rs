//! How a fit reads its counts.

use super::TopicModel;
use super::settings::Settings;
use super::start::orders;
use crate::counts::Counts;
use crate::error::Result;
use crate::loader::{InPlace, Reading, Source, Streamed};

impl TopicModel {
    /// How the fit reads its counts; [`Reading::Auto`] by default. The batches, and so the fit, depend on it: they are
    /// a function of the seed and of the sizes of the stream, and of nothing else.
    ///
    /// ```no_run
    /// use topicbook::{Counts, Reading, TopicModel};
    /// let counts = Counts::open("X.npy")?;
    /// let fit = TopicModel::new(10)
    ///     .reading(Reading::Stream { block: 16, blocks: 128 })
    ///     .fit(&counts)?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn reading(mut self, reading: Reading) -> Self {
        self.settings.reading = reading;
        self
    }

    pub(super) fn source<'a>(
        &self,
        settings: &Settings,
        counts: &'a Counts,
    ) -> Result<Box<dyn Source + 'a>> {
        let batch_size = settings.batch_size;
        if let Some(shuffle) = settings.reading.shuffle()
            && let Some(stored) = counts.stored(counts.better_sparse()?)?
        {
            let (seed, end) = (settings.seed, settings.epochs);
            return Ok(Box::new(Streamed::new(
                stored, shuffle, batch_size, seed, end,
            )?));
        }
        let (documents, terms) = counts.shape();
        let mut orders = orders(settings, documents, terms);
        let order = Box::new(move |epoch| orders.of(epoch));
        Ok(Box::new(InPlace::new(counts, batch_size, order)))
    }
}
