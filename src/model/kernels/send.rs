//! Counts on their way to the card, as they are stored.

use std::ops::Range;

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::bytes::Bytes;
use cubecl::client::ComputeClient;
use cubecl::device::Device;
use cubecl::device_handle::DeviceHandle;
use cubecl::ir::AddressType;
use cubecl::prelude::{ArrayArg, Runtime};
use cubecl::server::{ComputeServer, CopyDescriptor, Handle};
use cubecl::stream_id::StreamId;
use rayon::prelude::*;

use super::{Kind, pinned};
use crate::counts::{CountValue, Csr, DenseRows, Dtype, Element, View, as_bytes, with_values};
use crate::error::{Error, ErrorKind, Result};
use crate::loader::Batch;

/// A batch's counts on the card.
pub(crate) enum Sent {
    Dense(Dense),
    Sparse(Sparse),
}

/// Documents x stride, in words of 32 bits.
pub(crate) struct Dense {
    pub(super) words: Handle,
    pub(super) stride: usize,
    pub(super) kind: Kind,
}

impl Dense {
    /// So many rows.
    pub(super) fn words<R: Runtime>(&self, documents: usize) -> ArrayArg<R> {
        // SAFETY: as many as were sent.
        unsafe { ArrayArg::from_raw_parts(self.words.clone(), documents * self.stride) }
    }

    /// What kernels index with.
    pub(super) fn address<R: CubeRuntime>(
        &self,
        documents: usize,
        l: &CubeTensor<R>,
        f: &CubeTensor<R>,
    ) -> AddressType {
        AddressType::from_len(documents * self.stride)
            .max(l.required_address_type())
            .max(f.required_address_type())
    }
}

/// What is known of sparse counts that come in the same blocks again and again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stay {
    /// Nonzero counts of the block that has the most.
    pub(crate) largest: usize,
    /// Whether each block stays on the card.
    pub(crate) held: bool,
}

/// Sparse counts by document: where each begins (one more than there are documents), and what it has.
pub(crate) struct Sparse {
    pub(super) nonzeros: usize,
    /// Numbers that there is room for where each nonzero count has one.
    pub(super) room: usize,
    pub(super) starts: Handle,
    pub(super) columns: Handle,
    pub(super) counts: Handle,
}

impl Sparse {
    /// Numbers in an array of the nonzero counts. There is no array of none.
    pub(super) fn length(&self) -> usize {
        self.nonzeros.max(1)
    }

    pub(super) fn starts<R: Runtime>(&self, documents: usize) -> ArrayArg<R> {
        // SAFETY: as many as were sent.
        unsafe { ArrayArg::from_raw_parts(self.starts.clone(), documents + 1) }
    }

    pub(super) fn columns<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: as many as were sent.
        unsafe { ArrayArg::from_raw_parts(self.columns.clone(), self.length()) }
    }

    pub(super) fn counts<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: as many as were sent.
        unsafe { ArrayArg::from_raw_parts(self.counts.clone(), self.length()) }
    }
}

/// Fills memory on the card with rows of bytes. `fill` writes some of them; the memory that it writes to is pinned where
/// the runtime has such, and used again and again: two stages, one of which is copied while the other is filled.
///
/// The runtime's own `create` copies the data once more, into memory that is not pinned; hence its server is asked here.
pub(super) fn upload<R: Runtime>(
    to: (&ComputeClient<R>, &R::Device),
    (rows, row_bytes): (usize, usize),
    fill: impl Fn(Range<usize>, &mut [u8]),
) -> Result<Handle> {
    upload_into(to, rows * row_bytes, (rows, row_bytes), fill)
}

