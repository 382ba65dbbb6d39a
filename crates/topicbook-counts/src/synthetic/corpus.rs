//! Synthetic counts with the true L and F they were drawn from.

use crate::Counts;
#[cfg(feature = "charts")]
use crate::charts::Chart;
use crate::data::Matrix;

use super::Synthetic;

/// Counts and the true L and F they were drawn from. Made by [`Synthetic`]; cheap to clone.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?;
/// let fit = TopicModel::new(3).epochs(50).quiet().fit(corpus.counts())?.align_to(corpus.true_f())?;
/// // The total variation between the learned and the true proportions of document 0:
/// let (learned, truth) = (fit.l(), corpus.true_l());
/// let pairs = learned.row(0).iter().zip(truth.row(0));
/// assert!(0.5 * pairs.map(|(a, b)| (a - b).abs()).sum::<f32>() < 0.3);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Corpus {
    #[doc(hidden)]
    pub recipe: Synthetic,
    #[doc(hidden)]
    pub counts: Counts,
    #[doc(hidden)]
    pub true_l: Matrix,
    #[doc(hidden)]
    pub true_f: Matrix,
}

impl Corpus {
    pub(super) fn new(recipe: Synthetic, counts: Counts, true_l: Matrix, true_f: Matrix) -> Self {
        Self {
            recipe,
            counts,
            true_l,
            true_f,
        }
    }

    /// The counts: documents x terms. A handle, not a copy.
    ///
    /// ```
    /// let corpus = topicbook::Synthetic::new(50, 20, 3).generate()?;
    /// assert_eq!(corpus.counts().shape(), (50, 20));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// The true L: documents x topics, rows summing to one. A handle, not a copy.
    ///
    /// ```
    /// let corpus = topicbook::Synthetic::new(50, 20, 3).generate()?;
    /// assert_eq!(corpus.true_l().shape(), (50, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("theta", "loadings"))]
    pub fn true_l(&self) -> Matrix {
        self.true_l.clone()
    }

    /// The true F: topics x terms, rows summing to one. A handle, not a copy.
    ///
    /// ```
    /// let corpus = topicbook::Synthetic::new(50, 20, 3).generate()?;
    /// assert_eq!(corpus.true_f().shape(), (3, 20));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("phi", "components_"))]
    pub fn true_f(&self) -> Matrix {
        self.true_f.clone()
    }

    /// The structure plot of the true L; see [`Chart::structure`].
    ///
    /// ```
    /// let corpus = topicbook::Synthetic::new(50, 20, 3).generate()?;
    /// assert!(corpus.plot_structure().to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "charts")]
    pub fn plot_structure(&self) -> Chart {
        Chart::structure(&self.true_l)
    }
}
