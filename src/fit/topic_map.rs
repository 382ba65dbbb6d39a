//! A map of topics: points in a plane, whose distances approximate the distances of the topics' terms.

use rayon::prelude::*;

use crate::data::Matrix;

use super::Fit;
use super::eigen::{eigen, shown};

/// Points of topics in a plane.
pub(crate) struct TopicMap {
    /// One point per topic.
    pub points: Vec<[f64; 2]>,
    /// The part of the sum of the squared distances between topics that the plane shows, from 0 to 1.
    pub shown: f64,
}

impl Fit {
    /// A map of the topics (topics x 2): topics with similar terms lie close to each other.
    ///
    /// The columns are the first two principal coordinates (classical scaling, Gower 1966) of the Jensen-Shannon distances of
    /// the topics' terms, as in LDAvis (Sievert and Shirley 2014). The distance is the square root of the Jensen-Shannon
    /// divergence in bits: a metric, from 0 for the same probabilities to 1 for topics without a common term. On the map no
    /// two topics are further apart than that; with more than three topics, some are closer. The mean of each column is 0; the
    /// first column has the larger variance, and the largest entry of each is positive. [`plot_topic_map`](Self::plot_topic_map)
    /// draws it.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let map = fit.topic_map();
    /// assert_eq!(map.shape(), (3, 2));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// O(k² x terms) logarithms on all cores and O(k³) operations.
    #[doc(alias("pcoa", "mds", "cmdscale", "intertopic_distance"))]
    pub fn topic_map(&self) -> Matrix {
        let points = topic_map(&self.f).points;
        let values = points.into_iter().flatten().map(|value| value as f32);
        Matrix::from_parts(self.topics(), 2, values.collect())
    }
}

/// The first two principal coordinates of the rows of F.
pub(crate) fn topic_map(f: &Matrix) -> TopicMap {
    let k = f.rows();
    let squared = jensen_shannon(f);
    // Gower's centring: scalar products of points whose squared distances these are.
    let row_means: Vec<f64> = squared
        .chunks_exact(k)
        .map(|row| row.iter().sum::<f64>() / k as f64)
        .collect();
    let mean = row_means.iter().sum::<f64>() / k as f64;
    let products: Vec<f64> = (0..k * k)
        .map(|at| (row_means[at / k] + row_means[at % k] - mean - squared[at]) / 2.0)
        .collect();
    let all: f64 = (0..k).map(|topic| products[topic * k + topic]).sum();
    let axes: Vec<(f64, Vec<f64>)> = eigen(products, k)
        .into_iter()
        .take(2)
        // As above, NaN stays NaN.
        .map(|(value, vector)| (value.clamp(0.0, f64::INFINITY), vector))
        .collect();
    let coordinate = |topic: usize, axis: usize| match axes.get(axis) {
        Some((value, vector)) => value.sqrt() * vector[topic],
        None => 0.0,
    };
    TopicMap {
        points: (0..k)
            .map(|topic| [coordinate(topic, 0), coordinate(topic, 1)])
            .collect(),
        shown: shown(&axes, all),
    }
}

/// The Jensen-Shannon divergences of the rows of F in bits (topics x topics), from 0 to 1.
pub(super) fn jensen_shannon(f: &Matrix) -> Vec<f64> {
    let k = f.rows();
    let entropies: Vec<f64> = (0..k)
        .into_par_iter()
        .map(|topic| entropy(f.row(topic).iter().map(|&p| f64::from(p))))
        .collect();
    let pairs: Vec<(usize, usize)> = (0..k).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    let divergences: Vec<f64> = pairs
        .par_iter()
        .map(|&(a, b)| {
            let both = f.row(a).iter().zip(f.row(b));
            let mixture = entropy(both.map(|(&p, &q)| (f64::from(p) + f64::from(q)) / 2.0));
            // `max` would replace NaN by 0; `clamp` keeps it.
            (mixture - (entropies[a] + entropies[b]) / 2.0).clamp(0.0, 1.0)
        })
        .collect();
    let mut all = vec![0.0; k * k];
    for (&(a, b), divergence) in pairs.iter().zip(divergences) {
        all[a * k + b] = divergence;
        all[b * k + a] = divergence;
    }
    all
}

