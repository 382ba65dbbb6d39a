//! Loss and gradients on a card: kernels for any runtime of CubeCL, on the tensors' own memory.
//!
//! With the weights W (a batch's rows of L) and r = W F, where rows of both tables sum to one, everything that a step
//! needs are three sums: of x log r, for each document of x / r times rows of F, and for each term of x / r times
//! weights. They are the statistics of expectation-maximisation, too. Counts travel as they are stored and are widened
//! where they are used; no table of batch x terms is held but those counts.

mod dense;
mod exchange;
mod held;
mod memory;
mod send;
#[cfg(test)]
pub(crate) mod software;
mod sparse;
mod sum;
#[cfg(test)]
mod tests;

use burn::tensor::activation::softmax;
use burn::tensor::{DType, Shape, Tensor};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::{empty_device_contiguous_dtype, empty_device_dtype};
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};
use cubecl::calculate_cube_count_elemwise;
use cubecl::client::ComputeClient;
use cubecl::prelude::*;
use cubecl::server::Handle;

use dense::{SizesLaunch, Tile, UNITS};
use send::{Sent, Sparse};

use super::network::SMALLEST_RATE;
use super::slopes::{Slopes, SlopesOn, Sums, tensor};
use crate::counts::{Counts, DenseRows};
use crate::error::Result;
use crate::loader::Batch;

pub(crate) use held::Held;
pub(crate) use memory::{bytes_of_counts, bytes_of_staging, workspace};

/// Cubes that fill a large card: sums are cut into slices until there are about as many.
const CUBES: usize = 512;

/// How dense counts lie on the card: 32 bits at a time, which any runtime can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    U8,
    U16,
    /// `i32` too: counts are not negative.
    U32,
    /// `i64` and `f64` too, converted on the way.
    F32,
}

impl Kind {
    fn of(counts: &DenseRows<'_>) -> Self {
        match counts {
            DenseRows::U8(_) => Self::U8,
            DenseRows::U16(_) => Self::U16,
            DenseRows::U32(_) | DenseRows::I32(_) => Self::U32,
            DenseRows::I64(_) | DenseRows::F32(_) | DenseRows::F64(_) => Self::F32,
        }
    }

    /// Counts in a word.
    const fn in_word(self) -> usize {
        match self {
            Self::U8 => 4,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 1,
        }
    }
}

/// What launches need.
struct Card<R: CubeRuntime> {
    client: ComputeClient<R>,
    device: R::Device,
}

impl<R: CubeRuntime> Card<R> {
    fn new(device: &R::Device) -> Self {
        Self {
            client: R::client(device),
            device: device.clone(),
        }
    }

