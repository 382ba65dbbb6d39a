//! The exponentials and the accumulated gradients of the terms with counts in a batch: a row of each.

use crate::counts::rows::find_nonzeros;
use crate::system::{LANES, Values, lazy_zeroed};

/// Two rows for each term with counts since the last [`clear`](Self::clear). Rows are padded to whole registers: if a row that
/// is stored overlapped the next one that is loaded, the load would wait for the store (store forwarding fails).
pub(crate) struct RowGradient {
    /// Zeros, but for the rows in use. The first row stays zero: it is that of every term without counts.
    rows: Values,
    /// Rows of exponentials, of those in use.
    exps: Values,
    width: usize,
    /// Each term's row.
    slots: Vec<u32>,
    slots_used: u32,
    /// The term of each row in use.
    terms: Vec<u32>,
    /// Scratch: the slots of one document's nonzero counts.
    nonzeros: Vec<u32>,
}

/// The rows of the terms of a document's nonzero counts.
pub(crate) struct DocumentTerms<'a> {
    /// The row of each nonzero count.
    pub(crate) slots: &'a [u32],
    /// The terms whose exponentials have to be computed, and the row of the first.
    pub(crate) new: &'a [u32],
    pub(crate) new_exps: usize,
    pub(crate) exps: &'a mut [f32],
    pub(crate) gradients: &'a mut [f32],
}

impl RowGradient {
    pub(crate) fn new(terms: usize, topics: usize) -> Self {
        let width = topics.next_multiple_of(LANES);
        Self {
            rows: lazy_zeroed((terms + 1) * width),
            exps: lazy_zeroed((terms + 1) * width),
            width,
            slots: vec![0; terms],
            slots_used: 0,
            terms: vec![0; terms + 1],
            nonzeros: Vec::new(),
        }
    }

    fn row(&self, term: usize) -> &[f32] {
        &self.rows[self.slots[term] as usize * self.width..][..self.width]
    }

    pub(crate) fn value(&self, term: usize, topic: usize) -> f32 {
        self.row(term)[topic]
    }

    fn rows_in_use(&mut self) -> &mut [f32] {
        let end = (self.slots_used as usize + 1) * self.width;
        &mut self.rows[self.width..end]
    }

    /// Multiplies all rows by a factor.
    pub(crate) fn scale(&mut self, factor: f32) {
        let rows = self.rows_in_use();
        rows.iter_mut().for_each(|value| *value *= factor);
    }

    pub(crate) fn clear(&mut self) {
        if self.slots_used > 0 {
            self.rows_in_use().fill(0.0);
            self.slots.fill(0);
            self.slots_used = 0;
        }
    }

    /// Looks up the slots of a document's nonzero counts, whose columns are counted from `first`; terms without a slot get the
    /// next free one, with a gradient of zero.
    pub(crate) fn terms_of(&mut self, columns: &[u32], first: usize) -> DocumentTerms<'_> {
        self.nonzeros.resize(columns.len(), 0);
        let before = self.slots_used as usize;
        let mut used = self.slots_used;
        for (column, nonzero) in columns.iter().zip(&mut self.nonzeros) {
            let term = column - first as u32;
            let slot = &mut self.slots[term as usize];
            // Without a branch: whether a term is new cannot be predicted.
            let is_new = *slot == 0;
            used += u32::from(is_new);
            *slot = if is_new { used } else { *slot };
            self.terms[*slot as usize] = term;
            *nonzero = *slot;
        }
        self.slots_used = used;
        let in_use = 1 + used as usize;
        DocumentTerms {
            slots: &self.nonzeros,
            new: &self.terms[before + 1..in_use],
            new_exps: before + 1,
            exps: &mut self.exps[..in_use * self.width],
            gradients: &mut self.rows[..in_use * self.width],
        }
    }

    /// The terms that have a slot, in order.
    pub(crate) fn terms_in_use(&self) -> Vec<u32> {
        let mut terms = Vec::with_capacity(self.slots_used as usize);
        find_nonzeros(&self.slots, 0, &mut terms);
        terms
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

    /// Copies the gradients of the terms from `first` to `end`. Those with a slot are the next of `terms`, and are taken from
    /// there.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        gradient: &RowGradient,
        terms: &mut &[u32],
        (first, end): (usize, usize),
        topics: usize,
    ) {
        if !self.is_clear {
            self.values.fill(0.0);
            self.is_clear = true;
        }
        while let Some((&term, rest)) = terms.split_first()
            && (term as usize) < end
        {
            *terms = rest;
            self.is_clear = false;
            let row = gradient.row(term as usize).as_chunks::<LANES>().0;
            let out = &mut self.values[(term as usize - first) * topics..];
            // Whole registers: the next row overwrites the padding of this one.
            for (out, values) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(row) {
                *out = *values;
            }
        }
    }
}