/// The same into memory of at least so many bytes.
fn upload_into<R: Runtime>(
    (client, device): (&ComputeClient<R>, &R::Device),
    least: usize,
    (rows, row_bytes): (usize, usize),
    fill: impl Fn(Range<usize>, &mut [u8]),
) -> Result<Handle> {
    // There is no memory of no bytes.
    let length = least.max(4);
    let handle = client.empty(length);
    let server = DeviceHandle::<R::Server>::new(device.to_id());
    let stream = StreamId::current();
    let stage = pinned::stage(client.properties().memory.max_page_size) as usize;
    let at_once = (stage / row_bytes.max(1)).max(1);
    for first in (0..rows).step_by(at_once) {
        let part = first..rows.min(first + at_once);
        let size = part.len() * row_bytes;
        let staged = server
            .submit_blocking(move |server| server.staging(&[size], stream))
            .map_err(stopped)?;
        let mut bytes = match staged {
            Ok(mut pinned) if pinned.len() == 1 => pinned.swap_remove(0),
            _ => Bytes::from_bytes_vec(vec![0; size]),
        };
        let (begin, end) = (part.start * row_bytes, part.end * row_bytes);
        fill(part, &mut bytes);
        let place = handle
            .clone()
            .offset_start(begin as u64)
            .offset_end((length - end) as u64);
        let place = CopyDescriptor::new(place.binding(), [size].into(), [1].into(), 1);
        server.submit(move |server| server.write(vec![(place, bytes)], stream));
        if size >= stage / 2 {
            // Waits until the stage before this one has been copied, and gives its memory back.
            server
                .submit_blocking(move |server| server.flush(stream))
                .map_err(stopped)?
                .map_err(stopped)?;
        }
    }
    Ok(handle)
}

fn stopped(error: impl std::fmt::Debug) -> Error {
    Error::new(
        ErrorKind::Device,
        format!("the device did not take the counts: {error:?}"),
    )
    .fix("use a smaller batch size, or Device::Cpu")
}

/// A slice of numbers on the card.
pub(super) fn upload_slice<R: Runtime, T: Element>(
    to: (&ComputeClient<R>, &R::Device),
    values: &[T],
) -> Result<Handle> {
    upload_of(to, values.len(), values)
}

/// The same where the next batch has another length.
pub(super) fn upload_varying<R: Runtime, T: Element>(
    to: (&ComputeClient<R>, &R::Device),
    values: &[T],
) -> Result<Handle> {
    upload_of(to, room(values.len()), values)
}

fn upload_of<R: Runtime, T: Element>(
    to: (&ComputeClient<R>, &R::Device),
    least: usize,
    values: &[T],
) -> Result<Handle> {
    let (length, size) = (values.len(), size_of::<T>());
    upload_into(to, size * least, (length, size), |part, out| {
        out.copy_from_slice(as_bytes(&values[part]));
    })
}

/// Room for numbers whose count differs from batch to batch: of few sizes, as memory is used again by its size.
pub(super) fn room(numbers: usize) -> usize {
    let whole = numbers.next_power_of_two();
    match whole / 4 * 3 {
        less if less >= numbers => less,
        _ => whole,
    }
}

/// Words that a row of dense counts takes on the card.
pub(super) fn stride(terms: usize, kind: Kind) -> usize {
    terms.div_ceil(kind.in_word())
}

/// Dense rows on the card: those of the numbers given by `row`, `rows` of them.
pub(super) fn upload_rows<R: Runtime>(
    to: (&ComputeClient<R>, &R::Device),
    counts: &DenseRows<'_>,
    terms: usize,
    rows: usize,
    row: impl Fn(usize) -> usize + Sync,
) -> Result<Handle> {
    let row_bytes = 4 * stride(terms, Kind::of(counts));
    upload(to, (rows, row_bytes), |part, out| {
        by_row(out, part, row_bytes, |number, out| {
            let row = row(number);
            with_values!(DenseRows, counts, all => {
                pack(&all[row * terms..(row + 1) * terms], out)
            });
        });
    })
}

/// Writes rows side by side, some at a time.
pub(super) fn by_row(
    out: &mut [u8],
    rows: Range<usize>,
    row_bytes: usize,
    write: impl Fn(usize, &mut [u8]) + Sync,
) {
    /// Bytes below which a thread is not worth waking.
    const LITTLE: usize = 1 << 16;
    out.par_chunks_exact_mut(row_bytes)
        .zip(rows)
        .with_min_len((LITTLE / row_bytes).max(1))
        .for_each(|(out, row)| write(row, out));
}

