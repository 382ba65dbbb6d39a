//! Memory that a fit used, as a chart and as a table.

#[cfg(feature = "charts")]
use crate::charts::Chart;
#[cfg(feature = "polars")]
use crate::data::Table;

use super::Fit;
use super::memory_profile::MemoryProfile;

impl Fit {
    /// The highest anonymous memory of the process during the fit, in bytes; `None` for a fit without a record of its
    /// memory.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert!(fit.peak_memory().is_some_and(|bytes| bytes > 0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "rss")]
    pub fn peak_memory(&self) -> Option<u64> {
        self.memory.as_deref().map(MemoryProfile::peak)
    }

    /// Plots memory over the time of the fit: the process's anonymous memory with its budget and prediction, the pages
    /// of files it used, and VRAM if there is a GPU or a budget for one. The phases of the fit are shown above. The chart is
    /// empty for a fit without a record of its memory.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert!(fit.plot_memory().to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "charts")]
    pub fn plot_memory(&self) -> Chart {
        match &self.memory {
            Some(profile) => profile.chart(),
            None => Chart::memory(Vec::new(), Vec::new(), 0.0),
        }
    }

    /// Table of memory peaks, one row per kind of memory: budget, predicted and measured peak in MiB, and the error of
    /// the prediction in percent of the measured peak. Empty if the fit has no record of its memory.
    ///
    /// RAM is sampled 100 times a second at first, and less often later in long fits.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert!(fit.memory().column("measured peak, MiB")?.f64()?.get(0).is_some_and(|mib| mib > 0.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn memory(&self) -> Table {
        self.memory.as_deref().map_or_else(
            || Table::from(polars::prelude::DataFrame::default()),
            MemoryProfile::table,
        )
    }
}
