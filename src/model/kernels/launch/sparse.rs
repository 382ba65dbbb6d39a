//! Sums of sparse counts.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::super::dense::UNITS;
use super::super::send::Sparse;
use super::super::sparse::{self, Known, SLICE, terms_of_cube};
use super::{Card, Tables, slices};

pub(in super::super) struct OfSparse<'a, R: CubeRuntime> {
    card: &'a Card<R>,
    counts: &'a Sparse,
    tables: Tables<R>,
    /// Each count / rate.
    shares: Handle,
    /// Each unit's part of the sum of count x log rate.
    likelihoods: Handle,
}

impl<'a, R: CubeRuntime> OfSparse<'a, R> {
    pub(super) fn new(card: &'a Card<R>, counts: &'a Sparse, tables: Tables<R>) -> Self {
        let (length, units) = (counts.length(), tables.documents * UNITS);
        let pass = Self {
            card,
            counts,
            tables,
            shares: card.numbers(counts.room.max(1)),
            likelihoods: card.numbers(units),
        };
        let tables = &pass.tables;
        let (count, dim) = card.cubes(units);
        // SAFETY: a cube past the last document ends; starts and columns come from checked counts.
        unsafe {
            sparse::shares::launch_unchecked::<R>(
                &card.client,
                count,
                dim,
                counts.starts(tables.documents),
                counts.columns(),
                counts.counts(),
                ArrayArg::from_raw_parts(pass.shares.clone(), length),
                tables.l.clone().into_tensor_arg(),
                tables.f.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(pass.likelihoods.clone(), units),
                tables.smallest,
                pass.known(),
            );
        }
        pass
    }

    fn known(&self) -> Known {
        Known {
            topics: self.tables.topics,
            precision: self.tables.precision,
        }
    }

    pub(super) fn by_documents(&self) -> CubeTensor<R> {
        let (card, counts, tables) = (self.card, self.counts, &self.tables);
        let (documents, topics) = (tables.documents, tables.topics);
        let out = card.table(documents, topics);
        let (count, dim) = card.cubes(documents * topics);
        // SAFETY: a unit past the last document ends; starts and columns come from checked counts.
        unsafe {
            sparse::by_documents::launch_unchecked::<R>(
                &card.client,
                count,
                dim,
                counts.starts(documents),
                counts.columns(),
                ArrayArg::from_raw_parts(self.shares.clone(), counts.length()),
                tables.f.clone().into_tensor_arg(),
                out.clone().into_tensor_arg(),
                self.known(),
            );
        }
        out
    }

    pub(super) fn by_terms(&self) -> (CubeTensor<R>, CubeTensor<R>) {
        let (card, counts, tables) = (self.card, self.counts, &self.tables);
        let (documents, topics, terms) = (tables.documents, tables.topics, tables.terms);
        let tiles = terms.div_ceil(terms_of_cube(topics));
        let (per_slice, slices) = slices(documents, SLICE, tiles);
        let length = slices * topics * terms;
        let parts = card.numbers(length);
        let (count, dim) = card.cubes(slices * tiles * UNITS);
        // SAFETY: a cube past the last one ends; starts and columns come from checked counts, whose columns rise within a
        // document.
        unsafe {
            sparse::by_terms::launch_unchecked::<R>(
                &card.client,
                count,
                dim,
                AddressType::from_len(length),
                counts.starts(documents),
                counts.columns(),
                ArrayArg::from_raw_parts(self.shares.clone(), counts.length()),
                tables.l.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), length),
                terms,
                per_slice,
                slices,
                self.known(),
            );
        }
        let out = card.table(topics, terms);
        card.add_slices(parts, slices, &out);
        let likelihood = card.parts_of_sum(self.likelihoods.clone(), documents * UNITS);
        (likelihood, out)
    }
}