/// A row as the kernels read it: its own bytes, or `f32` where the kernels do not know its dtype, and zeros up to a word.
fn pack<T: Element + CountValue>(row: &[T], out: &mut [u8]) {
    if matches!(T::DTYPE, Dtype::I64 | Dtype::F64) {
        for (out, value) in out.as_chunks_mut::<4>().0.iter_mut().zip(row) {
            *out = value.to_f32().to_ne_bytes();
        }
        return;
    }
    let (bytes, rest) = out.split_at_mut(size_of_val(row));
    bytes.copy_from_slice(as_bytes(row));
    rest.fill(0);
}

/// A batch on the card.
pub(super) fn upload_batch<R: Runtime>(
    to: (&ComputeClient<R>, &R::Device),
    batch: &Batch<'_>,
    terms: usize,
    stay: Option<Stay>,
) -> Result<Sent> {
    Ok(match &batch.view {
        View::Dense(counts) => {
            let kind = Kind::of(counts);
            let row = |number: usize| batch.rows[number];
            Sent::Dense(Dense {
                words: upload_rows(to, counts, terms, batch.rows.len(), row)?,
                stride: stride(terms, kind),
                kind,
            })
        }
        View::Csr(csr) => Sent::Sparse(upload_csr(to, csr, batch.rows, stay)?),
    })
}

/// Rows of sparse counts on the card.
fn upload_csr<R: Runtime>(
    to: (&ComputeClient<R>, &R::Device),
    csr: &Csr,
    rows: &[usize],
    stay: Option<Stay>,
) -> Result<Sparse> {
    let starts = starts(rows.iter().map(|&row| csr.row(row).0.len()))?;
    let nonzeros = starts[rows.len()] as usize;
    let (least, room) = match stay {
        // What stays is no place for another batch.
        Some(Stay { largest, held }) => {
            let room = largest.max(nonzeros);
            (if held { nonzeros } else { room }, room)
        }
        None => (room(nonzeros), room(nonzeros)),
    };
    Ok(Sparse {
        nonzeros,
        room,
        columns: upload_lists(to, &starts, least, |number| csr.row(rows[number]).0)?,
        counts: upload_lists(to, &starts, least, |number| csr.row(rows[number]).1)?,
        starts: upload_slice(to, &starts)?,
    })
}

/// Where lists of these lengths begin if they lie one after the other, and where the last one ends.
pub(super) fn starts(lengths: impl ExactSizeIterator<Item = usize>) -> Result<Vec<u32>> {
    let mut starts = Vec::with_capacity(lengths.len() + 1);
    starts.push(0u32);
    let mut end = 0;
    for length in lengths {
        end += length;
        starts.push(end as u32);
    }
    // Kernels count in 32 bits.
    if u32::try_from(end).is_err() {
        return Err(Error::new(
            ErrorKind::Device,
            format!("a batch with {end} nonzero counts on a card"),
        )
        .fix("use a smaller batch size"));
    }
    Ok(starts)
}

/// Lists one after the other on the card.
fn upload_lists<'a, R: Runtime, T: Element>(
    to: (&ComputeClient<R>, &R::Device),
    starts: &[u32],
    least: usize,
    list: impl Fn(usize) -> &'a [T] + Sync,
) -> Result<Handle> {
    /// Numbers that a thread copies at a time.
    const SOME: usize = 1 << 14;
    let all = starts[starts.len() - 1] as usize;
    let shape = (all, size_of::<T>());
    upload_into(to, size_of::<T>() * least, shape, |part, out| {
        out.par_chunks_mut(SOME * size_of::<T>())
            .enumerate()
            .for_each(|(chunk, mut out)| {
                let mut at = part.start + chunk * SOME;
                // The list that has this place: the last one that does not begin behind it.
                let mut number = starts.partition_point(|start| *start as usize <= at) - 1;
                while !out.is_empty() {
                    let from = at - starts[number] as usize;
                    let bytes = as_bytes(&list(number)[from..]);
                    let length = bytes.len().min(out.len());
                    let (now, rest) = out.split_at_mut(length);
                    now.copy_from_slice(&bytes[..length]);
                    (at, number, out) = (at + length / size_of::<T>(), number + 1, rest);
                }
            });
    })
}