    fn to(&self) -> (&ComputeClient<R>, &R::Device) {
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

    /// For each document, the sum of x / rate times rows of F (documents x topics). `l` has the batch's weights
    /// (documents x topics), `f` the topics' terms; below the rate `smallest` a count says nothing.
    fn by_documents(
        &self,
        counts: &Sent,
        l: CubeTensor<R>,
        f: CubeTensor<R>,
        smallest: f32,
    ) -> CubeTensor<R> {
        let (l, f) = (rows_in_order(l), rows_in_order(f));
        let (documents, topics, terms) = sizes(&l, &f);
        let out = self.table(documents, topics);
        match counts {
            Sent::Dense(counts) => {
                let tile = Tile::by_documents(topics, counts.kind, self.is_large());
                let groups = documents.div_ceil(tile.documents);
                let (per_slice, slices) = slices(terms, UNITS * tile.terms, groups);
                let length = slices * documents * topics;
                let parts = self.numbers(length);
                let (count, dim) = self.cubes(slices * groups * UNITS);
                // SAFETY: a cube past the last one ends; every index is cut off at its table's end.
                unsafe {
                    dense::by_documents::launch_unchecked::<R>(
                        &self.client,
                        count,
                        dim,
                        counts.address(documents, &l, &f),
                        counts.words(documents),
                        l.into_tensor_arg(),
                        f.into_tensor_arg(),
                        ArrayArg::from_raw_parts(parts.clone(), length),
                        SizesLaunch::new(
                            documents,
                            terms,
                            counts.stride,
                            per_slice,
                            slices,
                            smallest,
                        ),
                        tile,
                    );
                }
                self.add_slices(parts, slices, &out);
            }
            Sent::Sparse(counts) => {
                let by_term = into_contiguous(turned(f));
                let shares = self.shares(counts, &l, &by_term, smallest);
                let (count, dim) = self.cubes(documents * topics);
                // SAFETY: a unit past the last document ends; starts and columns come from checked counts.
                unsafe {
                    sparse::by_documents::launch_unchecked::<R>(
                        &self.client,
                        count,
                        dim,
                        ArrayArg::from_raw_parts(counts.starts.clone(), documents + 1),
                        ArrayArg::from_raw_parts(counts.columns.clone(), counts.length()),
                        ArrayArg::from_raw_parts(shares.values, counts.length()),
                        by_term.into_tensor_arg(),
                        out.clone().into_tensor_arg(),
                        topics,
                    );
                }
            }
        }
        out
    }

    /// The sum of x log max(rate, smallest) (one number), and for each term that of x / rate times weights (topics x
    /// terms).
    fn by_terms(
        &self,
        counts: &Sent,
        l: CubeTensor<R>,
        f: CubeTensor<R>,
        smallest: f32,
    ) -> (CubeTensor<R>, CubeTensor<R>) {
        let (l, f) = (rows_in_order(l), rows_in_order(f));
        let (documents, topics, terms) = sizes(&l, &f);
        match counts {
            Sent::Dense(counts) => {
                let tile = Tile::by_terms(topics, counts.kind, self.is_large());
                let tiles = terms.div_ceil(UNITS * tile.terms);
                let (per_slice, slices) = slices(documents, tile.documents, tiles);
                let (units, length) = (slices * tiles * UNITS, slices * topics * terms);
                let (parts, likelihoods) = (self.numbers(length), self.numbers(units));
                let (count, dim) = self.cubes(units);
                // SAFETY: a cube past the last one ends; every index is cut off at its table's end.
                unsafe {
                    dense::by_terms::launch_unchecked::<R>(
                        &self.client,
                        count,
                        dim,
                        counts.address(documents, &l, &f),
                        counts.words(documents),
                        l.into_tensor_arg(),
                        f.into_tensor_arg(),
                        ArrayArg::from_raw_parts(parts.clone(), length),
                        ArrayArg::from_raw_parts(likelihoods.clone(), units),
                        SizesLaunch::new(
                            documents,
                            terms,
                            counts.stride,
                            per_slice,
                            slices,
                            smallest,
                        ),
                        tile,
                    );
                }
                let out = self.table(topics, terms);
                self.add_slices(parts, slices, &out);
                (self.total(likelihoods, units), out)
            }
            Sent::Sparse(counts) => {
                let by_term = into_contiguous(turned(f));
                let shares = self.shares(counts, &l, &by_term, smallest);
                let out = self.table(terms, topics);
                let (count, dim) = self.cubes(terms * topics);
                // SAFETY: a unit past the last term ends; starts and order were made from checked counts.
                unsafe {
                    sparse::by_terms::launch_unchecked::<R>(
                        &self.client,
                        count,
                        dim,
                        ArrayArg::from_raw_parts(counts.starts_of_terms.clone(), terms + 1),
                        ArrayArg::from_raw_parts(counts.order.clone(), counts.length()),
                        ArrayArg::from_raw_parts(shares.rows, counts.length()),
                        ArrayArg::from_raw_parts(shares.values, counts.length()),
                        l.into_tensor_arg(),
                        out.clone().into_tensor_arg(),
                        topics,
                    );
                }
                (
                    self.total(shares.likelihoods, documents * UNITS),
                    turned(out),
                )
            }
        }
    }

    /// x / rate of the nonzero counts. `by_term` is F with a row for each term.
    fn shares(
        &self,
        counts: &Sparse,
        l: &CubeTensor<R>,
        by_term: &CubeTensor<R>,
        smallest: f32,
    ) -> Shares {
        let (documents, topics) = (l.meta.shape()[0], l.meta.shape()[1]);
        let length = counts.length();
        let shares = Shares {
            values: self.numbers(length),
            rows: self.numbers(length),
            likelihoods: self.numbers(documents * UNITS),
        };
        let (count, dim) = self.cubes(documents * UNITS);
        // SAFETY: a cube past the last document ends; starts and columns come from checked counts.
        unsafe {
            sparse::shares::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                ArrayArg::from_raw_parts(counts.starts.clone(), documents + 1),
                ArrayArg::from_raw_parts(counts.columns.clone(), length),
                ArrayArg::from_raw_parts(counts.counts.clone(), length),
                ArrayArg::from_raw_parts(shares.values.clone(), length),
                ArrayArg::from_raw_parts(shares.rows.clone(), length),
                l.clone().into_tensor_arg(),
                by_term.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(shares.likelihoods.clone(), documents * UNITS),
                topics,
                smallest,
            );
        }
        shares
    }

