//! Memory that a fit used, as a chart and as tables.

#[cfg(feature = "charts")]
use std::path::Path;

#[cfg(feature = "charts")]
use crate::charts::{Chart, save};
#[cfg(feature = "polars")]
use crate::data::Table;
#[cfg(feature = "charts")]
use crate::error::Result;
#[cfg(feature = "charts")]
use crate::text::{Card, bytes};

use super::Fit;
#[cfg(any(feature = "polars", feature = "charts"))]
use super::memory_phases::PhaseRow;
use super::memory_profile::MemoryProfile;

impl Fit {
    /// The highest anonymous memory of the process during the fit, in bytes; `None` for a fit without a record of its
    /// memory.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
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
    /// # let (_, fit) = topicbook::example_fit()?;
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
    /// # let (_, fit) = topicbook::example_fit()?;
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

    /// Table of the fit's phases, with what its plan predicts and what was measured: `phase`, `memory` (RAM or VRAM), `item`,
    /// `predicted, MiB`, `measured, MiB`, and `measurement`, which says what the measured size is. Empty for a fit without a
    /// record of its memory.
    ///
    /// | `item` | `measured, MiB` |
    /// |---|---|
    /// | `everything` | the peak of the phase; of VRAM what the allocator has reserved |
    /// | `added by this phase` | the peak above the start of the phase, or of the step it belongs to; of VRAM what is in use |
    /// | an item of the plan | the same, where it is the only one that the phase adds; else empty, and `not separable` |
    ///
    /// A rise can be less than predicted, because memory that Burn keeps between steps is already in use when it starts. The
    /// peaks of `everything` can be compared.
    ///
    /// Steps on tensors ([`GradientStep`](crate::GradientStep)) have two phases: gradients are computed, and tables updated. RAM is
    /// sampled every 10 ms, and both RAM and VRAM are where forward pass, backward pass and update of the first steps begin and
    /// end. The fused step has one phase: it allocates its buffers before the first batch.
    ///
    /// ```
    /// # use topicbook::{GradientStep, Solver, TopicModel};
    /// # let (counts, _) = topicbook::example_fit()?;
    /// use topicbook::polars::prelude::*;
    /// let tensors = Solver::mini_batch().step(GradientStep::Autodiff);
    /// let fit = TopicModel::new(3).epochs(5).solver(tensors).quiet().fit(&counts)?;
    /// let added = fit.memory_by_phase().filter(col("item").eq(lit("added by this phase")))?;
    /// assert!(added.height() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn memory_by_phase(&self) -> Table {
        super::memory_phases::table(self.phases())
    }

    #[cfg(any(feature = "polars", feature = "charts"))]
    fn phases(&self) -> &[PhaseRow] {
        self.memory.as_deref().map_or(&[], MemoryProfile::phases)
    }

    /// Writes memory over the time of the fit as an HTML page: the chart of [`plot_memory`](Self::plot_memory), and the table of
    /// [`memory_by_phase`](Self::memory_by_phase). The page is light or dark as the reader's system, and needs no network. The
    /// write is atomic.
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
    /// # let (_, fit) = topicbook::example_fit()?;
    /// fit.save_memory_html("memory.html")?;
    /// assert!(std::fs::read_to_string("memory.html").unwrap().contains("<svg"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the fit has no record of its memory, or the file cannot be written.
    #[cfg(feature = "charts")]
    #[doc(alias = "memory_snapshot")]
    pub fn save_memory_html(&self, path: impl AsRef<Path>) -> Result<()> {
        let size = |size: Option<u64>| size.map_or(String::new(), bytes);
        let line = |row: &PhaseRow| {
            vec![
                row.phase.clone(),
                row.memory.clone(),
                row.item.clone(),
                row.measurement.clone(),
                size(row.predicted),
                size(row.measured),
            ]
        };
        let headings = [
            "phase",
            "memory",
            "item",
            "measurement",
            "predicted",
            "measured",
        ];
        let rows = self.phases().iter().map(line).collect();
        let card = Card::new("Phases against the plan").grid(&headings, rows);
        let page = self
            .plot_memory()
            .title("Memory of a fit")
            .html_page(&card.html())?;
        save(path.as_ref(), page.as_bytes())
    }
}
