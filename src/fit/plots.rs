//! Charts of a fit.

use crate::charts::Chart;

use super::Fit;
use super::history::loss_chart;

impl Fit {
    /// Plots the loss and the log-likelihood per token against the epoch.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert!(fit.plot_loss().to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "learning_curve")]
    pub fn plot_loss(&self) -> Chart {
        loss_chart(&self.history)
    }

    /// Plots the structure of L: one column per document with its topics stacked, sorted by dominant topic
    /// ([`sort_documents`](Self::sort_documents)).
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert!(fit.plot_structure().title("Topics").to_svg()?.contains("Topics"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "structure_plot")]
    pub fn plot_structure(&self) -> Chart {
        Chart::structure(&self.l)
    }

    /// Plots the `n` most probable terms of every topic as bars; from 1 to the number of terms.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert!(fit.plot_top_terms(8).to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over F.
    pub fn plot_top_terms(&self, n: usize) -> Chart {
        Chart::top_terms(&self.f, self.terms.as_ref(), n)
    }
}