    /// Whether a unit has many registers: only CUDA counts its multiprocessors.
    fn is_large(&self) -> bool {
        let hardware = &self.client.properties().hardware;
        hardware.num_streaming_multiprocessors.is_some()
    }

    /// A table of zeros but for the rows `documents`, all of them different.
    fn scatter(&self, rows: CubeTensor<R>, documents: CubeTensor<R>, out: &CubeTensor<R>) {
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

    /// The sum of `length` numbers.
    fn total(&self, numbers: Handle, length: usize) -> CubeTensor<R> {
        /// Sums after the first round.
        const SOME: usize = 256;
        let some = self.add_strided(numbers, length, SOME);
        self.add_strided(some.handle, SOME, 1)
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

/// What the nonzero counts have become.
struct Shares {
    values: Handle,
    /// Their documents.
    rows: Handle,
    likelihoods: Handle,
}

/// Documents, topics, terms.
fn sizes<R: CubeRuntime>(l: &CubeTensor<R>, f: &CubeTensor<R>) -> (usize, usize, usize) {
    let (l, f) = (l.meta.shape(), f.meta.shape());
    (l[0], l[1], f[1])
}

/// How many there are in a slice, and how many slices, if `cubes` cubes have one slice of `all` things each, which are
/// worked on `at_once` at a time.
fn slices(all: usize, at_once: usize, cubes: usize) -> (usize, usize) {
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

impl<R, F, I, BT> Slopes for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    type Held = Held;

    fn hold(counts: &Counts, device: &Self::Device) -> Result<Held> {
        Held::all::<R>((&R::client(device), device), counts)
    }

    fn slopes(
        l: CubeTensor<R>,
        f: CubeTensor<R>,
        batch: &Batch<'_>,
        held: Option<&Held>,
    ) -> Result<SlopesOn<Self>> {
        let card = Card::<R>::new(&f.device);
        let counts = match held {
            Some(held) => held.gather(card.to(), batch.documents)?,
            None => send::upload_batch(card.to(), batch, f.meta.shape()[1])?,
        };
        let weights = softmax(tensor::<Self, 2>(l), 1);
        let f = softmax(tensor::<Self, 2>(f), 1);
        let smallest = SMALLEST_RATE as f32;
        let (likelihood, of_terms) = Self::by_terms(&counts, weights.clone(), f.clone(), smallest);
        let of_documents = Self::by_documents(&counts, weights.clone(), f.clone(), smallest);
        // Through softmax: what all of a row's slopes have in common takes nothing.
        let shares = weights.clone() * of_documents;
        let totals = shares.clone().sum_dim(0).swap_dims(0, 1);
        let of_l = weights * shares.clone().sum_dim(1) - shares;
        let of_f = f * (totals - of_terms);
        let loss = -likelihood + batch.rows.len() as f32;
        Ok(SlopesOn {
            loss: loss.into_primitive().tensor(),
            l: of_l.into_primitive().tensor(),
            f: of_f.into_primitive().tensor(),
        })
    }

    fn scatter(rows: CubeTensor<R>, documents: CubeTensor<R>, all: usize) -> CubeTensor<R> {
        let device = rows.device.clone();
        let zeros = Tensor::<Self, 2>::zeros([all, rows.meta.shape()[1]], &device);
        let table = zeros.into_primitive().tensor();
        Card::<R>::new(&device).scatter(rows, documents, &table);
        table
    }
}

impl<R, F, I, BT> Sums for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    type Sent = Sent;

    fn send(batch: &Batch<'_>, terms: usize, device: &Self::Device) -> Result<Sent> {
        send::upload_batch(Card::<R>::new(device).to(), batch, terms)
    }

    fn by_documents(
        counts: &Sent,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> Tensor<Self, 2> {
        let (l, f) = (l.into_primitive().tensor(), f.into_primitive().tensor());
        let card = Card::<R>::new(&f.device);
        tensor(card.by_documents(counts, l, f, smallest))
    }

    fn by_terms(
        counts: &Sent,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> (Tensor<Self, 1>, Tensor<Self, 2>) {
        let (l, f) = (l.into_primitive().tensor(), f.into_primitive().tensor());
        let card = Card::<R>::new(&f.device);
        let (likelihood, sums) = card.by_terms(counts, l, f, smallest);
        (tensor(likelihood), tensor(sums))
    }
}
