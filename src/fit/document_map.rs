//! A map of documents: the first two principal components of L.

use rayon::prelude::*;

use crate::data::Matrix;

use super::Fit;
use super::eigen::{eigen, shown};

/// Points of documents in a plane.
pub(crate) struct DocumentMap {
    /// One point per document.
    pub points: Vec<[f64; 2]>,
    /// The part of the variance of L that the plane shows, from 0 to 1.
    pub shown: f64,
}

impl Fit {
    /// A map of the documents (documents x 2): the first two principal components of L. Documents with similar topics lie
    /// close to each other; [`plot_document_map`](Self::plot_document_map) draws it.
    ///
    /// The mean of each column is 0; the first column has the larger variance, and the largest entry of each axis is positive.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.document_map().shape(), (60, 2));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// O(documents x k²) operations on all cores in three passes over L, and O(k³).
    #[doc(alias("pca", "PCA", "umap"))]
    pub fn document_map(&self) -> Matrix {
        let points = self.map_documents().points;
        let values = points.into_iter().flatten().map(|value| value as f32);
        Matrix::from_parts(self.documents(), 2, values.collect())
    }

    pub(super) fn map_documents(&self) -> DocumentMap {
        let k = self.topics();
        let means = self.topic_shares();
        let products = self.centred_products(&means);
        let all: f64 = (0..k).map(|topic| products[topic * k + topic]).sum();
        let axes: Vec<(f64, Vec<f64>)> = eigen(products, k).into_iter().take(2).collect();
        let points = (0..self.documents())
            .into_par_iter()
            .map(|document| {
                let row = self.l.row(document);
                let coordinate = |axis: usize| {
                    axes.get(axis).map_or(0.0, |(_, vector)| {
                        let deviations =
                            row.iter().zip(&means).map(|(&p, mean)| f64::from(p) - mean);
                        deviations
                            .zip(vector)
                            .map(|(deviation, v)| deviation * v)
                            .sum()
                    })
                };
                [coordinate(0), coordinate(1)]
            })
            .collect();
        DocumentMap {
            points,
            shown: shown(&axes, all),
        }
    }
}
