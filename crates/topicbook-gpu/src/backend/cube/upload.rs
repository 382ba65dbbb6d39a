//! Uploads of counts in their stored dtype and layout.

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

use crate::backend::errors::{too_many_nonzeros, upload_failed};
use crate::batches::Batch;
use crate::counts::{CountValue, Csr, DenseRows, Element, View, as_bytes, with_values};
use crate::error::Result;
use crate::system::simd_dispatch;

use super::{CountFormat, pinned};

/// A client of a runtime and its device.
pub type Target<'a, R> = (&'a ComputeClient<R>, &'a <R as Runtime>::Device);

/// A batch's counts on the GPU.
pub enum Uploaded {
    Dense(Dense),
    Sparse(Sparse),
}

/// Dense counts: documents x stride, in words of 32 bits.
pub struct Dense {
    pub words: Handle,
    pub stride: usize,
    pub format: CountFormat,
}

impl Dense {
    /// The words as a kernel argument; the batch has `documents` rows.
    pub fn words<R: Runtime>(&self, documents: usize) -> ArrayArg<R> {
        // SAFETY: the length is the number of words that were uploaded.
        unsafe { ArrayArg::from_raw_parts(self.words.clone(), documents * self.stride) }
    }

    /// The type of indices that reaches all of the counts and both tables.
    pub fn address<R: CubeRuntime>(
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

/// How memory is allocated for blocks of sparse counts that are used in every iteration.
#[derive(Debug, Clone, Copy)]
pub struct Residency {
    /// Nonzero counts of the block that has the most.
    pub largest: usize,
    /// Whether all blocks remain in VRAM; otherwise each one is uploaded into the memory of the previous one.
    pub resident: bool,
}

/// Sparse counts by document: row pointers (documents + 1), columns and values.
pub struct Sparse {
    pub nonzeros: usize,
    /// Capacity for other arrays with one number for each nonzero count.
    pub capacity: usize,
    pub starts: Handle,
    pub columns: Handle,
    pub counts: Handle,
}

impl Sparse {
    /// Length of the arrays of nonzero counts. CubeCL rejects empty arrays, hence at least 1.
    pub fn length(&self) -> usize {
        self.nonzeros.max(1)
    }

    pub fn starts<R: Runtime>(&self, documents: usize) -> ArrayArg<R> {
        // SAFETY: the length is the number of row pointers that were uploaded.
        unsafe { ArrayArg::from_raw_parts(self.starts.clone(), documents + 1) }
    }

    pub fn columns<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: the length is the number of columns that were uploaded.
        unsafe { ArrayArg::from_raw_parts(self.columns.clone(), self.length()) }
    }

    pub fn counts<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: the length is the number of values that were uploaded.
        unsafe { ArrayArg::from_raw_parts(self.counts.clone(), self.length()) }
    }
}

/// Uploads rows of bytes. `fill(range, out)` writes a range of rows into a stage, which is pinned memory if the runtime
/// has it. Two stages alternate: one is copied while the other is filled.
///
/// `ComputeClient::create` would copy the data once more, into memory that is not pinned; hence this uses the runtime's
/// server directly.
pub fn upload<R: Runtime>(
    target: Target<'_, R>,
    (rows, row_bytes): (usize, usize),
    fill: impl Fn(Range<usize>, &mut [u8]),
) -> Result<Handle> {
    upload_into(target, rows * row_bytes, (rows, row_bytes), fill)
}

/// The same into an allocation of `capacity` bytes, which may be more than the rows have.
fn upload_into<R: Runtime>(
    (client, device): Target<'_, R>,
    capacity: usize,
    (rows, row_bytes): (usize, usize),
    fill: impl Fn(Range<usize>, &mut [u8]),
) -> Result<Handle> {
    // CubeCL rejects empty allocations; round up to one word.
    let length = capacity.max(4);
    let handle = client.empty(length);
    let server = DeviceHandle::<R::Server>::new(device.to_id());
    let stream = StreamId::current();
    let stage = pinned::stage(client.properties().memory.max_page_size) as usize;
    let rows_per_stage = (stage / row_bytes.max(1)).max(1);
    for first in (0..rows).step_by(rows_per_stage) {
        let range = first..rows.min(first + rows_per_stage);
        let size = range.len() * row_bytes;
        let staged = server
            .submit_blocking(move |server| server.staging(&[size], stream))
            .map_err(upload_failed)?;
        let mut bytes = match staged {
            Ok(mut pinned) if pinned.len() == 1 => pinned.swap_remove(0),
            _ => Bytes::from_bytes_vec(vec![0; size]),
        };
        let (begin, end) = (range.start * row_bytes, range.end * row_bytes);
        fill(range, &mut bytes);
        let destination = handle
            .clone()
            .offset_start(begin as u64)
            .offset_end((length - end) as u64);
        let destination = CopyDescriptor::new(destination.binding(), [size].into(), [1].into(), 1);
        server.submit(move |server| server.write(vec![(destination, bytes)], stream));
        if size >= stage / 2 {
            // Waits until the previous stage has been copied, which releases its memory.
            server
                .submit_blocking(move |server| server.flush(stream))
                .map_err(upload_failed)?
                .map_err(upload_failed)?;
        }
    }
    Ok(handle)
}

