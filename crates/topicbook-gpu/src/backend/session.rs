//! A session on a GPU: all work runs on one stream, its memory is freed at the end, and panics of CubeCL become errors.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use burn_cuda::CudaDevice;
use cubecl::MemoryAllocationMode;
use cubecl::client::ComputeClient;
use cubecl::cuda::CudaRuntime;
use cubecl::future::block_on;
use cubecl::prelude::Runtime;
use cubecl::stream_id::StreamId;

use crate::error::{Error, Result, panic_text};
use crate::system::{cuda_driver, gpu_memory};

use super::errors::gpu_failed;

/// The stream of all work. By default CubeCL gives every thread its own stream, with a memory pool that other threads
/// cannot use.
const STREAM: StreamId = StreamId { value: 0 };

fn client(gpu: usize) -> ComputeClient<CudaRuntime> {
    CudaRuntime::client(&CudaDevice::new(gpu))
}

/// Runs `work` on a GPU, and then frees the memory that it used there.
///
/// Memory is allocated in CubeCL's persistent mode: a tensor gets an allocation of its exact size, which later tensors
/// of the same size reuse. In the default mode tensors are placed in pages of up to a quarter of the GPU's memory,
/// whose total a plan cannot predict, and no tensor may be larger than a page.
///
/// # Errors
///
/// The errors of `work`. If the GPU ran out of memory or was lost, which CubeCL reports by panics on its own thread, it
/// is a `Device` error with the first of their messages.
pub fn with_gpu<T>(gpu: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let work = || {
        install_panic_hook();
        let since = registry().entry(gpu).or_default().count;
        let done = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the stream is never used in another mode, and its server serialises the threads that use it.
            unsafe { client(gpu).allocation_mode(MemoryAllocationMode::Persistent) };
            work()
        }));
        let freed = catch_unwind(|| free_memory(gpu));
        let symptom = match (done, freed) {
            (Ok(done), Ok(())) if device_errors(gpu) == since => return done,
            (Ok(Ok(_)), Ok(())) => "an earlier call failed".into(),
            (Err(panic), _) | (_, Err(panic)) => panic_text(panic.as_ref()),
            (Ok(Err(error)), Ok(())) => error.headline().to_string(),
        };
        Err(device_error(gpu, since, symptom))
    };
    STREAM.executes(work)
}

/// Returns unused memory to the driver, also after a failure.
fn free_memory(gpu: usize) {
    let client = client(gpu);
    client.memory_cleanup();
    // The driver frees the memory at the next synchronisation. After a failure the first one only returns that error.
    for _ in 0..2 {
        let _ = block_on(client.sync());
    }
}

/// The error for the first panic of the device thread after `since`, from which later ones follow; for `symptom` if
/// there was none.
fn device_error(gpu: usize, since: usize, symptom: String) -> Error {
    let first = registry()
        .get(&gpu)
        .and_then(|errors| errors.first_after(since));
    gpu_failed(gpu, &first.unwrap_or(symptom))
}

/// Panics of CubeCL's device thread for one GPU since the process started. Concurrent fits on a GPU share this thread,
/// and all see its errors.
#[derive(Default)]
struct DeviceErrors {
    count: usize,
    /// The most recent messages. Bounded, because every call after a failed one panics too.
    recent: VecDeque<String>,
}

impl DeviceErrors {
    const MAX_RECENT: usize = 1_024;

    fn add(&mut self, text: String) {
        self.recent.push_back(text);
        self.count += 1;
        if self.recent.len() > Self::MAX_RECENT {
            self.recent.pop_front();
        }
    }

    /// The first message after the first `count` ones, as far as it is still kept.
    fn first_after(&self, count: usize) -> Option<String> {
        let dropped = self.count - self.recent.len();
        self.recent.get(count.saturating_sub(dropped)).cloned()
    }
}

/// The errors of each GPU that this process has used.
static REGISTRY: Mutex<BTreeMap<usize, DeviceErrors>> = Mutex::new(BTreeMap::new());

fn registry() -> MutexGuard<'static, BTreeMap<usize, DeviceErrors>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process has a context on a GPU, whose memory is then already counted as used.
pub fn has_context(gpu: usize) -> bool {
    registry().contains_key(&gpu)
}

/// Number of device errors so far. Polled between batches, because asynchronous launches do not return theirs.
pub fn device_errors(gpu: usize) -> usize {
    registry().get(&gpu).map_or(0, |errors| errors.count)
}

/// Installs a panic hook that records the panics of CubeCL's device threads in the registry instead of printing them.
/// After one failed call all later ones panic too, and would fill the output of a cell.
fn install_panic_hook() {
    /// Prefix of the name of CubeCL's thread for a device; the kind of device and the GPU's number follow.
    const THREAD: &str = "DSD-";
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |panic| {
            let thread = thread::current();
            let device = thread.name().and_then(|name| name.strip_prefix(THREAD));
            let gpu = device.and_then(|device| device.rsplit('-').next()?.parse().ok());
            let Some(gpu) = gpu else {
                return previous(panic);
            };
            let text = panic.payload_as_str().unwrap_or("no reason");
            let text = text.replace("called `Result::unwrap()` on an `Err` value: ", "");
            registry().entry(gpu).or_default().add(text);
        }));
    });
}

/// Bytes that CubeCL's allocator has in use and has reserved.
pub fn allocator_usage(gpu: usize) -> Option<(u64, u64)> {
    let usage = STREAM.executes(|| client(gpu).memory_usage()).ok()?;
    Some((usage.bytes_in_use, usage.bytes_reserved))
}

/// For every GPU: bytes that CubeCL's allocator has in use and has reserved, and what NVML reports as free. A GPU that
/// this process has not used is left alone: a context would take its memory.
pub fn gpus_now() -> Vec<(u64, u64, Option<u64>)> {
    let visible = cuda_driver::find().map_or(0, |cuda| cuda.gpus.len());
    (0..visible)
        .map(|gpu| {
            let used = has_context(gpu).then(|| allocator_usage(gpu)).flatten();
            let (in_use, reserved) = used.unwrap_or_default();
            (in_use, reserved, gpu_memory(gpu).map(|memory| memory.free))
        })
        .collect()
}

/// Returns unused memory of all GPUs that this process has used to the driver.
pub fn release_gpus() {
    let used: Vec<usize> = registry().keys().copied().collect();
    for gpu in used {
        STREAM.executes(|| free_memory(gpu));
    }
}

/// Samples VRAM every 0.5 ms for at most 10 s to catch the peak inside the first steps, when everything is allocated.
pub struct VramSampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(u64, u64)>>,
}

impl VramSampler {
    const INTERVAL: Duration = Duration::from_micros(500);
    const MAX_DURATION: Duration = Duration::from_secs(10);

    pub fn start(gpu: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let sample = move || {
            let (start, mut peak) = (Instant::now(), (0, 0));
            while !stopped.load(Ordering::Relaxed) && start.elapsed() < Self::MAX_DURATION {
                if let Some((in_use, reserved)) = allocator_usage(gpu) {
                    peak = (in_use.max(peak.0), reserved.max(peak.1));
                }
                thread::sleep(Self::INTERVAL);
            }
            peak
        };
        let thread = thread::Builder::new().name("topicbook GPU".into());
        Self {
            stop,
            thread: thread.spawn(sample).ok(),
        }
    }

    /// Stops sampling and returns the peaks of bytes in use and bytes reserved.
    pub fn end(mut self) -> Option<(u64, u64)> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Drop for VramSampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
