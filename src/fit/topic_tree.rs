//! Distances of topics, a tree of them, and the order that it gives.

use crate::data::Matrix;

use super::Fit;
use super::topic_map::jensen_shannon;

/// Two clusters of topics that are joined: cluster `k + i` is the result of the i-th join.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Join {
    pub left: usize,
    pub right: usize,
    /// The mean distance of their topics.
    pub distance: f64,
}

impl Fit {
    /// The Jensen-Shannon distances of the topics' terms (topics x topics): the square root of the divergence in bits, from 0
    /// for the same probabilities to 1 for topics without a common term.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let distances = fit.topic_distances();
    /// assert_eq!(distances.row(1)[1], 0.0);
    /// assert_eq!(distances.row(0)[2], distances.row(2)[0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// O(k² x terms) logarithms on all cores.
    #[doc(alias("jensen_shannon", "topic_similarity"))]
    pub fn topic_distances(&self) -> Matrix {
        let k = self.topics();
        let squared = jensen_shannon(&self.f).into_iter();
        Matrix::from_parts(k, k, squared.map(|d| d.sqrt() as f32).collect())
    }

    /// An order of the topics in which similar ones are neighbours: the order of the leaves of
    /// [`plot_topic_tree`](Self::plot_topic_tree). [`reorder_topics`](Self::reorder_topics) puts the fit into it.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let sorted = fit.reorder_topics(fit.topic_order())?;
    /// assert_eq!(sorted.topics(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// As [`topic_distances`](Self::topic_distances), and O(k³) operations.
    #[doc(alias("dendrogram", "hclust"))]
    pub fn topic_order(&self) -> Vec<usize> {
        self.topic_tree().1
    }

    /// The joins of the topics by their mean distances, and the order of the leaves.
    pub(super) fn topic_tree(&self) -> (Vec<Join>, Vec<usize>) {
        let k = self.topics();
        let squared = jensen_shannon(&self.f).into_iter();
        let distances: Vec<f64> = squared.map(f64::sqrt).collect();
        let joins = average_linkage(distances.clone(), k);
        let order = leaves(&joins, k, &|a, b| distances[a * k + b] as f32);
        (joins, order)
    }
}

/// Joins the two nearest clusters until one is left (Sokal and Michener 1958, UPGMA). The distance of two clusters is the mean
/// of the distances of their members; of equal distances the first counts.
fn average_linkage(mut distances: Vec<f64>, k: usize) -> Vec<Join> {
    // Row i of `distances` belongs to cluster `ids[i]`; `sizes` is zero for a row whose cluster was joined to another.
    let mut ids: Vec<usize> = (0..k).collect();
    let mut sizes = vec![1.0; k];
    (1..k)
        .map(|step| {
            let (mut left, mut right, mut least) = (0, 0, f64::INFINITY);
            for a in (0..k).filter(|&a| sizes[a] > 0.0) {
                for b in (a + 1..k).filter(|&b| sizes[b] > 0.0) {
                    let is_first = left == right;
                    if is_first || distances[a * k + b] < least {
                        (left, right, least) = (a, b, distances[a * k + b]);
                    }
                }
            }
            let (m, n) = (sizes[left], sizes[right]);
            for other in 0..k {
                let mean =
                    (m * distances[left * k + other] + n * distances[right * k + other]) / (m + n);
                distances[left * k + other] = mean;
                distances[other * k + left] = mean;
            }
            let join = Join {
                left: ids[left],
                right: ids[right],
                distance: least,
            };
            ids[left] = k + step - 1;
            (sizes[left], sizes[right]) = (m + n, 0.0);
            join
        })
        .collect()
}

/// The topics from left to right: each join flips its two parts so that the topics which meet are as near as possible.
fn leaves(joins: &[Join], k: usize, distance: &dyn Fn(usize, usize) -> f32) -> Vec<usize> {
    let mut clusters: Vec<Vec<usize>> = (0..k).map(|topic| vec![topic]).collect();
    for join in joins {
        let (left, right) = (&clusters[join.left], &clusters[join.right]);
        let turned = |cluster: &[usize], turn: bool| -> Vec<usize> {
            match turn {
                true => cluster.iter().rev().copied().collect(),
                false => cluster.to_vec(),
            }
        };
        let mut best: Option<(f32, Vec<usize>)> = None;
        for (turn_left, turn_right) in [(false, false), (false, true), (true, false), (true, true)]
        {
            let (left, right) = (turned(left, turn_left), turned(right, turn_right));
            let gap = distance(left[left.len() - 1], right[0]);
            if best.as_ref().is_none_or(|(least, _)| gap < *least) {
                best = Some((gap, [left, right].concat()));
            }
        }
        clusters.push(best.map(|(_, order)| order).unwrap_or_default());
    }
    clusters.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `linkage(squareform(distances), "average")`.
    #[test]
    fn joins_are_those_of_scipy() {
        let distances = [
            [0.0, 0.2, 0.9, 0.7, 0.8],
            [0.2, 0.0, 0.85, 0.75, 0.6],
            [0.9, 0.85, 0.0, 0.3, 0.5],
            [0.7, 0.75, 0.3, 0.0, 0.4],
            [0.8, 0.6, 0.5, 0.4, 0.0],
        ];
        let joins = average_linkage(distances.concat(), 5);
        let expected = [
            (0, 1, 0.2),
            (2, 3, 0.3),
            (6, 4, 0.45),
            (5, 7, 0.766_666_666_666_666_6),
        ];
        for (join, (left, right, distance)) in joins.iter().zip(expected) {
            assert_eq!((join.left, join.right), (left, right), "{joins:?}");
            assert!((join.distance - distance).abs() < 1e-12, "{joins:?}");
        }
        let near = |a: usize, b: usize| distances[a][b] as f32;
        // 1 and 4 meet, which are nearer than 0 or 1 is to the others.
        assert_eq!(leaves(&joins, 5, &near), [0, 1, 4, 3, 2]);
    }

    #[test]
    fn one_topic_and_diverged_ones_have_an_order() {
        assert_eq!(average_linkage(vec![0.0], 1), []);
        assert_eq!(leaves(&[], 1, &|_, _| 0.0), [0]);
        let joins = average_linkage(vec![f64::NAN; 9], 3);
        let mut order = leaves(&joins, 3, &|_, _| f32::NAN);
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2]);
    }
}
