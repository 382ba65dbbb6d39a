//! Which topics occur in the same documents.

use rayon::prelude::*;

use crate::data::Matrix;

use super::Fit;

/// The documents are summed in at most `BLOCKS` blocks of at least `SMALLEST_BLOCK` documents each. Both are fixed, so that
/// results do not depend on the number of threads.
const BLOCKS: usize = 16;
const SMALLEST_BLOCK: usize = 4096;

impl Fit {
    /// The correlations of the topics (topics x topics): Pearson's coefficient of two columns of L over all documents, from
    /// -1 to 1. Topics that share documents are above zero.
    ///
    /// Proportions of a document sum to one, so that k topics of independent documents correlate by about -1 / (k - 1), not
    /// by 0. A topic with the same proportion in every document correlates with none: 0, and 1 with itself.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let correlation = fit.topic_correlation();
    /// assert_eq!(correlation.shape(), (3, 3));
    /// assert_eq!(correlation.row(1)[1], 1.0);
    /// assert_eq!(correlation.row(0)[2], correlation.row(2)[0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// O(documents x k²) operations in two passes over L, on all cores, and 128 bytes x k² of memory.
    #[doc(alias("corr", "corrcoef", "topicCorr"))]
    pub fn topic_correlation(&self) -> Matrix {
        let k = self.topics();
        let products = self.centred_products(&self.topic_shares());
        let deviations: Vec<f64> = (0..k).map(|a| products[a * k + a].sqrt()).collect();
        let correlation = (0..k * k).map(|at| {
            let (a, b) = (at / k, at % k);
            let scale = deviations[a] * deviations[b];
            match (a == b, scale > 0.0) {
                (true, _) => 1.0,
                (false, true) => (products[at] / scale) as f32,
                (false, false) => 0.0,
            }
        });
        Matrix::from_parts(k, k, correlation.collect())
    }

    /// The mean of each column of L over the documents that have counts.
    pub(super) fn topic_shares(&self) -> Vec<f64> {
        let sums = self.sum_over_documents(self.topics(), |row, sums| {
            for (sum, &proportion) in sums.iter_mut().zip(row) {
                *sum += f64::from(proportion);
            }
        });
        let documents = self.with_counts().max(1) as f64;
        sums.into_iter().map(|sum| sum / documents).collect()
    }

    /// The sums over the documents of the products of two columns of L, less their means (topics x topics).
    pub(super) fn centred_products(&self, means: &[f64]) -> Vec<f64> {
        let k = self.topics();
        self.sum_over_documents(k * k, |row, sums| {
            for (a, sums) in sums.chunks_exact_mut(k).enumerate() {
                let deviation = f64::from(row[a]) - means[a];
                for (b, sum) in sums.iter_mut().enumerate() {
                    *sum += deviation * (f64::from(row[b]) - means[b]);
                }
            }
        })
    }

    /// Sums `length` values over the rows of L of documents that have counts: in blocks of documents, then over the blocks in their order.
    fn sum_over_documents(
        &self,
        length: usize,
        add: impl Fn(&[f32], &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let block = self.documents().div_ceil(BLOCKS).max(SMALLEST_BLOCK);
        let blocks: Vec<usize> = (0..self.documents()).step_by(block).collect();
        let partial: Vec<Vec<f64>> = blocks
            .into_par_iter()
            .map(|first| {
                let mut sums = vec![0.0; length];
                let documents = first..self.documents().min(first + block);
                for document in documents.filter(|&document| !self.has_no_counts(document)) {
                    add(self.l.row(document), &mut sums);
                }
                sums
            })
            .collect();
        let mut sums = vec![0.0; length];
        for partial in partial {
            for (sum, partial) in sums.iter_mut().zip(partial) {
                *sum += partial;
            }
        }
        sums
    }
}
