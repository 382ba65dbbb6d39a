//! Which terms are typical of a topic: probability, lift, FREX and relevance.

#[cfg(feature = "polars")]
use polars::prelude::Column;

#[cfg(feature = "polars")]
use crate::data::{Table, top_n};
use crate::error::{Error, ErrorKind, Result};

use super::Fit;
#[cfg(feature = "polars")]
use super::topics::ranks;
use super::which::NameOrNumber;

/// How the terms of a topic are ranked, for [`Fit::top_terms_by`] and [`Fit::terms_of_topic_by`].
///
/// The most probable terms of a topic are often terms that every topic has. The other scores prefer terms that the topic has
/// and others do not. In the formulas, f is the probability of the term in the topic, and p its probability in all topics
/// together: the mean of f over the topics, weighted by their shares in [`Fit::topic_sizes`].
///
/// | Score | Formula | Range | Source |
/// |---|---|---|---|
/// | `Probability` | f | 0 to 1 | |
/// | `Lift` | f / p | 0 to 1 / share of the topic | Taddy (2012), AISTATS 22 |
/// | `Frex` | 1 / (½ / rank of f + ½ / rank of e) | 0 to 1 | Bischof and Airoldi (2012), ICML 29 |
/// | `Relevance(λ)` | λ ln f + (1 - λ) ln (f / p) | in nats | Sievert and Shirley (2014), LDAvis |
///
/// In FREX, e is the exclusivity: f divided by the sum of the term's probabilities in all topics. A rank is the part of the
/// terms whose value is at most the term's own. Lift favours rare terms; relevance goes from lift (λ = 0) to probability (λ =
/// 1), and its authors found λ = 0.6 the easiest to interpret.
///
/// ```
/// # let (_, fit) = topicbook::example_fit()?;
/// use topicbook::TermScore;
/// let frex = fit.top_terms_by(5, TermScore::Frex)?;
/// assert_eq!(fit.top_terms_by(5, TermScore::Relevance(1.0))?.texts("topic 0")?, fit.top_terms(5).texts("topic 0")?);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TermScore {
    /// The probability of the term in the topic.
    Probability,
    /// The probability in the topic divided by the probability in all topics together.
    Lift,
    /// The harmonic mean of the ranks by probability and by exclusivity.
    Frex,
    /// A weighted mean of the logarithms of probability and lift; the weight of the probability is from 0 to 1.
    Relevance(f64),
}

impl TermScore {
    fn check(self) -> Result<()> {
        match self {
            Self::Relevance(lambda) if !(0.0..=1.0).contains(&lambda) => Err(Error::new(
                ErrorKind::Setting,
                format!("a relevance with λ = {lambda}"),
            )
            .fix("choose λ from 0 (lift) to 1 (probability); 0.6 is usual")),
            _ => Ok(()),
        }
    }

    /// The column of a table.
    #[cfg(feature = "polars")]
    fn column(self) -> &'static str {
        match self {
            Self::Probability => "probability",
            Self::Lift => "lift",
            Self::Frex => "frex",
            Self::Relevance(_) => "relevance",
        }
    }
}

/// Computes scores, topic by topic.
pub(super) struct TermScores<'a> {
    fit: &'a Fit,
    score: TermScore,
    /// For lift and relevance the probability of each term in all topics together, for FREX the sum over the topics.
    all: Vec<f64>,
}

impl<'a> TermScores<'a> {
    pub(super) fn new(fit: &'a Fit, score: TermScore) -> Result<Self> {
        score.check()?;
        let weights = match score {
            TermScore::Probability => Vec::new(),
            TermScore::Frex => vec![1.0; fit.topics()],
            TermScore::Lift | TermScore::Relevance(_) => fit.topic_shares(),
        };
        let all = fit.weighted_terms(&weights);
        Ok(Self { fit, score, all })
    }

    /// The scores of all terms in a topic. A term that no topic has gets the lowest score.
    pub(super) fn of(&self, topic: usize) -> Vec<f32> {
        let row = self.fit.f.row(topic);
        let pairs = row.iter().map(|&f| f64::from(f)).zip(&self.all);
        let lift = |f: f64, all: f64| if all > 0.0 { f / all } else { 0.0 };
        match self.score {
            TermScore::Probability => row.to_vec(),
            TermScore::Lift => pairs.map(|(f, &all)| lift(f, all) as f32).collect(),
            TermScore::Relevance(lambda) => pairs
                .map(|(f, &all)| match f > 0.0 {
                    // Written so that λ = 1 gives exactly ln f.
                    true => (f.ln() - (1.0 - lambda) * all.ln()) as f32,
                    false => f32::NEG_INFINITY,
                })
                .collect(),
            TermScore::Frex => {
                let exclusivity: Vec<f64> = pairs.map(|(f, &all)| lift(f, all)).collect();
                let probability: Vec<f64> = row.iter().map(|&f| f64::from(f)).collect();
                ecdf(&probability)
                    .into_iter()
                    .zip(ecdf(&exclusivity))
                    .map(|(frequent, exclusive)| (2.0 / (1.0 / frequent + 1.0 / exclusive)) as f32)
                    .collect()
            }
        }
    }
}

