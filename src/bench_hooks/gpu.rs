//! Measurements of `cargo xtask bench gpu` other than whole fits: transfers to and from a GPU, and offloading of L.

use std::time::Instant;

use crate::burn::backend::flex::FlexDevice;
use crate::burn::backend::{Autodiff, Flex};
use crate::burn::tensor::{Tensor, TensorData};
use topicbook_gpu::burn_cuda::{Cuda, CudaDevice};

use crate::backend::{Transfer, allocator_usage};
use crate::batches::Batch;
use crate::config::Settings;
use crate::cost::Placement;
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::step::initial_tables;
use crate::step::{Fused, OffloadedStep, State, TensorStep};
use crate::system::{Purpose, gpu_memory, stream};

use super::iterations_of;

/// The device of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A CUDA GPU.
    Gpu(usize),
    /// Tensors on the CPU in place of a GPU, for a dry run without transfers over a bus.
    Cpu,
}

/// Evaluates an expression with the tensor backend and the device of an [`On`].
macro_rules! on {
    ($on:expr, $backend:ident, $device:ident => $body:expr) => {
        match $on {
            On::Gpu(gpu) => {
                type $backend = Cuda;
                let $device = CudaDevice::new(gpu);
                $body
            }
            On::Cpu => {
                type $backend = Flex;
                let $device = FlexDevice;
                $body
            }
        }
    };
}

/// Steps per second over random batches with F on the device, and L there too or offloaded to host memory. Downloads
/// only what a step needs.
pub fn iterations(
    on: On,
    settings: &Settings,
    counts: &Counts,
    l_on_host: bool,
    steps: usize,
) -> Result<f64> {
    let (documents, terms) = counts.shape();
    let (l, f) = initial_tables(settings, documents, terms)?;
    let start = State::new(l, f, &settings.solver)?;
    let placement = Placement {
        l_on_host,
        ..Placement::whole(settings)
    };
    on!(on, B, device => {
        // One of the two device types is `Copy`, the other is not.
        #[allow(clippy::clone_on_copy)]
        let own_device = device.clone();
        let done = || wait::<B>(&own_device);
        if l_on_host {
            let mut step = OffloadedStep::<B>::new(settings, placement, start, device)?;
            iterations_of(&mut step, settings, counts, steps, &done)
        } else {
            let mut step =
                TensorStep::<Autodiff<B>, Fused<_>>::new(settings, placement, start, device);
            iterations_of(&mut step, settings, counts, steps, &done)
        }
    })
}

/// Seconds for uploading all documents of dense or sparse counts once, in batches and through the staging buffers of a
/// step, without any computation.
pub fn upload_all(on: On, counts: &Counts, batch_size: usize) -> Result<f64> {
    on!(on, B, device => upload_all_to::<B>(&device, counts, batch_size))
}

fn upload_all_to<B: Transfer>(device: &B::Device, counts: &Counts, size: usize) -> Result<f64> {
    let (documents, terms) = counts.shape();
    let all: Vec<usize> = (0..documents).collect();
    let view = counts.view()?;
    let upload = |rows: &[usize]| {
        B::upload_counts(
            &Batch {
                view,
                rows,
                documents: rows,
                largest: counts.largest_known(),
            },
            terms,
            device,
        )
    };
    // The first upload allocates the staging buffers.
    upload(&all[..size.min(documents)])?;
    wait::<B>(device)?;
    let began = Instant::now();
    for rows in all.chunks(size) {
        upload(rows)?;
    }
    wait::<B>(device)?;
    Ok(began.elapsed().as_secs_f64())
}

/// Bytes per second of one large upload from pageable (not pinned) memory by the runtime: the best of `rounds`.
pub fn plain_copy(on: On, bytes: usize, rounds: usize) -> Result<f64> {
    on!(on, B, device => {
        let mut best = 0.0f64;
        for _ in 0..rounds {
            let data = TensorData::new(vec![1.0f32; bytes / 4], [bytes / 4]);
            let began = Instant::now();
            let uploaded = Tensor::<B, 1>::from_data(data, &device);
            wait::<B>(&device)?;
            best = best.max(bytes as f64 / began.elapsed().as_secs_f64());
            drop(uploaded);
        }
        Ok(best)
    })
}

