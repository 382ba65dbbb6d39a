//! Launches of the kernels for dense and for sparse counts.

mod dense;
mod softmax;
mod sparse;

use burn::tensor::{DType, Shape};
use burn_cubecl::CubeRuntime;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::{empty_device_contiguous_dtype, empty_device_dtype};
use burn_cubecl::tensor::CubeTensor;
use cubecl::calculate_cube_count_elemwise;
use cubecl::client::ComputeClient;
use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::config::Precision;

use super::dense::UNITS;
use super::upload::{Target, Uploaded};
use super::{packed, reduce};
use dense::DensePass;
use sparse::SparsePass;

/// Cubes that occupy a large GPU; sums are cut into slices until there are about this many.
pub const TARGET_CUBES: usize = 512;

/// The same for sums whose slices take little memory: among this many cubes, the last ones leave little of the GPU idle.
pub const MANY_CUBES: usize = 2_048;

/// Partial sums in the first pass of a scalar reduction.
const PARTIAL_SUMS: usize = 256;

/// Launches kernels on a device.
pub struct Launcher<R: CubeRuntime> {
    pub client: ComputeClient<R>,
    device: R::Device,
}

impl<R: CubeRuntime> Launcher<R> {
    pub fn new(device: &R::Device) -> Self {
        Self {
            client: R::client(device),
            device: device.clone(),
        }
    }

    pub fn target(&self) -> Target<'_, R> {
        (&self.client, &self.device)
    }

    /// An uninitialised table of a tensor.
    fn empty_table(&self, rows: usize, columns: usize) -> CubeTensor<R> {
        let shape = Shape::new([rows, columns]);
        empty_device_dtype(self.client.clone(), self.device.clone(), shape, DType::F32)
    }

    /// An uninitialised buffer of `length` numbers.
    fn empty_buffer(&self, length: usize) -> Handle {
        self.client.empty(4 * length)
    }

    /// Number and size of the cubes that have at least `units` units.
    fn cubes(&self, units: usize) -> (CubeCount, CubeDim) {
        let dim = CubeDim::new_1d(UNITS as u32);
        (calculate_cube_count_elemwise(&self.client, units, dim), dim)
    }

    /// Whether units have as many registers as on CUDA, the only runtime that reports its number of multiprocessors.
    fn has_many_registers(&self) -> bool {
        let hardware = &self.client.properties().hardware;
        hardware.num_streaming_multiprocessors.is_some()
    }

    /// A table in the form in which kernels read it (see [`packed`]).
    fn pack(&self, table: CubeTensor<R>, precision: Precision) -> CubeTensor<R> {
        match precision {
            Precision::F32 => contiguous_rows(table),
            Precision::Bf16 => {
                let (rows, columns) = (table.meta.shape()[0], table.meta.shape()[1]);
                let width = packed::words(columns, precision);
                let shape = Shape::new([rows, width]);
                let (client, device) = (self.client.clone(), self.device.clone());
                let out = empty_device_contiguous_dtype(client, device, shape, DType::U32);
                let (count, dim) = self.cubes(rows * width);
                // SAFETY: a unit past the last word terminates.
                unsafe {
                    packed::pack::launch_unchecked::<R>(
                        &self.client,
                        count,
                        dim,
                        table.required_address_type(),
                        table.into_tensor_arg(),
                        out.clone().into_tensor_arg(),
                    );
                }
                out
            }
        }
    }

    /// Copies `rows` to the rows `documents` of `out`, which are distinct.
    pub fn scatter(&self, rows: CubeTensor<R>, documents: CubeTensor<R>, out: &CubeTensor<R>) {
        let rows = contiguous_rows(rows);
        let length = rows.meta.num_elements();
        let (count, dim) = self.cubes(length);
        // SAFETY: a unit past the last value terminates; documents are rows of the table.
        unsafe {
            reduce::scatter_rows::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                out.required_address_type(),
                rows.into_tensor_arg(),
                documents.into_array_arg(),
                out.clone().into_tensor_arg(),
            );
        }
    }

    /// Adds up `slices` matrices of the shape of `out`, which are contiguous in `parts`.
    fn add_slices(&self, parts: Handle, slices: usize, out: &CubeTensor<R>) {
        let length = out.meta.num_elements();
        let (count, dim) = self.cubes(length);
        // SAFETY: a unit past the last number terminates.
        unsafe {
            reduce::add_slices::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                AddressType::from_len(slices * length),
                ArrayArg::from_raw_parts(parts, slices * length),
                out.clone().into_tensor_arg(),
                slices,
            );
        }
    }

    /// First pass of the sum of `length` numbers: [`PARTIAL_SUMS`] sums, each of every `PARTIAL_SUMS`-th of them.
    fn partial_sums(&self, values: Handle, length: usize) -> CubeTensor<R> {
        let sums = self.empty_vector(PARTIAL_SUMS);
        let (count, dim) = self.cubes(PARTIAL_SUMS);
        // SAFETY: a unit past the last sum terminates; no number past `length` is read.
        unsafe {
            reduce::add_strided::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                ArrayArg::from_raw_parts(values, length),
                ArrayArg::from_raw_parts(sums.handle.clone(), PARTIAL_SUMS),
                length,
                PARTIAL_SUMS,
            );
        }
        sums
    }

    /// Second pass: the sum of the partial sums.
    pub fn add_partial_sums(&self, sums: CubeTensor<R>) -> CubeTensor<R> {
        let sum = self.empty_vector(1);
        let (count, dim) = self.cubes(UNITS);
        // SAFETY: a cube other than the first one terminates; no number past the partial sums is read.
        unsafe {
            reduce::add_all::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                ArrayArg::from_raw_parts(sums.handle, PARTIAL_SUMS),
                ArrayArg::from_raw_parts(sum.handle.clone(), 1),
                PARTIAL_SUMS,
            );
        }
        sum
    }

    /// An uninitialised vector of a tensor.
    fn empty_vector(&self, length: usize) -> CubeTensor<R> {
        let (client, device) = (self.client.clone(), self.device.clone());
        empty_device_contiguous_dtype(client, device, Shape::new([length]), DType::F32)
    }
}

