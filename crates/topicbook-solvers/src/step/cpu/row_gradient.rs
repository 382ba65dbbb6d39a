//! The gradients of a shard's terms where few counts are nonzero: terms x topics.

use std::ops::Range;

use crate::system::{LANES, Values, lazy_zeroed};

/// Terms in a group. For each group a flag says whether it has gradients.
const GROUP: usize = 16;

/// Zeros where no gradient was added since the last update, which reads and clears only the groups with gradients.
pub struct RowGradient {
    topics: usize,
    /// Padded by one register, because the last row is written in whole registers.
    values: Values,
    /// Whether each group of terms has gradients.
    in_use: Vec<bool>,
}

impl RowGradient {
    pub fn new(terms: usize, topics: usize) -> Self {
        Self {
            topics,
            values: lazy_zeroed(terms * topics + LANES),
            in_use: vec![false; terms.div_ceil(GROUP)],
        }
    }

    pub(super) fn topics(&self) -> usize {
        self.topics
    }

    /// The gradient at an index of terms x topics.
    pub fn value(&self, at: usize) -> f32 {
        self.values[at]
    }

    /// Multiplies all gradients by a factor.
    pub fn scale(&mut self, factor: f32) {
        let groups = self.values.chunks_mut(GROUP * self.topics);
        for (values, in_use) in groups.zip(&self.in_use) {
            if *in_use {
                values.iter_mut().for_each(|value| *value *= factor);
            }
        }
    }

    /// All values. The caller changes the rows of `terms`.
    pub fn values_of(&mut self, terms: &[u32]) -> &mut [f32] {
        for &term in terms {
            self.in_use[term as usize / GROUP] = true;
        }
        &mut self.values
    }

    /// The gradients of some terms, if there are any.
    pub(super) fn of(&mut self, terms: Range<usize>) -> Option<&mut [f32]> {
        let groups = terms.start / GROUP..terms.end.div_ceil(GROUP);
        match self.in_use[groups].contains(&true) {
            true => Some(&mut self.values[terms.start * self.topics..terms.end * self.topics]),
            false => None,
        }
    }

    /// Whether there are no gradients.
    pub(super) fn is_clear(&self) -> bool {
        !self.in_use.contains(&true)
    }

    /// Starts with no gradients, for a shard of any size.
    pub(super) fn start(&mut self, terms: usize, topics: usize) {
        let needed = terms * topics + LANES;
        // An update that panicked has left gradients.
        if self.values.len() < needed || !self.is_clear() {
            self.values = lazy_zeroed(needed);
        }
        self.in_use.clear();
        self.in_use.resize(terms.div_ceil(GROUP), false);
        self.topics = topics;
    }

    /// Notes that all gradients are zero again.
    pub(super) fn mark_clear(&mut self) {
        self.in_use.fill(false);
    }
}
