//! Posterior means of a document's proportions, with F fixed. They have a prior, where maximum likelihood would take the topics of
//! ten tokens for all topics that the document has.
//!
//! The proportions have a symmetric Dirichlet prior whose parameters sum to the concentration A, so each is a = A / k. CVB0
//! (Asuncion, Welling, Smyth and Teh 2009, *On smoothing and inference for topic models*) finds the expected tokens n of the
//! topics and the probabilities g of the topics of each token:
//!
//! ```text
//! repeat:
//!     for each nonzero count x of a term w:
//!         g[w] = F[w] * (a + n - g[w]), scaled to sum to one    // n without the token itself
//!         n = sum over all w of x * g[w]
//! ```
//!
//! The proportions are (a + n) / (A + tokens). Here n changes with each term, and is recomputed after each sweep, so that
//! rounding errors do not add up. Against Gibbs sampling with the same prior, scores of drawn short documents differ by 0.002
//! nats a token (variational Bayes: by 0.02).

use crate::data::Matrix;

/// Maximum number of sweeps over a document.
const SWEEPS: usize = 100;
/// A document has converged when a sweep moves at most this fraction of its tokens from one topic to another.
const TOLERANCE: f32 = 1e-4;
/// Added to each value of F, so that a term without a topic has the proportions of the document.
const SMALLEST: f32 = 1e-30;

/// The prior of proportions, and F in probabilities (terms x topics).
pub struct Posterior<'a> {
    pub terms_first: &'a Matrix,
    /// The sum of the Dirichlet parameters, above 0.
    pub concentration: f64,
}

/// Scratch buffers of one thread. They grow to 4 bytes x topics x the largest number of nonzero counts of a document.
#[derive(Default)]
pub struct PosteriorScratch {
    /// The probabilities of the topics of each term, terms x topics.
    topics_of_terms: Vec<f32>,
    /// Expected tokens of each topic, now and before the sweep.
    tokens: Vec<f32>,
    before: Vec<f32>,
    /// New probabilities of one term before they are scaled.
    weights: Vec<f32>,
    proportions: Vec<f64>,
}

impl Posterior<'_> {
    /// The posterior mean of the proportions of a document with these nonzero counts; they sum to one.
    pub fn proportions<'a>(
        &self,
        columns: &[u32],
        counts: &[f32],
        scratch: &'a mut PosteriorScratch,
    ) -> &'a [f64] {
        let topics = self.terms_first.columns();
        let prior = self.concentration / topics as f64;
        let f_of = |column: &u32| self.terms_first.row(*column as usize);
        scratch.topics_of_terms.clear();
        for column in columns {
            let sum: f32 = f_of(column).iter().map(|f| f + SMALLEST).sum();
            let probabilities = f_of(column).iter().map(|f| (f + SMALLEST) / sum);
            scratch.topics_of_terms.extend(probabilities);
        }
        scratch.add_up(counts, topics);
        let all: f32 = counts.iter().sum();
        for _ in 0..SWEEPS {
            scratch.before.clone_from(&scratch.tokens);
            for (at, (column, &count)) in columns.iter().zip(counts).enumerate() {
                scratch.improve(at, f_of(column), count, prior as f32);
            }
            scratch.add_up(counts, topics);
            let pairs = scratch.tokens.iter().zip(&scratch.before);
            let moved: f32 = pairs.map(|(new, old)| (new - old).abs()).sum();
            if moved <= TOLERANCE * all {
                break;
            }
        }
        let total = f64::from(all) + self.concentration;
        let means = scratch
            .tokens
            .iter()
            .map(|n| (f64::from(*n) + prior) / total);
        scratch.proportions.clear();
        scratch.proportions.extend(means);
        &scratch.proportions
    }
}

impl PosteriorScratch {
    /// Sums the expected tokens of each topic.
    fn add_up(&mut self, counts: &[f32], topics: usize) {
        self.tokens.clear();
        self.tokens.resize(topics, 0.0);
        for (probabilities, count) in self.topics_of_terms.chunks(topics).zip(counts) {
            for (sum, probability) in self.tokens.iter_mut().zip(probabilities) {
                *sum += count * probability;
            }
        }
    }

    /// Recomputes the probabilities of the topics of a term, and changes the expected tokens accordingly.
    fn improve(&mut self, at: usize, f: &[f32], count: f32, prior: f32) {
        let own = &mut self.topics_of_terms[at * f.len()..][..f.len()];
        self.weights.clear();
        self.weights
            .extend(f.iter().zip(&self.tokens).zip(&*own).map(|((f, n), own)| {
                // Rounding errors may leave less than one token of the term itself.
                (f + SMALLEST) * (prior + (n - own).max(0.0))
            }));
        let sum: f32 = self.weights.iter().sum();
        for ((own, n), weight) in own.iter_mut().zip(&mut self.tokens).zip(&self.weights) {
            let new = weight / sum;
            *n += count * (new - *own);
            *own = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The posterior mean by a sum over all topics that the tokens can have.
    fn exact(f: &Matrix, terms: &[usize], concentration: f64) -> Vec<f64> {
        let k = f.columns();
        let prior = concentration / k as f64;
        let mut means = vec![0.0; k];
        let mut evidence = 0.0;
        for assignment in 0..k.pow(terms.len() as u32) {
            let (mut rest, mut weight, mut n) = (assignment, 1.0, vec![0.0; k]);
            for (token, &term) in terms.iter().enumerate() {
                let topic = rest % k;
                rest /= k;
                // Pólya's urn: the probability of the topic given the topics of the previous tokens.
                weight *= f64::from(f.row(term)[topic]) * (prior + n[topic])
                    / (concentration + token as f64);
                n[topic] += 1.0;
            }
            evidence += weight;
            for (mean, n) in means.iter_mut().zip(n) {
                *mean += weight * (prior + n) / (concentration + terms.len() as f64);
            }
        }
        means.into_iter().map(|mean| mean / evidence).collect()
    }

    #[test]
    fn means_are_near_those_of_a_sum_over_all_assignments() {
        let f = [
            0.7f32, 0.1, 0.2, 0.1, 0.6, 0.2, 0.1, 0.2, 0.5, 0.1, 0.1, 0.1,
        ];
        let f = Matrix::new(4, 3, f.to_vec()).unwrap();
        for terms in [&[0, 0, 1, 3][..], &[2], &[0, 0, 0, 0, 1, 1], &[3, 3, 3]] {
            let mut columns = terms.to_vec();
            columns.dedup();
            let count = |column: &usize| terms.iter().filter(|term| *term == column).count() as f32;
            let counts: Vec<f32> = columns.iter().map(count).collect();
            let columns: Vec<u32> = columns.into_iter().map(|column| column as u32).collect();
            // The smaller the concentration, the more the topics of the tokens depend on each other.
            for (concentration, tolerance) in [(0.3, 0.09), (1.0, 0.04), (5.0, 0.006)] {
                let posterior = Posterior {
                    terms_first: &f,
                    concentration,
                };
                let mut scratch = PosteriorScratch::default();
                let means = posterior.proportions(&columns, &counts, &mut scratch);
                for (mean, exact) in means.iter().zip(exact(&f, terms, concentration)) {
                    assert!(
                        (mean - exact).abs() < tolerance,
                        "{terms:?} {concentration}: {means:?}, {exact}"
                    );
                }
            }
        }
    }
}