/// Uploads a slice of numbers.
pub fn upload_slice<R: Runtime, T: Element>(target: Target<'_, R>, values: &[T]) -> Result<Handle> {
    upload_with_capacity(target, values.len(), values)
}

/// Uploads a slice whose length varies from batch to batch, with a rounded capacity.
pub fn upload_varying<R: Runtime, T: Element>(
    target: Target<'_, R>,
    values: &[T],
) -> Result<Handle> {
    upload_with_capacity(target, rounded_capacity(values.len()), values)
}

fn upload_with_capacity<R: Runtime, T: Element>(
    target: Target<'_, R>,
    capacity: usize,
    values: &[T],
) -> Result<Handle> {
    let (length, size) = (values.len(), size_of::<T>());
    upload_into(target, size * capacity, (length, size), |range, out| {
        out.copy_from_slice(as_bytes(&values[range]));
    })
}

/// Rounds a length up to the next number of the form 2^i or 3 * 2^i. The allocator reuses memory only for the same
/// size, so arrays whose length varies from batch to batch should have few distinct sizes.
pub fn rounded_capacity(length: usize) -> usize {
    let whole = length.next_power_of_two();
    match whole / 4 * 3 {
        less if less >= length => less,
        _ => whole,
    }
}

/// Words in a row of dense counts on the GPU.
pub fn stride(terms: usize, format: CountFormat) -> usize {
    terms.div_ceil(format.counts_per_word())
}

