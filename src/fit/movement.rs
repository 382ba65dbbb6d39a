//! How far topics have moved since an earlier fit.

use crate::data::{Matrix, cosine, top_n};

use super::Fit;
use super::topic_map::jensen_shannon;

/// Number of terms named as having gained or lost most.
const TERMS: usize = 3;

/// How one topic has moved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Movement {
    /// The Jensen-Shannon distance of its terms, from 0 to 1.
    pub distance: f64,
    /// The cosine of its rows of F, from 0 to 1.
    pub cosine: f64,
    /// Its mean proportion in the documents of the earlier fit, and of this one.
    pub share_before: f64,
    pub share: f64,
    /// The terms whose probabilities have risen most, and fallen most.
    pub gained: Vec<String>,
    pub lost: Vec<String>,
}

impl Fit {
    /// How each topic has moved from the one with the same number in a fit over the same terms.
    pub(crate) fn moved_from(&self, before: &Fit) -> Vec<Movement> {
        let (shares_before, shares) = (before.topic_shares(), self.topic_shares());
        let moved = (0..self.topics()).map(|topic| {
            let (old, new) = (before.f.row(topic), self.f.row(topic));
            let change = |sign: f32| -> Vec<String> {
                let changes: Vec<f32> = old.iter().zip(new).map(|(a, b)| sign * (b - a)).collect();
                let top = top_n(&changes, TERMS).into_iter();
                top.filter(|&term| changes[term] > 0.0)
                    .map(|term| super::term_name(self.terms.as_ref(), term))
                    .collect()
            };
            let pair = Matrix::from_parts(2, old.len(), [old, new].concat());
            Movement {
                distance: jensen_shannon(&pair)[1].sqrt(),
                cosine: cosine(old, new),
                share_before: shares_before[topic],
                share: shares[topic],
                gained: change(1.0),
                lost: change(-1.0),
            }
        });
        moved.collect()
    }
}
