//! The charts of a fit.

use super::Fit;
use crate::charts::{Chart, sort_documents};
use crate::model::loss_chart;
use crate::terms::Terms;

impl Fit {
    /// The loss and the log-likelihood per token over the epochs.
    pub fn plot_loss(&self) -> Chart {
        loss_chart(&self.history)
    }

    /// The structure plot: one column per document, its topics stacked, documents sorted by their dominant topic.
    pub fn plot_structure(&self) -> Chart {
        Chart::structure(&self.l)
    }

    /// The `n` most probable terms of every topic, as bars.
    pub fn plot_top_terms(&self, n: usize) -> Chart {
        Chart::top_terms(&self.f, self.terms.as_ref().map(Terms::as_slice), n)
    }

    /// The documents grouped by dominant topic, in each group by falling proportion: the order of the structure plot.
    pub fn sort_documents(&self) -> Vec<usize> {
        sort_documents(&self.l)
    }
}
