//! Launches of the kernels for sparse counts.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::backend::cube::dense::UNITS;
use crate::backend::cube::sparse;
use crate::backend::cube::sparse::{MIN_SLICE, SparseConfig, terms_per_cube};
use crate::backend::cube::upload::Sparse;

use super::{Launcher, TARGET_CUBES, Tables, slices};

pub struct SparsePass<'a, R: CubeRuntime> {
    launcher: &'a Launcher<R>,
    counts: &'a Sparse,
    tables: Tables<R>,
    /// count / rate of each nonzero count.
    ratios: Handle,
    /// Each document's sum of count x log rate.
    likelihoods: Handle,
}

impl<'a, R: CubeRuntime> SparsePass<'a, R> {
    /// Computes the ratios, which both sums use.
    pub fn new(launcher: &'a Launcher<R>, counts: &'a Sparse, tables: Tables<R>) -> Self {
        let (length, documents) = (counts.length(), tables.documents);
        let pass = Self {
            launcher,
            counts,
            tables,
            ratios: launcher.empty_buffer(counts.capacity.max(1)),
            likelihoods: launcher.empty_buffer(documents),
        };
        let tables = &pass.tables;
        let (count, dim) = launcher.cubes(documents * UNITS);
        // SAFETY: a cube past the last document terminates; starts and columns come from checked counts.
        unsafe {
            sparse::ratios::launch_unchecked::<R>(
                &launcher.client,
                count,
                dim,
                counts.starts(tables.documents),
                counts.columns(),
                counts.counts(),
                ArrayArg::from_raw_parts(pass.ratios.clone(), length),
                tables.l.clone().into_tensor_arg(),
                tables.f.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(pass.likelihoods.clone(), documents),
                tables.smallest,
                pass.config(),
            );
        }
        pass
    }

    fn config(&self) -> SparseConfig {
        SparseConfig {
            topics: self.tables.topics,
            precision: self.tables.precision,
        }
    }

    pub fn by_documents(&self) -> CubeTensor<R> {
        let (launcher, counts, tables) = (self.launcher, self.counts, &self.tables);
        let (documents, topics) = (tables.documents, tables.topics);
        let out = launcher.empty_table(documents, topics);
        let (count, dim) = launcher.cubes(documents * topics);
        // SAFETY: a unit past the last document terminates; starts and columns come from checked counts.
        unsafe {
            sparse::by_documents::launch_unchecked::<R>(
                &launcher.client,
                count,
                dim,
                counts.starts(documents),
                counts.columns(),
                ArrayArg::from_raw_parts(self.ratios.clone(), counts.length()),
                tables.f.clone().into_tensor_arg(),
                out.clone().into_tensor_arg(),
                self.config(),
            );
        }
        out
    }

    pub fn by_terms(&self) -> (CubeTensor<R>, CubeTensor<R>) {
        let (launcher, counts, tables) = (self.launcher, self.counts, &self.tables);
        let (documents, topics, terms) = (tables.documents, tables.topics, tables.terms);
        let tiles = terms.div_ceil(terms_per_cube(topics));
        let (per_slice, slices) = slices(documents, MIN_SLICE, tiles, TARGET_CUBES);
        let length = slices * topics * terms;
        let parts = launcher.empty_buffer(length);
        let (count, dim) = launcher.cubes(slices * tiles * UNITS);
        // SAFETY: a cube past the last one terminates; starts and columns come from checked counts, whose columns
        // ascend within a document.
        unsafe {
            sparse::by_terms::launch_unchecked::<R>(
                &launcher.client,
                count,
                dim,
                AddressType::from_len(length),
                counts.starts(documents),
                counts.columns(),
                ArrayArg::from_raw_parts(self.ratios.clone(), counts.length()),
                tables.l.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), length),
                terms,
                per_slice,
                slices,
                self.config(),
            );
        }
        let out = launcher.empty_table(topics, terms);
        launcher.add_slices(parts, slices, &out);
        let likelihood = launcher.partial_sums(self.likelihoods.clone(), documents);
        (likelihood, out)
    }
}
