//! Drawn counts like those of texts.

use testkit::Random;
use topicbook::{Counts, Result};

/// Sparse counts whose terms are as frequent as those of texts: the frequency of a term falls with its rank.
pub fn text(documents: usize, terms: usize, length: usize) -> Result<Counts> {
    let mut random = Random::new(1);
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..documents {
        let rank = |uniform: f64| (terms as f64).powf(uniform) as u32 % terms as u32;
        let mut row: Vec<u32> = (0..length).map(|_| rank(random.uniform())).collect();
        row.sort_unstable();
        for same in row.chunk_by(|a, b| a == b) {
            columns.push(same[0]);
            values.push(same.len() as f32);
        }
        starts.push(columns.len() as u64);
    }
    Counts::csr(documents, terms, starts, columns, values)
}
