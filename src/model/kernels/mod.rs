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
use burn::tensor::{DType, Shape};
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
use super::slopes::{Slopes, SlopesOn, tensor};
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

/// The three sums of a batch.
pub(crate) struct Statistics<R: CubeRuntime> {
    /// x log max(rate, smallest): one number.
    pub(crate) likelihood: CubeTensor<R>,
    /// Documents x topics: x / rate times rows of F.
    pub(crate) documents: CubeTensor<R>,
    /// Topics x terms: x / rate times weights.
    pub(crate) terms: CubeTensor<R>,
}

/// What launches need.
struct Card<R: CubeRuntime> {
    client: ComputeClient<R>,
    device: R::Device,
}

impl<R: CubeRuntime> Card<R> {
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

    /// The sums of a batch: `l` has its weights (documents x topics), `f` the topics' terms.
    fn statistics(
        &self,
        counts: &Sent,
        l: CubeTensor<R>,
        f: CubeTensor<R>,
        smallest: f32,
    ) -> Statistics<R> {
        let (l, f) = (rows_in_order(l), rows_in_order(f));
        match counts {
            Sent::Dense {
                words,
                stride,
                kind,
            } => self.dense((words, *stride, *kind), &l, &f, smallest),
            Sent::Sparse(counts) => self.sparse(counts, &l, f, smallest),
        }
    }

    fn dense(
        &self,
        (words, stride, kind): (&Handle, usize, Kind),
        l: &CubeTensor<R>,
        f: &CubeTensor<R>,
        smallest: f32,
    ) -> Statistics<R> {
        let (documents, topics, terms) = (l.meta.shape()[0], l.meta.shape()[1], f.meta.shape()[1]);
        let length = documents * stride;
        let sizes = |per_slice, slices| {
            SizesLaunch::new(documents, terms, stride, per_slice, slices, smallest)
        };
        let address = [l, f]
            .map(CubeTensor::required_address_type)
            .into_iter()
            .chain([AddressType::from_len(length)]);
        let address = address.max().unwrap_or_default();

        // Only CUDA counts them.
        let hardware = &self.client.properties().hardware;
        let large = hardware.num_streaming_multiprocessors.is_some();

        let tile = Tile::by_terms(topics, kind, large);
        let tiles = terms.div_ceil(UNITS * tile.terms);
        let (per_slice, slices) = slices(documents, tile.documents, tiles);
        let units = slices * tiles * UNITS;
        let (parts, likelihoods) = (self.numbers(slices * topics * terms), self.numbers(units));
        let (count, dim) = self.cubes(units);
        // SAFETY: a cube past the last one ends; every index is cut off at its table's end.
        unsafe {
            dense::by_terms::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                address,
                ArrayArg::from_raw_parts(words.clone(), length),
                l.clone().into_tensor_arg(),
                f.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), slices * topics * terms),
                ArrayArg::from_raw_parts(likelihoods.clone(), units),
                sizes(per_slice, slices),
                tile,
            );
        }
        let of_terms = self.table(topics, terms);
        self.add_slices(parts, slices, &of_terms);

        let tile = Tile::by_documents(topics, kind, large);
        let groups = documents.div_ceil(tile.documents);
        let (per_slice, slices) = self::slices(terms, UNITS * tile.terms, groups);
        let parts = self.numbers(slices * documents * topics);
        let (count, dim) = self.cubes(slices * groups * UNITS);
        // SAFETY: as above.
        unsafe {
            dense::by_documents::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                address,
                ArrayArg::from_raw_parts(words.clone(), length),
                l.clone().into_tensor_arg(),
                f.clone().into_tensor_arg(),
                ArrayArg::from_raw_parts(parts.clone(), slices * documents * topics),
                sizes(per_slice, slices),
                tile,
            );
        }
        let of_documents = self.table(documents, topics);
        self.add_slices(parts, slices, &of_documents);
        Statistics {
            likelihood: self.total(likelihoods, units),
            documents: of_documents,
            terms: of_terms,
        }
    }

    fn sparse(
        &self,
        counts: &Sparse,
        l: &CubeTensor<R>,
        f: CubeTensor<R>,
        smallest: f32,
    ) -> Statistics<R> {
        let (documents, topics, terms) = (l.meta.shape()[0], l.meta.shape()[1], f.meta.shape()[1]);
        let nonzeros = counts.nonzeros.max(1);
        let by_term = into_contiguous(turned(f));
        // SAFETY: the lengths are those of what was sent.
        let array =
            |handle: &Handle, length| unsafe { ArrayArg::from_raw_parts(handle.clone(), length) };
        let (rows, units) = (self.numbers(nonzeros), documents * UNITS);
        let likelihoods = self.numbers(units);
        let (count, dim) = self.cubes(units);
        // SAFETY: a cube past the last document ends; starts, columns and order come from checked counts.
        unsafe {
            sparse::shares::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                array(&counts.starts, documents + 1),
                array(&counts.columns, nonzeros),
                array(&counts.counts, nonzeros),
                array(&rows, nonzeros),
                l.clone().into_tensor_arg(),
                by_term.clone().into_tensor_arg(),
                array(&likelihoods, units),
                topics,
                smallest,
            );
        }
        let of_documents = self.table(documents, topics);
        let (count, dim) = self.cubes(documents * topics);
        // SAFETY: as above.
        unsafe {
            sparse::by_documents::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                array(&counts.starts, documents + 1),
                array(&counts.columns, nonzeros),
                array(&counts.counts, nonzeros),
                by_term.into_tensor_arg(),
                of_documents.clone().into_tensor_arg(),
                topics,
            );
        }
        let of_terms = self.table(terms, topics);
        let (count, dim) = self.cubes(terms * topics);
        // SAFETY: as above.
        unsafe {
            sparse::by_terms::launch_unchecked::<R>(
                &self.client,
                count,
                dim,
                array(&counts.starts_of_terms, terms + 1),
                array(&counts.order, nonzeros),
                array(&rows, nonzeros),
                array(&counts.counts, nonzeros),
                l.clone().into_tensor_arg(),
                of_terms.clone().into_tensor_arg(),
                topics,
            );
        }
        Statistics {
            likelihood: self.total(likelihoods, units),
            documents: of_documents,
            terms: turned(of_terms),
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
        let card = Card {
            client: f.client.clone(),
            device: f.device.clone(),
        };
        let terms = f.meta.shape()[1];
        let counts = match held {
            Some(held) => held.gather(card.to(), batch.documents)?,
            None => send::upload_batch(card.to(), batch, terms)?,
        };
        let weights = softmax(tensor::<Self, 2>(l), 1);
        let f = softmax(tensor::<Self, 2>(f), 1);
        let sums = card.statistics(
            &counts,
            weights.clone().into_primitive().tensor(),
            f.clone().into_primitive().tensor(),
            SMALLEST_RATE as f32,
        );
        // Through softmax: what all of a row's slopes have in common takes nothing.
        let shares = weights.clone() * tensor(sums.documents);
        let totals = shares.clone().sum_dim(0).swap_dims(0, 1);
        let of_l = weights * shares.clone().sum_dim(1) - shares;
        let of_f = f * (totals - tensor::<Self, 2>(sums.terms));
        let loss = -tensor::<Self, 1>(sums.likelihood) + batch.rows.len() as f32;
        Ok(SlopesOn {
            loss: loss.into_primitive().tensor(),
            l: of_l.into_primitive().tensor(),
            f: of_f.into_primitive().tensor(),
        })
    }
}