/// Uploads `rows` rows of dense counts in a format; the i-th one is the row `row(i)` of `counts`.
pub fn upload_rows<R: Runtime>(
    target: Target<'_, R>,
    (counts, format): (&DenseRows<'_>, CountFormat),
    terms: usize,
    rows: usize,
    row: impl Fn(usize) -> usize + Sync,
) -> Result<Handle> {
    let row_bytes = 4 * stride(terms, format);
    upload(target, (rows, row_bytes), |range, out| {
        write_rows(out, range, row_bytes, |number, out| {
            let row = row(number);
            write_counts(counts, row * terms..(row + 1) * terms, format, out);
        });
    })
}

/// Writes a range of rows in parallel: `write(row, out)` writes one.
pub fn write_rows(
    out: &mut [u8],
    rows: Range<usize>,
    row_bytes: usize,
    write: impl Fn(usize, &mut [u8]) + Sync,
) {
    /// Fewer bytes than this are not worth waking another thread.
    const MIN_BYTES: usize = 1 << 16;
    out.par_chunks_exact_mut(row_bytes)
        .zip(rows)
        .with_min_len((MIN_BYTES / row_bytes).max(1))
        .for_each(|(out, row)| write(row, out));
}

/// 2^23: the lower bits of the sum of it and a smaller whole number are that number.
const WHOLE: f32 = 8_388_608.0;

simd_dispatch! {
    /// Writes counts below 2^8 as bytes.
    fn to_bytes(row: &[f32], out: &mut [u8]) {
        for (out, value) in out.iter_mut().zip(row) {
            *out = (value + WHOLE).to_bits() as u8;
        }
    }
}

/// Writes a row of counts in a format, padded with zeros to a whole word.
fn write_counts(counts: &DenseRows<'_>, row: Range<usize>, format: CountFormat, out: &mut [u8]) {
    let (bytes, padding) = out.split_at_mut(row.len() * 4 / format.counts_per_word());
    padding.fill(0);
    match (counts, format) {
        (DenseRows::F32(all), CountFormat::U8) => to_bytes(&all[row], bytes),
        _ => with_values!(DenseRows, counts, all => write_values(&all[row], format, bytes)),
    }
}

/// The same of any dtype.
fn write_values<T: Element + CountValue>(row: &[T], format: CountFormat, out: &mut [u8]) {
    if format == CountFormat::of(T::DTYPE, f64::INFINITY) && size_of::<T>() <= 4 {
        out.copy_from_slice(as_bytes(row));
        return;
    }
    let bits = |value: &T| (value.to_f32() + WHOLE).to_bits();
    match format {
        CountFormat::U8 => {
            for (out, value) in out.iter_mut().zip(row) {
                *out = bits(value) as u8;
            }
        }
        CountFormat::U16 => {
            for (out, value) in out.as_chunks_mut::<2>().0.iter_mut().zip(row) {
                *out = (bits(value) as u16).to_ne_bytes();
            }
        }
        // Of dtypes that kernels do not read.
        CountFormat::U32 | CountFormat::F32 => {
            for (out, value) in out.as_chunks_mut::<4>().0.iter_mut().zip(row) {
                *out = value.to_f32().to_ne_bytes();
            }
        }
    }
}

/// Uploads a batch's counts.
pub fn upload_batch<R: Runtime>(
    target: Target<'_, R>,
    batch: &Batch<'_>,
    terms: usize,
    residency: Option<Residency>,
) -> Result<Uploaded> {
    Ok(match &batch.view {
        View::Dense(counts) => {
            let format = CountFormat::of(counts.dtype(), batch.largest);
            let row = |number: usize| batch.rows[number];
            Uploaded::Dense(Dense {
                words: upload_rows(target, (counts, format), terms, batch.rows.len(), row)?,
                stride: stride(terms, format),
                format,
            })
        }
        View::Csr(csr) => Uploaded::Sparse(upload_csr(target, csr, batch.rows, residency)?),
    })
}

/// Uploads rows of sparse counts.
fn upload_csr<R: Runtime>(
    target: Target<'_, R>,
    csr: &Csr,
    rows: &[usize],
    residency: Option<Residency>,
) -> Result<Sparse> {
    let starts = row_starts(rows.iter().map(|&row| csr.row(row).0.len()))?;
    let nonzeros = starts[rows.len()] as usize;
    // Of the counts themselves, and of the scratch arrays of the kernels.
    let (counts_capacity, capacity) = match residency {
        // Resident blocks are allocated to size; reused buffers to the largest block.
        Some(Residency { largest, resident }) => {
            let largest = largest.max(nonzeros);
            (if resident { nonzeros } else { largest }, largest)
        }
        None => (rounded_capacity(nonzeros), rounded_capacity(nonzeros)),
    };
    let columns = |number: usize| csr.row(rows[number]).0;
    let values = |number: usize| csr.row(rows[number]).1;
    Ok(Sparse {
        nonzeros,
        capacity,
        columns: upload_lists(target, &starts, counts_capacity, columns)?,
        counts: upload_lists(target, &starts, counts_capacity, values)?,
        starts: upload_slice(target, &starts)?,
    })
}

/// Row pointers: the start of each of several contiguous lists, and the end of the last one.
///
/// # Errors
///
/// If the end does not fit into 32 bits, in which kernels count.
pub fn row_starts(lengths: impl ExactSizeIterator<Item = usize>) -> Result<Vec<u32>> {
    let mut starts = Vec::with_capacity(lengths.len() + 1);
    starts.push(0u32);
    let mut end = 0;
    for length in lengths {
        end += length;
        starts.push(end as u32);
    }
    if u32::try_from(end).is_err() {
        return Err(too_many_nonzeros(end));
    }
    Ok(starts)
}

/// Uploads lists one after the other into an allocation of `capacity` numbers.
fn upload_lists<'a, R: Runtime, T: Element>(
    target: Target<'_, R>,
    starts: &[u32],
    capacity: usize,
    list: impl Fn(usize) -> &'a [T] + Sync,
) -> Result<Handle> {
    /// Numbers in a chunk, which one thread copies.
    const CHUNK: usize = 1 << 14;
    let total = starts[starts.len() - 1] as usize;
    let shape = (total, size_of::<T>());
    upload_into(target, size_of::<T>() * capacity, shape, |range, out| {
        out.par_chunks_mut(CHUNK * size_of::<T>())
            .enumerate()
            .for_each(|(chunk, mut out)| {
                let mut at = range.start + chunk * CHUNK;
                // The list that contains position `at`: the last one that starts at or before it.
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
