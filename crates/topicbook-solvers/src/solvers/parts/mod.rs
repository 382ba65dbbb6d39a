//! F cut into ranges of terms, the parts. Each part of a block of counts is processed in the faster of two forms: nonzero
//! count by nonzero count, or as dense tiles. One task works on a part, so no sums of F are merged.

#[cfg(test)]
mod both_forms;
mod gather;
mod group;
mod likelihood;
mod multipliers;
mod newton;
mod pending;
mod ratios;
mod statistics;

use std::ops::Range;

use rayon::prelude::*;

use crate::counts::rows::Block;
use crate::kernels::{DOCUMENTS, Form, Tile, tiled_terms, tiles, to_tiles};
use crate::system::{Aligned, LANES, aligned_zeros};

pub(super) use newton::{DOCUMENTS as NEWTON_DOCUMENTS, Rows as NewtonRows};
pub use pending::ByTerm;
pub(super) use pending::Pending;

/// Parts of F, at most.
const PARTS: usize = 16;

/// F, part by part.
pub struct Parts {
    terms: usize,
    topics: usize,
    /// Topics, rounded up to whole registers.
    width: usize,
    /// Terms of a part; the last has fewer.
    terms_of_part: usize,
    /// The form of each part during a pass. Rows are padded with zeros to whole registers.
    forms: Vec<Form>,
    f: Aligned<f32>,
}

/// The form of each part.
pub struct Forms(Vec<Form>);

impl Forms {
    /// Chooses the forms by the first block of all documents.
    pub fn of(first: &Block<'_>, terms: usize) -> Self {
        let terms_of_part = terms_of_part(terms);
        // Few terms are cut into smaller parts than tiles.
        let has_whole_tiles = terms_of_part == tiled_terms(terms_of_part);
        let parts = (0..Self::number(terms)).into_par_iter();
        let forms = parts.map(|part| match has_whole_tiles {
            true => {
                let range = terms_in_part(part, terms_of_part, terms);
                Form::of(&first.view, terms, first.rows.clone(), &range)
            }
            false => Form::Rows,
        });
        Self(forms.collect())
    }

    /// As numbers, for other processes.
    pub fn numbers(&self) -> Vec<f32> {
        let number = |form: &Form| match form {
            Form::Rows => 0.0,
            Form::Tiles => 1.0,
        };
        self.0.iter().map(number).collect()
    }

    /// From [`numbers`](Self::numbers).
    pub fn from_numbers(numbers: &[f32]) -> Self {
        let form = |number: &f32| match *number > 0.5 {
            true => Form::Tiles,
            false => Form::Rows,
        };
        Self(numbers.iter().map(form).collect())
    }

    /// How many there are for so many terms.
    pub fn number(terms: usize) -> usize {
        terms.div_ceil(terms_of_part(terms))
    }
}

/// A part of F.
struct Part<'a> {
    form: Form,
    terms: Range<usize>,
    /// The values of F, in the order of the form.
    f: &'a [f32],
}

impl Parts {
    /// Values in memory of F, and of its statistics.
    pub(super) fn values(terms: u64, topics: u64) -> u64 {
        let per_part = terms_of_part(terms as usize) as u64;
        terms.next_multiple_of(per_part) * topics.next_multiple_of(LANES as u64)
    }

    /// Bytes of a block's multipliers at most: a table of sums for each part.
    pub(super) fn multiplier_bytes(terms: u64, documents: u64, topics: u64) -> u64 {
        let parts = terms.div_ceil(terms_of_part(terms as usize) as u64);
        4 * parts * documents.next_multiple_of(DOCUMENTS as u64) * topics
    }

    pub fn new(terms: usize, topics: usize) -> Self {
        let values = Self::values(terms as u64, topics as u64) as usize;
        let terms_of_part = terms_of_part(terms);
        Self {
            terms,
            topics,
            width: topics.next_multiple_of(LANES),
            terms_of_part,
            forms: vec![Form::Rows; Forms::number(terms)],
            f: aligned_zeros(values),
        }
    }

    /// Chooses the form of each part by the first block of all documents, and copies F (terms x topics). That block is the same
    /// in every pass, so the forms do not depend on when a fit was resumed.
    pub fn start_pass(&mut self, f: &[f32], first: &Block<'_>) {
        self.set_forms(Forms::of(first, self.terms));
        self.copy(f);
    }