/// Uploads and downloads per second of a table of `f32`, measured separately: the medians of `rounds`.
pub fn transfers(on: On, (rows, columns): (usize, usize), rounds: usize) -> Result<[f64; 2]> {
    let host: Vec<f32> = (0..rows * columns).map(|at| at as f32).collect();
    let all: Vec<usize> = (0..rows).collect();
    on!(on, B, device => timed_transfers::<B>(&device, (&host, columns), &all, rounds, |_| ()))
}

/// The same for `rows` random rows of a table of `table_rows`. An upload gathers them out of the table, and a download
/// scatters them back on one thread, as a step does with the rows of an offloaded L.
pub fn gathered(
    on: On,
    table_rows: usize,
    (rows, columns): (usize, usize),
    rounds: usize,
) -> Result<[f64; 2]> {
    let host: Vec<f32> = (0..table_rows * columns).map(|at| at as f32).collect();
    let mut random = stream(1, Purpose::BlockOrder, 0);
    let chosen = rand::seq::index::sample(&mut random, table_rows, rows).into_vec();
    // Zeroed pages would be allocated by the first write to each.
    let mut back = vec![-1.0; host.len()];
    let seconds = on!(on, B, device => timed_transfers::<B>(&device, (&host, columns), &chosen, rounds, |downloaded| {
        for (&row, values) in chosen.iter().zip(downloaded.chunks_exact(columns)) {
            back[row * columns..(row + 1) * columns].copy_from_slice(values);
        }
    }))?;
    let same = |&row: &usize| {
        let range = row * columns..(row + 1) * columns;
        back[range.clone()] == host[range]
    };
    match chosen.iter().all(same) {
        true => Ok(seconds),
        false => Err(changed()),
    }
}

/// Uploads and downloads per second of the chosen rows of a table; `arrived` gets each download, and its time counts.
fn timed_transfers<B: Transfer>(
    device: &B::Device,
    (host, columns): (&[f32], usize),
    chosen: &[usize],
    rounds: usize,
    mut arrived: impl FnMut(&[f32]),
) -> Result<[f64; 2]> {
    let mut seconds = [Vec::new(), Vec::new()];
    // The first round allocates the staging buffers, and is not counted.
    for _ in 0..=rounds {
        let began = Instant::now();
        let fill = |number: usize, out: &mut [f32]| {
            let row = chosen[number];
            out.copy_from_slice(&host[row * columns..(row + 1) * columns]);
        };
        let table = B::upload_rows((chosen.len(), columns), fill, device)?;
        wait::<B>(device)?;
        seconds[0].push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        let (elapsed, same) = B::wait(B::download(table), |downloaded| {
            arrived(downloaded);
            let elapsed = began.elapsed().as_secs_f64();
            let mut rows = chosen.iter().zip(downloaded.chunks_exact(columns));
            let same = |(&row, values): (&usize, &[f32])| {
                values == &host[row * columns..(row + 1) * columns]
            };
            (elapsed, rows.all(same))
        })?;
        seconds[1].push(elapsed);
        if !same {
            return Err(changed());
        }
    }
    Ok(seconds.map(|mut seconds| {
        seconds.remove(0);
        seconds.sort_by(f64::total_cmp);
        1.0 / seconds[seconds.len() / 2]
    }))
}

fn changed() -> Error {
    Error::device("a table was changed by its transfers")
}

/// Bytes in use and reserved by the runtime's allocator, and bytes in use on the whole GPU (NVML); `None` if unknown.
pub fn gpu_memory_now(on: On) -> [Option<u64>; 3] {
    match on {
        On::Cpu => [None; 3],
        On::Gpu(gpu) => {
            let pool = allocator_usage(gpu);
            let used = gpu_memory(gpu).map(|memory| memory.used);
            [pool.map(|pool| pool.0), pool.map(|pool| pool.1), used]
        }
    }
}

/// Waits until the device has finished all work queued before: downloads one number, which is queued last.
fn wait<B: Transfer>(device: &B::Device) -> Result<()> {
    let one = Tensor::<B, 2>::ones([1, 1], device).into_primitive();
    B::wait(B::download(one.tensor()), |_| ())
}
