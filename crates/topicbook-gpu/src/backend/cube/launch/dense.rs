//! Launches of the kernels for dense counts.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use crate::backend::cube::dense;
use crate::backend::cube::dense::{SizesLaunch, UNITS};
use crate::backend::cube::tile::Tile;
use crate::backend::cube::upload::Dense;

use super::{Launcher, MANY_CUBES, TARGET_CUBES, Tables, slices};

pub struct DensePass<'a, R: CubeRuntime> {
    pub launcher: &'a Launcher<R>,
    pub counts: &'a Dense,
    pub tables: Tables<R>,
}

impl<R: CubeRuntime> DensePass<'_, R> {
    pub fn by_documents(&self) -> CubeTensor<R> {
        let (launcher, counts, tables) = (self.launcher, self.counts, &self.tables);
        let (documents, topics) = (tables.documents, tables.topics);
        let inputs = (counts.format, tables.precision);
        let tile = Tile::by_documents(topics, inputs, launcher.has_many_registers());
        let groups = documents.div_ceil(tile.documents);
        let (per_slice, slices) = slices(tables.terms, UNITS * tile.terms, groups, MANY_CUBES);
        let length = slices * documents * topics;
        let parts = launcher.empty_buffer(length);
        let (count, dim) = launcher.cubes(slices * groups * UNITS);
        // SAFETY: a cube past the last one terminates; every index is clamped to its table's end.
        unsafe {
            dense::by_documents::launch_unchecked::<R>(
                &launcher.client,
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
        let out = launcher.empty_table(documents, topics);
        launcher.add_slices(parts, slices, &out);
        out
    }

    pub fn by_terms(&self) -> (CubeTensor<R>, CubeTensor<R>) {
        let (launcher, counts, tables) = (self.launcher, self.counts, &self.tables);
        let (topics, terms) = (tables.topics, tables.terms);
        let inputs = (counts.format, tables.precision);
        let tile = Tile::by_terms(topics, inputs, launcher.has_many_registers());
        let tiles = terms.div_ceil(UNITS * tile.terms);
        let (per_slice, slices) = slices(tables.documents, tile.documents, tiles, TARGET_CUBES);
        let (cubes, length) = (slices * tiles, slices * topics * terms);
        let (parts, likelihoods) = (launcher.empty_buffer(length), launcher.empty_buffer(cubes));
        let (count, dim) = launcher.cubes(cubes * UNITS);
        // SAFETY: a cube past the last one terminates; every index is clamped to its table's end.
        unsafe {
            dense::by_terms::launch_unchecked::<R>(
                &launcher.client,
                count,
                dim,
                counts.address(tables.documents, &tables.l, &tables.f),
                counts.words(tables.documents),
                tables.l.clone().into_tensor_arg(),
                tables.f.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), length),
                ArrayArg::from_raw_parts(likelihoods.clone(), cubes),
                self.sizes(per_slice, slices),
                tile,
            );
        }
        let out = launcher.empty_table(topics, terms);
        launcher.add_slices(parts, slices, &out);
        (launcher.partial_sums(likelihoods, cubes), out)
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
