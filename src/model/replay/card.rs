//! What `cargo xtask bench gpu` measures besides whole fits: the way to a card and back, and where L lives.

use std::time::Instant;

use burn::backend::flex::FlexDevice;
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};
use burn_cuda::{Cuda, CudaDevice};

use super::super::card::allocator;
use super::super::exchange::Exchange;
use super::super::hosted::HostedStep;
use super::super::loss::Fused;
use super::super::step::TensorStep;
use super::{Placement, Settings, State, initial_tables, iterations_of};
use crate::counts::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::Batch;
use crate::memory::card_memory;

/// Where a benchmark runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A CUDA card.
    Card(usize),
    /// Tensors on the CPU, which stand for a card in a dry run: nothing crosses a bus.
    Cpu,
}

/// Runs an expression with the backend and the device that are meant.
macro_rules! on {
    ($on:expr, $backend:ident, $device:ident => $body:expr) => {
        match $on {
            On::Card(card) => {
                type $backend = Cuda;
                let $device = CudaDevice::new(card);
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

/// Iterations a second over random batches with F on the device, and L there or beside it; nothing is read back but what a
/// step needs.
pub fn iterations(
    on: On,
    settings: &Settings,
    counts: &Counts,
    l_on_host: bool,
    steps: usize,
) -> Result<f64> {
    let (documents, terms) = counts.shape();
    let (l, f) = initial_tables(settings, documents, terms)?;
    let start = State::new(l, f, &settings.table_place)?;
    let placement = Placement {
        l_on_host,
        ..Placement::whole(settings)
    };
    on!(on, B, device => {
        // Of the two devices one is `Copy`.
        #[allow(clippy::clone_on_copy)]
        let here = device.clone();
        let done = || wait::<B>(&here);
        if l_on_host {
            let mut step = HostedStep::<B>::new(settings, placement, start, device)?;
            iterations_of(&mut step, settings, counts, steps, &done)
        } else {
            let mut step =
                TensorStep::<Autodiff<B>, Fused<_>>::new(settings, placement, start, device);
            iterations_of(&mut step, settings, counts, steps, &done)
        }
    })
}

/// Seconds in which every document of dense or sparse counts goes to the device once, in batches and through the stages
/// that a step uses; nothing is computed.
pub fn send_all(on: On, counts: &Counts, batch_size: usize) -> Result<f64> {
    on!(on, B, device => send_all_to::<B>(&device, counts, batch_size))
}

fn send_all_to<B: Exchange>(device: &B::Device, counts: &Counts, size: usize) -> Result<f64> {
    let (documents, terms) = counts.shape();
    let all: Vec<usize> = (0..documents).collect();
    let view = counts.view()?;
    let send = |rows: &[usize]| {
        B::send_counts(
            &Batch {
                view,
                rows,
                documents: rows,
            },
            terms,
            device,
        )
    };
    // Stages are allocated once.
    send(&all[..size.min(documents)])?;
    wait::<B>(device)?;
    let began = Instant::now();
    for rows in all.chunks(size) {
        send(rows)?;
    }
    wait::<B>(device)?;
    Ok(began.elapsed().as_secs_f64())
}

/// Bytes a second of one large copy as the runtime makes it, of memory that is not pinned: the best of `rounds`.
pub fn plain_copy(on: On, bytes: usize, rounds: usize) -> Result<f64> {
    on!(on, B, device => {
        let mut best = 0.0f64;
        for _ in 0..rounds {
            let data = TensorData::new(vec![1.0f32; bytes / 4], [bytes / 4]);
            let began = Instant::now();
            let sent = Tensor::<B, 1>::from_data(data, &device);
            wait::<B>(&device)?;
            best = best.max(bytes as f64 / began.elapsed().as_secs_f64());
            drop(sent);
        }
        Ok(best)
    })
}

/// Transfers a second of a table of f32 to the device, and back: each way for itself, the median of `rounds`.
pub fn transfers(on: On, (rows, columns): (usize, usize), rounds: usize) -> Result<[f64; 2]> {
    let host: Vec<f32> = (0..rows * columns).map(|at| at as f32).collect();
    on!(on, B, device => {
        let mut seconds = [Vec::new(), Vec::new()];
        // The first round allocates the stages.
        for _ in 0..=rounds {
            let began = Instant::now();
            let fill = |row: usize, out: &mut [f32]| {
                out.copy_from_slice(&host[row * columns..(row + 1) * columns]);
            };
            let table = B::send((rows, columns), fill, &device)?;
            wait::<B>(&device)?;
            seconds[0].push(began.elapsed().as_secs_f64());
            let began = Instant::now();
            let (same, arrived) = B::arrived(B::bring(table), |back| {
                let arrived = began.elapsed().as_secs_f64();
                (back == host, arrived)
            })?;
            seconds[1].push(arrived);
            if !same {
                return Err(Error::new(ErrorKind::Device, "a table came back changed"));
            }
        }
        Ok(seconds.map(|mut way| {
            way.remove(0);
            way.sort_by(f64::total_cmp);
            1.0 / way[way.len() / 2]
        }))
    })
}

/// Bytes in use and in reserve by this thread's pool, and used on the whole card as NVML sees it, as far as they are known.
pub fn card_memory_now(on: On) -> [Option<u64>; 3] {
    match on {
        On::Cpu => [None; 3],
        On::Card(card) => {
            let pool = allocator(card);
            let used = card_memory(card).map(|memory| memory.used);
            [pool.map(|pool| pool.0), pool.map(|pool| pool.1), used]
        }
    }
}

/// Waits until the device has done all that it was asked to: reading one number stands behind all of it.
fn wait<B: Exchange>(device: &B::Device) -> Result<()> {
    let one = Tensor::<B, 2>::ones([1, 1], device).into_primitive();
    B::arrived(B::bring(one.tensor()), |_| ())
}