impl Fit {
    /// The sums of the rows of F, each times the weight of its topic: a value for every term.
    pub(super) fn weighted_terms(&self, weights: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.terms()];
        for (topic, weight) in weights.iter().enumerate() {
            for (sum, &probability) in sums.iter_mut().zip(self.f.row(topic)) {
                *sum += weight * f64::from(probability);
            }
        }
        sums
    }
}

/// For each value, the part of all values that are at most as large.
fn ecdf(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        below += equal.len();
        for &at in equal {
            ranks[at] = below as f64 / values.len() as f64;
        }
    }
    ranks
}

#[cfg(feature = "polars")]
impl Fit {
    /// Table of the `n` terms of every topic with the highest [`TermScore`]: [`top_terms`](Self::top_terms) by lift, FREX or
    /// relevance. One column per topic, the best term first. `n` is capped at the number of terms.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// use topicbook::TermScore;
    /// let table = fit.top_terms_by(4, TermScore::Relevance(0.6))?;
    /// assert_eq!((table.height(), table.width()), (4, 4)); // rank and three topics
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the λ of a relevance is not from 0 to 1.
    ///
    /// # Cost
    /// Two passes over F, and for FREX two sorts of the terms per topic; for lift and relevance one pass over L.
    #[doc(alias("labelTopics", "frex", "lift", "relevance"))]
    pub fn top_terms_by(&self, n: usize, score: TermScore) -> Result<Table> {
        let n = n.min(self.terms());
        let scores = TermScores::new(self, score)?;
        let topics = (0..self.topics()).map(|topic| {
            let best = top_n(&scores.of(topic), n).into_iter();
            let names: Vec<String> = best.map(|term| self.term_name(term)).collect();
            Column::new(self.topic_name(topic).into(), names)
        });
        Ok(Table::from_columns(
            std::iter::once(ranks(n)).chain(topics).collect(),
        ))
    }

    /// Table of the `n` terms of one topic with the highest [`TermScore`]: `rank` from 1, `term`, its score in a column called
    /// `lift`, `frex` or `relevance`, and its `probability` in the topic. `n` is capped at the number of terms.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// use topicbook::TermScore;
    /// let table = fit.terms_of_topic_by(2, 5, TermScore::Lift)?;
    /// let lift = table.numbers("lift")?;
    /// assert!(lift[0] >= lift[4] && lift[0] > 1.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such topic, or the λ of a relevance is not from 0 to 1.
    ///
    /// # Cost
    /// As [`top_terms_by`](Self::top_terms_by), for one topic.
    pub fn terms_of_topic_by(
        &self,
        topic: impl NameOrNumber,
        n: usize,
        score: TermScore,
    ) -> Result<Table> {
        let topic = self.topic(topic.which())?;
        let scores = TermScores::new(self, score)?.of(topic);
        let row = self.f.row(topic);
        let terms = top_n(&scores, n);
        let names: Vec<String> = terms.iter().map(|&term| self.term_name(term)).collect();
        let probabilities: Vec<f32> = terms.iter().map(|&term| row[term]).collect();
        let mut columns = vec![ranks(terms.len()), Column::new("term".into(), names)];
        if score != TermScore::Probability {
            let scores: Vec<f32> = terms.iter().map(|&term| scores[term]).collect();
            columns.push(Column::new(score.column().into(), scores));
        }
        columns.push(Column::new("probability".into(), probabilities));
        Ok(Table::from_columns(columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_parts_of_values_that_are_not_larger() {
        assert_eq!(ecdf(&[0.3, 0.1, 0.3, 0.2]), [1.0, 0.25, 1.0, 0.5]);
        assert!(ecdf(&[]).is_empty());
    }

    #[test]
    fn weights_outside_of_their_range_are_refused() {
        for lambda in [-0.1, 1.1, f64::NAN] {
            testkit::refused! { TermScore::Relevance(lambda).check() => Setting; }
        }
        assert!(TermScore::Relevance(0.0).check().is_ok());
    }
}
