//! Sums of dense counts.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::super::dense::{self, SizesLaunch, Tile, UNITS};
use super::super::send::Dense;
use super::{Card, Tables, slices};

pub(in super::super) struct OfDense<'a, R: CubeRuntime> {
    pub(super) card: &'a Card<R>,
    pub(super) counts: &'a Dense,
    pub(super) tables: Tables<R>,
}

impl<R: CubeRuntime> OfDense<'_, R> {
    pub(super) fn by_documents(&self) -> CubeTensor<R> {
        let (card, counts, tables) = (self.card, self.counts, &self.tables);
        let (documents, topics) = (tables.documents, tables.topics);
        let read = (counts.kind, tables.precision);
        let tile = Tile::by_documents(topics, read, card.is_large());
        let groups = documents.div_ceil(tile.documents);
        let (per_slice, slices) = slices(tables.terms, UNITS * tile.terms, groups);
        let length = slices * documents * topics;
        let parts = card.numbers(length);
        let (count, dim) = card.cubes(slices * groups * UNITS);
        // SAFETY: a cube past the last one ends; every index is cut off at its table's end.
        unsafe {
            dense::by_documents::launch_unchecked::<R>(
                &card.client,
                count,
                dim,
                counts.address(documents, &tables.l, &tables.f),
                counts.words(documents),
                tables.l.clone().into_tensor_arg(),
                tables.f.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), length),
                self.sizes(per_slice, slices),
                tile,
            );
        }
        let out = card.table(documents, topics);
        card.add_slices(parts, slices, &out);
        out
    }

    pub(super) fn by_terms(&self) -> (CubeTensor<R>, CubeTensor<R>) {
        let (card, counts, tables) = (self.card, self.counts, &self.tables);
        let (topics, terms) = (tables.topics, tables.terms);
        let read = (counts.kind, tables.precision);
        let tile = Tile::by_terms(topics, read, card.is_large());
        let tiles = terms.div_ceil(UNITS * tile.terms);
        let (per_slice, slices) = slices(tables.documents, tile.documents, tiles);
        let (units, length) = (slices * tiles * UNITS, slices * topics * terms);
        let (parts, likelihoods) = (card.numbers(length), card.numbers(units));
        let (count, dim) = card.cubes(units);
        // SAFETY: a cube past the last one ends; every index is cut off at its table's end.
        unsafe {
            dense::by_terms::launch_unchecked::<R>(
                &card.client,
                count,
                dim,
                counts.address(tables.documents, &tables.l, &tables.f),
                counts.words(tables.documents),
                tables.l.clone().into_tensor_arg(),
                tables.f.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), length),
                ArrayArg::from_raw_parts(likelihoods.clone(), units),
                self.sizes(per_slice, slices),
                tile,
            );
        }
        let out = card.table(topics, terms);
        card.add_slices(parts, slices, &out);
        (card.parts_of_sum(likelihoods, units), out)
    }

    fn sizes(&self, per_slice: usize, slices: usize) -> SizesLaunch<R> {
        let tables = &self.tables;
        SizesLaunch::new(
            tables.documents,
            tables.terms,
            self.counts.stride,
            per_slice,
            slices,
            tables.smallest,
        )
    }
}
