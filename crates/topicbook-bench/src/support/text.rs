//! Drawn counts that resemble text.

use testkit::Random;
use topicbook::{Counts, Result};

use crate::support::tokens::count_tokens;

/// Sparse counts whose terms are as frequent as in texts: the frequency of a term falls with its rank.
pub fn text(documents: usize, terms: usize, length: usize) -> Result<Counts> {
    let mut random = Random::new(1);
    let rank = |uniform: f64| (terms as f64).powf(uniform) as u32 % terms as u32;
    let documents = (0..documents).map(|_| (0..length).map(|_| rank(random.uniform())).collect());
    count_tokens(terms, documents)
}
