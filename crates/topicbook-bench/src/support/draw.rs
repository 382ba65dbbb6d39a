//! Indices with given frequencies.

use testkit::Random;

/// Draws indices with given frequencies.
pub struct Draw(Vec<f64>);

impl Draw {
    pub fn new(frequencies: impl Iterator<Item = f64>) -> Self {
        let sums = frequencies.scan(0.0, |sum, frequency| {
            *sum += frequency;
            Some(*sum)
        });
        Self(sums.collect())
    }

    pub fn index(&self, random: &mut Random) -> usize {
        let at = random.uniform() * self.0.last().copied().unwrap_or(0.0);
        self.0
            .partition_point(|sum| *sum <= at)
            .min(self.0.len() - 1)
    }
}
