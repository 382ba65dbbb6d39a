//! Launching the kernels: dense counts, sparse counts, and what both need.

mod dense;
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

use super::dense::UNITS;
use super::send::Sent;
use super::{sum, table};
use crate::model::Precision;

use dense::OfDense;
use sparse::OfSparse;

/// Cubes that fill a large card: sums are cut into slices until there are about as many.
const CUBES: usize = 512;

/// Parts of a sum of single numbers.
const PARTS: usize = 256;

/// What launches need.
pub(super) struct Card<R: CubeRuntime> {
    pub(super) client: ComputeClient<R>,
    device: R::Device,
}

impl<R: CubeRuntime> Card<R> {
    pub(super) fn new(device: &R::Device) -> Self {
        Self {
            client: R::client(device),
            device: device.clone(),
        }
    }

    pub(super) fn to(&self) -> (&ComputeClient<R>, &R::Device) {
        (&self.client, &self.device)
    }

    /// A table that tensors can hold.
    fn table(&self, rows: usize, columns: usize) -> CubeTensor<R> {
        let shape = Shape::new([rows, columns]);
        empty_device_dtype(self.client.clone(), self.device.clone(), shape, DType::F32)
    }

    fn numbers(&self, length: usize) -> Handle {
        self.client.empty(4 * length)
    }

    /// Cubes for so many units.
    fn cubes(&self, units: usize) -> (CubeCount, CubeDim) {
        let dim = CubeDim::new_1d(UNITS as u32);
        (calculate_cube_count_elemwise(&self.client, units, dim), dim)
    }

    /// Whether a unit has many registers: only CUDA counts its multiprocessors.
    fn is_large(&self) -> bool {
        let hardware = &self.client.properties().hardware;
        hardware.num_streaming_multiprocessors.is_some()
    }

