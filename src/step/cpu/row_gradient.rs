//! The accumulated gradients of the terms with counts in a batch: a row for each.

use crate::system::{LANES, Values, lazy_zeroed};

use super::sparse::Nonzero;

/// The slot of a term without counts in the batch.
const NO_SLOT: u32 = u32::MAX;

/// One row for each term with counts since the last [`clear`](Self::clear). Rows are padded to whole registers: if a row that
/// is stored overlapped the next one that is loaded, the load would wait for the store (store forwarding fails).
pub(crate) struct RowGradient {
    rows: Values,
    width: usize,
    /// Each term's row, or [`NO_SLOT`].
    slots: Vec<u32>,
    slots_used: u32,
    /// Scratch: the nonzero counts of one document.
    nonzeros: Vec<Nonzero>,
}

impl RowGradient {
    pub(crate) fn new(terms: usize, topics: usize) -> Self {
        let width = topics.next_multiple_of(LANES);
        Self {
            rows: lazy_zeroed(terms * width),
            width,
            slots: vec![NO_SLOT; terms],
            slots_used: 0,
            nonzeros: Vec::new(),
        }
    }

    pub(crate) fn value(&self, term: usize, topic: usize) -> f32 {
        match self.slots[term] {
            NO_SLOT => 0.0,
            slot => self.rows[slot as usize * self.width + topic],
        }
    }

    /// Multiplies all rows by a factor.
    pub(crate) fn scale(&mut self, factor: f32) {
        let used = self.slots_used as usize * self.width;
        self.rows[..used]
            .iter_mut()
            .for_each(|value| *value *= factor);
    }

    pub(crate) fn clear(&mut self) {
        if self.slots_used > 0 {
            self.slots.fill(NO_SLOT);
            self.slots_used = 0;
        }
    }

    /// Looks up the slots of a document's nonzero counts, whose columns are counted from `first`; terms without a slot get the
    /// next free one, with a gradient of zero. Returns them and all rows.
    pub(crate) fn slots_of(&mut self, columns: &[u32], first: usize) -> (&[Nonzero], &mut [f32]) {
        self.nonzeros.clear();
        for column in columns {
            let term = column - first as u32;
            let slot = &mut self.slots[term as usize];
            if *slot == NO_SLOT {
                *slot = self.slots_used;
                self.slots_used += 1;
                let row = &mut self.rows[*slot as usize * self.width..][..self.width];
                row.as_chunks_mut::<LANES>().0.fill([0.0; LANES]);
            }
            self.nonzeros.push(Nonzero { term, slot: *slot });
        }
        (&self.nonzeros, &mut self.rows)
    }
}

/// Rows without padding between them: terms x topics.
pub(crate) struct Packed {
    /// One register more than the rows.
    pub(crate) values: Vec<f32>,
    is_clear: bool,
}

impl Packed {
    /// Zeros, with space for this number of values.
    pub(crate) fn new(values: usize) -> Self {
        Self {
            values: vec![0.0; values + LANES],
            is_clear: true,
        }
    }

    /// Copies the gradients of `terms`.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        gradient: &RowGradient,
        terms: std::ops::Range<usize>,
        topics: usize,
    ) {
        let slots = &gradient.slots[terms];
        if slots.iter().all(|&slot| slot == NO_SLOT) {
            if !self.is_clear {
                self.values.fill(0.0);
                self.is_clear = true;
            }
            return;
        }
        self.is_clear = false;
        for (term, &slot) in slots.iter().enumerate() {
            // Whole registers: the next row overwrites the padding of this one.
            for block in (0..topics).step_by(LANES) {
                let (out, _) = self.values[term * topics + block..].as_chunks_mut::<LANES>();
                out[0] = match slot {
                    NO_SLOT => [0.0; LANES],
                    slot => {
                        gradient.rows[slot as usize * gradient.width + block..]
                            .as_chunks::<LANES>()
                            .0[0]
                    }
                };
            }
        }
    }
}
