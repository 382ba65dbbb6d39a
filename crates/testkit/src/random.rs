//! A random number generator for test data.

/// Knuth's 64-bit linear congruential generator (MMIX): the same numbers on every platform and with every version of
/// every dependency.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A uniform number in [0, 1), of the upper 24 bits of the state (the lower bits have short periods).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }

    /// A uniform index below `length`, which is less than 2^24; 0 where it is 0.
    pub fn below(&mut self, length: usize) -> usize {
        (self.uniform() * length as f64) as usize
    }

    /// One of some values.
    ///
    /// # Panics
    /// When there are none.
    pub fn of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}