    /// A table as the kernels read it.
    fn read(&self, table: CubeTensor<R>, precision: Precision) -> CubeTensor<R> {
        match precision {
            Precision::F32 => rows_in_order(table),
            Precision::Bf16 => {
                let (rows, columns) = (table.meta.shape()[0], table.meta.shape()[1]);
                let width = table::words(columns, precision);
                let shape = Shape::new([rows, width]);
                let (client, device) = (self.client.clone(), self.device.clone());
                let out = empty_device_contiguous_dtype(client, device, shape, DType::U32);
                let (count, dim) = self.cubes(rows * width);
                // SAFETY: a unit past the last word ends.
                unsafe {
                    table::pack::launch_unchecked::<R>(
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

    /// A table of zeros but for the rows `documents`, all of them different.
    pub(super) fn scatter(
        &self,
        rows: CubeTensor<R>,
        documents: CubeTensor<R>,
        out: &CubeTensor<R>,
    ) {
        let rows = rows_in_order(rows);
        let length = rows.meta.num_elements();
        let (count, dim) = self.cubes(length);
        // SAFETY: a unit past the last value ends; documents are rows of the table.
        unsafe {
            sum::put_rows::launch_unchecked::<R>(
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

    /// Adds up matrices of the shape of `out` that lie one after the other.
    fn add_slices(&self, parts: Handle, slices: usize, out: &CubeTensor<R>) {
        let length = out.meta.num_elements();
        let (count, dim) = self.cubes(length);
        // SAFETY: a unit past the last number ends.
        unsafe {
            sum::add_slices::launch_unchecked::<R>(
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

    /// Parts of the sum of `length` numbers.
    fn parts_of_sum(&self, numbers: Handle, length: usize) -> CubeTensor<R> {
        self.add_strided(numbers, length, PARTS)
    }

    /// The sum of the parts of a sum.
    pub(super) fn whole_sum(&self, parts: CubeTensor<R>) -> CubeTensor<R> {
        self.add_strided(parts.handle, PARTS, 1)
    }

    /// Sums of every `every`-th of `length` numbers.
    fn add_strided(&self, numbers: Handle, length: usize, every: usize) -> CubeTensor<R> {
        let (client, device) = (self.client.clone(), self.device.clone());
        let shape = Shape::new([every]);
        let sums = empty_device_contiguous_dtype(client, device, shape, DType::F32);
        let (count, dim) = self.cubes(every);
        // SAFETY: a unit past the last sum ends; no number past `length` is read.
        unsafe {
            sum::add_strided::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                ArrayArg::from_raw_parts(numbers, length),
                ArrayArg::from_raw_parts(sums.handle.clone(), every),
                length,
                every,
            );
        }
        sums
    }
}

/// A batch's tables, as the kernels read them.
struct Tables<R: CubeRuntime> {
    /// Documents x topics.
    l: CubeTensor<R>,
    /// Topics x terms; where counts are sparse, terms x topics.
    f: CubeTensor<R>,
    documents: usize,
    topics: usize,
    terms: usize,
    /// Below this rate a count says nothing.
    smallest: f32,
    precision: Precision,
}

/// A batch on the card, of which the sums are asked.
pub(super) enum Pass<'a, R: CubeRuntime> {
    Dense(OfDense<'a, R>),
    Sparse(OfSparse<'a, R>),
}

impl<'a, R: CubeRuntime> Pass<'a, R> {
    /// `l` has the batch's weights (documents x topics), `f` the topics' terms; below the rate `smallest` a count says
    /// nothing.
    pub(super) fn new(
        card: &'a Card<R>,
        counts: &'a Sent,
        (l, f): (CubeTensor<R>, CubeTensor<R>),
        smallest: f32,
        precision: Precision,
    ) -> Self {
        let (documents, topics) = (l.meta.shape()[0], l.meta.shape()[1]);
        let terms = f.meta.shape()[1];
        let f = match counts {
            Sent::Dense(_) => f,
            Sent::Sparse(_) => turned(f),
        };
        let tables = Tables {
            l: card.read(l, precision),
            f: card.read(f, precision),
            documents,
            topics,
            terms,
            smallest,
            precision,
        };
        match counts {
            Sent::Dense(counts) => Self::Dense(OfDense {
                card,
                counts,
                tables,
            }),
            Sent::Sparse(counts) => Self::Sparse(OfSparse::new(card, counts, tables)),
        }
    }

    /// For each document, the sum of x / rate times rows of F (documents x topics).
    pub(super) fn by_documents(&self) -> CubeTensor<R> {
        match self {
            Self::Dense(pass) => pass.by_documents(),
            Self::Sparse(pass) => pass.by_documents(),
        }
    }

    /// Parts of the sum of x log max(rate, smallest), and for each term that of x / rate times weights (topics x
    /// terms).
    pub(super) fn by_terms(&self) -> (CubeTensor<R>, CubeTensor<R>) {
        match self {
            Self::Dense(pass) => pass.by_terms(),
            Self::Sparse(pass) => pass.by_terms(),
        }
    }
}

/// How many there are in a slice, and how many slices, if `cubes` cubes have one slice of `all` things each, which are
/// worked on `at_once` at a time.
pub(super) fn slices(all: usize, at_once: usize, cubes: usize) -> (usize, usize) {
    let turns = all.div_ceil(at_once);
    let wanted = (CUBES / cubes).clamp(1, turns);
    let per_slice = turns.div_ceil(wanted) * at_once;
    (per_slice, all.div_ceil(per_slice))
}

/// Rows one after the other, perhaps with room between them.
fn rows_in_order<R: CubeRuntime>(table: CubeTensor<R>) -> CubeTensor<R> {
    match table.meta.strides()[1] {
        1 => table,
        _ => into_contiguous(table),
    }
}

/// Columns as rows, without moving anything.
fn turned<R: CubeRuntime>(mut table: CubeTensor<R>) -> CubeTensor<R> {
    table.meta.swap(0, 1);
    table
}
