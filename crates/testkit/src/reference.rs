//! The model's formulas in double precision, to check the library's results against.

/// Lower bound of a rate in loss and score.
const SMALLEST_RATE: f64 = 1e-10;

/// The softmax of a row of logits.
pub fn softmax(logits: &[f64]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = logits.iter().map(|x| (x - largest).exp()).sum();
    logits.iter().map(|x| (x - largest).exp() / sum).collect()
}

/// The rates of one document: its row of L times F, which is given by topics.
pub fn rates<T: Copy + Into<f64>>(l: &[T], f: &[&[T]]) -> Vec<f64> {
    let terms = f.first().map_or(0, |row| row.len());
    (0..terms)
        .map(|term| {
            l.iter()
                .zip(f)
                .map(|(&weight, row)| weight.into() * row[term].into())
                .sum()
        })
        .collect()
}

/// The loss of one document: the sum over its terms of rate - count log rate.
pub fn loss(counts: &[f32], rates: &[f64]) -> f64 {
    counts
        .iter()
        .zip(rates)
        .map(|(&count, &rate)| rate - f64::from(count) * rate.max(SMALLEST_RATE).ln())
        .sum()
}

/// The score of one document: the sum over its terms of count log rate.
pub fn score(counts: &[f32], rates: &[f64]) -> f64 {
    counts
        .iter()
        .zip(rates)
        .map(|(&count, &rate)| f64::from(count) * rate.max(SMALLEST_RATE).ln())
        .sum()
}
