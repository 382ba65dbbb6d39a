//! Additive smoothing of the topics of a finished fit.

use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::Result;

/// F with `smoothing` tokens of every term added to each topic: row k becomes (n F + s) / (n + s x terms), with n the tokens that
/// the documents have of topic k. F itself without smoothing.
pub(super) fn smoothed(f: Matrix, l: &Matrix, counts: &Counts, smoothing: f64) -> Result<Matrix> {
    if smoothing == 0.0 {
        return Ok(f);
    }
    let (topics, terms) = f.shape();
    let summary = counts.summary()?;
    let mut tokens = vec![0.0f64; topics];
    for (document, length) in summary.document_lengths().iter().enumerate() {
        for (tokens, &proportion) in tokens.iter_mut().zip(l.row(document)) {
            *tokens += length * f64::from(proportion);
        }
    }
    let mut values = f.into_values();
    for (row, tokens) in values.chunks_exact_mut(terms).zip(tokens) {
        let sum = tokens + smoothing * terms as f64;
        for p in row {
            *p = ((tokens * f64::from(*p) + smoothing) / sum) as f32;
        }
    }
    Ok(Matrix::from_parts(topics, terms, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_added_to_every_term() -> Result<()> {
        let counts = Counts::dense(2, 2, vec![6u8, 0, 0, 2])?;
        let l = Matrix::new(2, 2, vec![1.0, 0.0, 0.5, 0.5])?;
        let f = Matrix::new(2, 2, vec![1.0, 0.0, 0.25, 0.75])?;
        // Topic 0 has 6 + 1 tokens, topic 1 has 1.
        let f = smoothed(f, &l, &counts, 0.5)?;
        assert_eq!(f.values(), [7.5 / 8.0, 0.5 / 8.0, 0.375, 0.625]);
        let unchanged = smoothed(f.clone(), &l, &counts, 0.0)?;
        assert_eq!(unchanged, f);
        Ok(())
    }
}