/// The entropy of a distribution in bits.
fn entropy(probabilities: impl Iterator<Item = f64>) -> f64 {
    let nats: f64 = probabilities
        .filter(|&p| p != 0.0)
        .map(|p| -p * p.ln())
        .sum();
    nats / std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
        (a[0] - b[0]).hypot(a[1] - b[1])
    }

    #[test]
    fn divergences_are_those_of_the_definition() {
        let f = Matrix::from_parts(
            4,
            3,
            vec![
                0.5, 0.25, 0.25, 0.5, 0.25, 0.25, 0.125, 0.75, 0.125, 0.0, 0.0, 1.0,
            ],
        );
        let found = jensen_shannon(&f);
        for a in 0..4 {
            for b in 0..4 {
                let (p, q) = (f.row(a), f.row(b));
                let expected: f64 = (0..3)
                    .map(|term| {
                        let (p, q) = (f64::from(p[term]), f64::from(q[term]));
                        let half = |x: f64| match x > 0.0 {
                            true => x * (2.0 * x / (p + q)).log2() / 2.0,
                            false => 0.0,
                        };
                        half(p) + half(q)
                    })
                    .sum();
                assert!((found[a * 4 + b] - expected).abs() < 1e-12);
            }
        }
        assert_eq!(found[1], 0.0);
    }

    /// Three topics lie in a plane, so their map keeps the distances.
    #[test]
    fn the_map_of_three_topics_is_exact() {
        let f = Matrix::from_parts(
            3,
            4,
            vec![0.7, 0.1, 0.1, 0.1, 0.1, 0.6, 0.2, 0.1, 0.0, 0.1, 0.1, 0.8],
        );
        let squared = jensen_shannon(&f);
        let map = topic_map(&f);
        for a in 0..3 {
            for b in 0..3 {
                let expected = squared[a * 3 + b].sqrt();
                assert!((distance(map.points[a], map.points[b]) - expected).abs() < 1e-9);
            }
        }
        assert!((map.shown - 1.0).abs() < 1e-9);
    }

    /// Topics without a common term are all 1 apart: a regular simplex, of which a plane shows two of k - 1 equal axes.
    #[test]
    fn a_simplex_is_shown_in_part() {
        let k = 5;
        let mut values = vec![0.0; k * k];
        (0..k).for_each(|topic| values[topic * k + topic] = 1.0);
        let map = topic_map(&Matrix::from_parts(k, k, values));
        assert!((map.shown - 0.5).abs() < 1e-9);
        for a in 0..k {
            for b in 0..a {
                assert!(distance(map.points[a], map.points[b]) <= 1.0 + 1e-9);
            }
        }
    }

    #[test]
    fn one_topic_equal_topics_and_two_topics_have_maps() {
        let one = topic_map(&Matrix::from_parts(1, 2, vec![0.5, 0.5]));
        assert_eq!((one.points, one.shown), (vec![[0.0; 2]], 1.0));
        let equal = topic_map(&Matrix::from_parts(2, 2, vec![0.5; 4]));
        assert_eq!((equal.points, equal.shown), (vec![[0.0; 2]; 2], 1.0));
        let two = topic_map(&Matrix::from_parts(2, 2, vec![1.0, 0.0, 0.0, 1.0]));
        assert!((distance(two.points[0], two.points[1]) - 1.0).abs() < 1e-9);
        assert!(two.points[0][0] > 0.0);
        let diverged = topic_map(&Matrix::from_parts(2, 2, vec![f32::NAN; 4]));
        assert!(diverged.points[0][0].is_nan());
    }
}
