//! What the fit did to the memory.

use super::Fit;
use crate::charts::Chart;
use crate::memory::Profile;
use crate::table::Table;

impl Fit {
    /// Memory over the time of the fit: what the process held for itself against budget and prediction, the pages of
    /// files it used, and VRAM where there is a card or a budget for one; above them what the fit was doing.
    ///
    /// A fit from a file that an earlier version wrote has no record of its memory: then there is nothing to draw.
    pub fn plot_memory(&self) -> Chart {
        match &self.memory {
            Some(profile) => profile.chart(),
            None => Chart::memory(Vec::new(), Vec::new(), 0.0),
        }
    }

    /// Peaks of memory: budget, predicted, measured, and the error of the prediction in percent of the measured peak.
    /// Empty where there is no record (see [`plot_memory`](Self::plot_memory)).
    ///
    /// RAM is sampled 100 times a second at first, less often in long fits.
    pub fn memory(&self) -> Table {
        self.memory.as_deref().map_or_else(
            || Table::from(polars::prelude::DataFrame::default()),
            Profile::table,
        )
    }
}
