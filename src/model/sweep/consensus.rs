//! The consensus of the fits of a sweep.

use crate::error::Result;
use crate::fit::Consensus;

use super::fits::SweepFits;

impl SweepFits {
    /// The topics that most of the fits with this number of topics have, and a fit of them to all documents that
    /// [`Sweep::fit`](super::Sweep::fit) was given: consensus factorization (Kotliar et al. 2019, *Identifying gene expression programs
    /// of cell-type identity and cellular activity with single-cell RNA-Seq*), with the numbers of its program cNMF.
    ///
    /// The topics of all seeds get length 1. A topic whose mean distance to its nearest neighbours, 30% as many as there are
    /// seeds, is 0.5 or more is dropped: few other fits have found it. The others are divided into `topics` clusters by k-means.
    /// A topic of the consensus has the median of each term over its cluster, divided by the sum of the medians. L is then found
    /// with F fixed, as by [`Fit::transform`](crate::Fit::transform), for the training and the held-out documents alike; F has not
    /// seen the held-out ones.
    ///
    /// cNMF takes 20 to 200 seeds. The same fits give the same consensus on every machine. [`Consensus`] says how well the
    /// fits agree.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let corpus = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?;
    /// let sweep = TopicModel::sweep([4]).seeds(20).quiet().fit(&corpus)?;
    /// let consensus = sweep.consensus(4)?;
    /// println!("{}", consensus.table());
    /// assert_eq!(consensus.fit().l().shape(), (300, 4));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit); with one seed or one topic; when fewer topics than `topics` are left after those without near
    /// neighbours are dropped; when the counts cannot be read any more, or memory is too small.
    ///
    /// # Cost
    /// O(n² x terms) operations for n topics of all fits, on all cores, and 16 bytes x n² of memory; then that of
    /// [`Fit::transform`](crate::Fit::transform).
    #[doc(alias("cNMF", "ensemble"))]
    pub fn consensus(&self, topics: usize) -> Result<Consensus> {
        let group = self.group(topics)?;
        let (counts, names) = &self.documents;
        Consensus::of(&group.f, &group.best, (counts, names))
    }
}