/// A batch's tables in the form in which kernels read them.
pub struct Tables<R: CubeRuntime> {
    /// Documents x topics.
    l: CubeTensor<R>,
    /// Topics x terms; for sparse counts, terms x topics.
    f: CubeTensor<R>,
    documents: usize,
    topics: usize,
    terms: usize,
    /// Rates are clamped to this in the logarithm; x / rate is zero below it.
    smallest: f32,
    precision: Precision,
}

/// The sums of a batch on the GPU.
pub enum Pass<'a, R: CubeRuntime> {
    Dense(DensePass<'a, R>),
    Sparse(SparsePass<'a, R>),
}

impl<'a, R: CubeRuntime> Pass<'a, R> {
    /// `l` has the batch's weights (documents x topics), `f` is topics x terms. Rates are clamped to `smallest` in the
    /// logarithm; x / rate is zero below it.
    pub fn new(
        launcher: &'a Launcher<R>,
        counts: &'a Uploaded,
        (l, f): (CubeTensor<R>, CubeTensor<R>),
        smallest: f32,
        precision: Precision,
    ) -> Self {
        let (documents, topics) = (l.meta.shape()[0], l.meta.shape()[1]);
        let terms = f.meta.shape()[1];
        let f = match counts {
            Uploaded::Dense(_) => f,
            Uploaded::Sparse(_) => transposed(f),
        };
        let tables = Tables {
            l: launcher.pack(l, precision),
            f: launcher.pack(f, precision),
            documents,
            topics,
            terms,
            smallest,
            precision,
        };
        match counts {
            Uploaded::Dense(counts) => Self::Dense(DensePass {
                launcher,
                counts,
                tables,
            }),
            Uploaded::Sparse(counts) => Self::Sparse(SparsePass::new(launcher, counts, tables)),
        }
    }

    /// For each document, the sum of x / rate times rows of F (documents x topics).
    pub fn by_documents(&self) -> CubeTensor<R> {
        match self {
            Self::Dense(pass) => pass.by_documents(),
            Self::Sparse(pass) => pass.by_documents(),
        }
    }

    /// Partial sums of x log max(rate, smallest), and for each term the sum of x / rate times weights (topics x terms).
    pub fn by_terms(&self) -> (CubeTensor<R>, CubeTensor<R>) {
        match self {
            Self::Dense(pass) => pass.by_terms(),
            Self::Sparse(pass) => pass.by_terms(),
        }
    }
}

/// Cuts `n` items, which a cube processes in chunks of `chunk`, into slices, so that there are about `target` cubes if each
/// slice has `cubes`. Returns the items in a slice and the number of slices.
pub fn slices(n: usize, chunk: usize, cubes: usize, target: usize) -> (usize, usize) {
    let chunks = n.div_ceil(chunk);
    let wanted = (target / cubes).clamp(1, chunks);
    let per_slice = chunks.div_ceil(wanted) * chunk;
    (per_slice, n.div_ceil(per_slice))
}

/// A table whose rows are contiguous, possibly with padding between them.
fn contiguous_rows<R: CubeRuntime>(table: CubeTensor<R>) -> CubeTensor<R> {
    match table.meta.strides()[1] {
        1 => table,
        _ => into_contiguous(table),
    }
}

/// The transposed table, as a view.
fn transposed<R: CubeRuntime>(mut table: CubeTensor<R>) -> CubeTensor<R> {
    table.meta.swap(0, 1);
    table
}
