//! Loss and gradients on a card: kernels for any runtime of CubeCL, on the tensors' own memory.
//!
//! With the weights W (a batch's rows of L) and r = W F, where rows of both tables sum to one, everything that a step
//! needs are three sums: of x log r, for each document of x / r times rows of F, and for each term of x / r times
//! weights. They are the statistics of expectation-maximisation, too. Counts travel as they are stored and are widened
//! where they are used; no table of batch x terms is held but those counts.

mod dense;
mod exchange;
mod held;
mod launch;
mod memory;
mod pinned;
mod send;
#[cfg(test)]
pub(crate) mod software;
mod sparse;
mod sum;
mod table;
#[cfg(test)]
mod tests;

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};

use launch::{Card, Pass};
use send::Sent;

use super::Precision;
use super::network::SMALLEST_RATE;
use super::slopes::{Slopes, SlopesOn, Sums, tensor};
use crate::counts::{Counts, DenseRows};
use crate::error::Result;
use crate::loader::Batch;

pub(crate) use held::Held;
pub(crate) use memory::{buffers, bytes_of_batch, bytes_of_counts, bytes_pinned};
pub(crate) use send::Stay;

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
        precision: Precision,
    ) -> Result<SlopesOn<Self>> {
        let card = Card::<R>::new(&f.device);
        let counts = match held {
            Some(held) => held.gather(card.to(), batch.documents)?,
            None => send::upload_batch(card.to(), batch, f.meta.shape()[1], None)?,
        };
        let weights = softmax(tensor::<Self, 2>(l), 1);
        let f = softmax(tensor::<Self, 2>(f), 1);
        let smallest = SMALLEST_RATE as f32;
        let tables = (primitive(&weights), primitive(&f));
        let pass = Pass::new(&card, &counts, tables, smallest, precision);
        let (likelihood, of_terms) = pass.by_terms();
        let likelihood = card.whole_sum(likelihood);
        let (likelihood, of_terms) = (tensor::<Self, 1>(likelihood), tensor::<Self, 2>(of_terms));
        let of_documents = tensor::<Self, 2>(pass.by_documents());
        drop(pass);
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

    fn send(
        batch: &Batch<'_>,
        terms: usize,
        stay: Option<Stay>,
        device: &Self::Device,
    ) -> Result<Sent> {
        send::upload_batch(Card::<R>::new(device).to(), batch, terms, stay)
    }

    fn by_documents(
        counts: &Sent,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> Tensor<Self, 2> {
        let card = Card::<R>::new(&l.device());
        let tables = (primitive(&l), primitive(&f));
        tensor(Pass::new(&card, counts, tables, smallest, Precision::F32).by_documents())
    }

    fn by_terms(
        counts: &Sent,
        l: Tensor<Self, 2>,
        f: Tensor<Self, 2>,
        smallest: f32,
    ) -> (Tensor<Self, 1>, Tensor<Self, 2>) {
        let card = Card::<R>::new(&l.device());
        let tables = (primitive(&l), primitive(&f));
        let (likelihood, sums) =
            Pass::new(&card, counts, tables, smallest, Precision::F32).by_terms();
        (tensor(likelihood), tensor(sums))
    }
}

fn primitive<R, F, I, BT>(table: &Tensor<CubeBackend<R, F, I, BT>, 2>) -> CubeTensor<R>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    table.clone().into_primitive().tensor()
}
