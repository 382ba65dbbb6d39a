//! How much the topics differ in their most probable terms: diversity and exclusivity.

use std::collections::HashSet;

use crate::data::top_n;

use super::Fit;

impl Fit {
    /// The diversity of the topics: the part of their `n` most probable terms that is different, from 1/k (all topics have the
    /// same terms) to 1 (no term is in two topics). It exposes topics that are coherent but all alike. It was proposed by
    /// Dieng, Ruiz and Blei (2020, *Topic modeling in embedding spaces*), with n = 25; gensim and tomotopy have no such
    /// measure.
    ///
    /// `n` is capped at the number of terms; for n = 0 the diversity is 1.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert!((1.0 / 3.0..=1.0).contains(&fit.diversity(10)));
    /// assert_eq!(fit.diversity(30), 1.0 / 3.0); // of all 30 terms
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over F.
    #[doc(alias = "topic_diversity")]
    pub fn diversity(&self, n: usize) -> f64 {
        let lists = (0..self.topics()).map(|topic| top_n(self.f.row(topic), n));
        let lists: Vec<Vec<usize>> = lists.collect();
        let all: usize = lists.iter().map(Vec::len).sum();
        let different: HashSet<&usize> = lists.iter().flatten().collect();
        match all {
            0 => 1.0,
            all => different.len() as f64 / all as f64,
        }
    }

    /// The exclusivity of each topic: the mean, over its `n` most probable terms, of the probability of a term in the topic
    /// divided by the sum of its probabilities in all topics. It goes from 1/k (its terms are as probable in every topic) to 1
    /// (no other topic has them).
    ///
    /// It is the measure of MALLET's topic diagnostics. stm's `exclusivity` is another one: it sums FREX, a mean of two ranks,
    /// so that it has no fixed range. `n` is capped at the number of terms; for n = 0 every value is 1.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let exclusivity = fit.exclusivity(10);
    /// assert_eq!(exclusivity.len(), 3);
    /// assert!(exclusivity.iter().all(|value| (1.0 / 3.0 - 1e-6..=1.0).contains(value)));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over F.
    pub fn exclusivity(&self, n: usize) -> Vec<f64> {
        let topics = 0..self.topics();
        let of_topic = |topic: usize| {
            let row = self.f.row(topic);
            let shares = top_n(row, n).into_iter().map(|term| {
                let sum: f64 = topics
                    .clone()
                    .map(|other| f64::from(self.f.row(other)[term]))
                    .sum();
                match sum > 0.0 {
                    true => f64::from(row[term]) / sum,
                    // A term that no topic has says nothing against the topic.
                    false => 1.0,
                }
            });
            let shares: Vec<f64> = shares.collect();
            match shares.len() {
                0 => 1.0,
                number => shares.iter().sum::<f64>() / number as f64,
            }
        };
        topics.clone().map(of_topic).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::data::Matrix;

    fn with(f: Vec<f32>, k: usize) -> Fit {
        let terms = f.len() / k;
        let (l, f) = (
            Matrix::new(1, k, vec![1.0 / k as f32; k]).unwrap(),
            Matrix::new(k, terms, f).unwrap(),
        );
        Fit::new(Settings::new(k), l, f, None, Vec::new(), "CPU".into(), None)
    }

    #[test]
    fn topics_that_share_terms_are_less_diverse_and_exclusive() {
        let apart = with(vec![0.6, 0.4, 0.0, 0.0, 0.0, 0.0, 0.7, 0.3], 2);
        assert_eq!(
            (apart.diversity(2), apart.exclusivity(2)),
            (1.0, vec![1.0, 1.0])
        );
        let alike = with(vec![0.5, 0.25, 0.25, 0.5, 0.25, 0.25], 2);
        assert_eq!(
            (alike.diversity(2), alike.exclusivity(2)),
            (0.5, vec![0.5, 0.5])
        );
        // Terms 0 and 1 of the first topic, 1 and 2 of the second: three of four differ.
        let between = with(vec![0.5, 0.375, 0.125, 0.0, 0.625, 0.375], 2);
        assert_eq!(between.diversity(2), 0.75);
        let second = (0.625 / 1.0 + 0.375 / 0.5) / 2.0;
        let expected = [(0.5 / 0.5 + 0.375 / 1.0) / 2.0, second];
        assert_eq!(between.exclusivity(2), expected);
        let one = with(vec![0.5, 0.5], 1);
        assert_eq!((one.diversity(2), one.exclusivity(2)), (1.0, vec![1.0]));
    }
}