    pub(super) fn set_forms(&mut self, forms: Forms) {
        self.forms = forms.0;
    }

    /// Copies F (terms x topics) in the forms that were chosen.
    pub(super) fn copy(&mut self, f: &[f32]) {
        let (topics, width, stride) = (self.topics, self.width, self.terms_of_part * self.width);
        let ranges: Vec<_> = (0..self.forms.len()).map(|part| self.range(part)).collect();
        let parts = self.f.par_chunks_mut(stride).zip(&self.forms).zip(ranges);
        parts.for_each(|((values, form), range)| {
            let rows = &f[range.start * topics..range.end * topics];
            match form {
                Form::Tiles => to_tiles(rows, topics, values),
                Form::Rows => {
                    for (to, from) in values.chunks_mut(width).zip(rows.chunks(topics)) {
                        to[..topics].copy_from_slice(from);
                        to[topics..].fill(0.0);
                    }
                }
            }
        });
    }

    /// Whether counts are processed as tiles anywhere.
    pub(super) fn has_tiles(&self) -> bool {
        self.forms.contains(&Form::Tiles)
    }

    pub(super) fn terms(&self) -> usize {
        self.terms
    }

    /// The terms of a part.
    fn range(&self, part: usize) -> Range<usize> {
        terms_in_part(part, self.terms_of_part, self.terms)
    }

    /// A part of F.
    fn part(&self, part: usize) -> Part<'_> {
        let stride = self.terms_of_part * self.width;
        Part {
            form: self.forms[part],
            terms: self.range(part),
            f: &self.f[part * stride..][..stride],
        }
    }

    /// All parts; where no part has tiles, one that is the whole of F: then a document's nonzero counts need not be cut.
    fn parts(&self) -> Vec<Part<'_>> {
        match self.has_tiles() {
            true => (0..self.forms.len()).map(|part| self.part(part)).collect(),
            false => vec![Part {
                form: Form::Rows,
                terms: 0..self.terms,
                f: &self.f,
            }],
        }
    }

    /// Multiplies F (terms x topics) by its statistics.
    pub(super) fn multiply(&self, f: &mut [f32], statistics: &[f64]) {
        let parts = f
            .par_chunks_mut(self.terms_of_part * self.topics)
            .zip(statistics.par_chunks(self.terms_of_part * self.width))
            .zip(&self.forms);
        parts.for_each(|((rows, statistics), form)| match form {
            Form::Rows => {
                let rows = rows.chunks_mut(self.topics);
                for (row, statistics) in rows.zip(statistics.chunks(self.width)) {
                    for (value, statistic) in row.iter_mut().zip(statistics) {
                        *value = (f64::from(*value) * statistic) as f32;
                    }
                }
            }
            Form::Tiles => {
                for tile in tiles(0..rows.len() / self.topics) {
                    let statistics = &statistics[tile.terms.start * self.topics..];
                    for (at, term) in tile.terms.enumerate() {
                        let row = &mut rows[term * self.topics..][..self.topics];
                        for (topic, value) in row.iter_mut().enumerate() {
                            *value =
                                (f64::from(*value) * statistics[topic * tile.width + at]) as f32;
                        }
                    }
                }
            }
        });
    }
}

impl<'a> Part<'a> {
    /// The tiles, and their values of F.
    fn tiles(&self, topics: usize) -> impl Iterator<Item = (Tile, &'a [f32])> {
        let (first, f) = (self.terms.start, self.f);
        tiles(self.terms.clone()).map(move |tile| {
            let f = &f[(tile.terms.start - first) * topics..][..tile.width * topics];
            (tile, f)
        })
    }
}

/// The terms of a part.
fn terms_in_part(part: usize, terms_of_part: usize, terms: usize) -> Range<usize> {
    let first = part * terms_of_part;
    first..terms.min(first + terms_of_part)
}

/// Terms of a part: whole tiles, unless there are so few terms that too few parts would come of it.
fn terms_of_part(terms: usize) -> usize {
    let part = terms.div_ceil(PARTS);
    match part < tiled_terms(1) / 2 {
        true => part,
        false => tiled_terms(part),
    }
}
