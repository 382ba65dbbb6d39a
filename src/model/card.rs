//! What all work on a card has in common: one stream, memory that is given back, and errors instead of panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::{self, JoinHandle};

use burn_cuda::CudaDevice;
use cubecl::MemoryAllocationMode;
use cubecl::client::ComputeClient;
use cubecl::cuda::CudaRuntime;
use cubecl::prelude::Runtime;
use cubecl::stream_id::StreamId;

use super::background::panic_text;
use crate::error::{Error, ErrorKind, Result};

/// The stream of all work. The runtime would give every thread its own, with a pool of memory that no other thread uses.
const STREAM: StreamId = StreamId { value: 0 };

fn client(card: usize) -> ComputeClient<CudaRuntime> {
    CudaRuntime::client(&CudaDevice::new(card))
}

/// Does something on a card, and gives back the memory that it took there. The CUDA runtime reports exhausted memory and
/// lost devices by panicking.
///
/// Every tensor gets memory of its own size, which another of that size gets after it. The runtime's other way is pages
/// of up to a quarter of the card, which hold more than a plan can say, and no tensor that is larger.
pub(super) fn on_card<T>(card: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let work = || {
        listen();
        *trouble() = None;
        let done = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: on a stream that is never used in another mode, by threads that take turns at its server.
            unsafe { client(card).allocation_mode(MemoryAllocationMode::Persistent) };
            work()
        }));
        // Whatever became of it: what nothing uses goes back to the driver, and has gone when the question is answered.
        let freed = catch_unwind(|| {
            client(card).memory_cleanup();
            allocator(card);
        });
        match (done, freed) {
            (Ok(Ok(done)), Ok(())) => Ok(done),
            (Ok(Err(error)), _) if !in_trouble() => Err(error),
            (Err(panic), _) | (_, Err(panic)) => Err(stopped(card, panic.as_ref())),
            (Ok(Err(error)), Ok(())) => Err(stopped(card, &error.headline().to_string())),
        }
    };
    STREAM.executes(work)
}

fn stopped(card: usize, panic: &(dyn Any + Send)) -> Error {
    // What went wrong first, on the runtime's own thread; the rest follows from it.
    let first = trouble().take();
    let why = first.unwrap_or_else(|| panic_text(panic));
    let (what, remedy) = match why.contains("allocate") || why.contains("memory") {
        true => (
            format!("CUDA card {card} has no memory left: {why}"),
            "end what else uses the card and fit again, which plans with what is free then; or use Device::Cpu",
        ),
        false => (
            format!("CUDA card {card} stopped: {why}"),
            "fit again in a new kernel; or use Device::Cpu",
        ),
    };
    Error::new(ErrorKind::Device, what).fix(remedy)
}

/// The first thing that went wrong on the runtime's thread since the work began.
static TROUBLE: Mutex<Option<String>> = Mutex::new(None);

fn trouble() -> std::sync::MutexGuard<'static, Option<String>> {
    TROUBLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether something has gone wrong: whoever waits for nothing learns of it here.
pub(super) fn in_trouble() -> bool {
    trouble().is_some()
}

/// Keeps what panics on the runtime's thread say, in place of many lines below a cell: it panics for every call after one
/// that failed.
fn listen() {
    /// How the runtime names its thread for each device.
    const THREAD: &str = "DSD-";
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let thread = thread::current();
            if !thread.name().is_some_and(|name| name.starts_with(THREAD)) {
                return before(panic);
            }
            let mut first = trouble();
            if first.is_none() {
                let text = panic.payload_as_str().unwrap_or("no reason");
                *first = Some(text.replace("called `Result::unwrap()` on an `Err` value: ", ""));
            }
        }));
    });
}

/// What the runtime's allocator has in use and in reserve, in bytes.
pub(super) fn allocator(card: usize) -> Option<(u64, u64)> {
    let usage = STREAM.executes(|| client(card).memory_usage()).ok()?;
    Some((usage.bytes_in_use, usage.bytes_reserved))
}

/// Looks at the allocator again and again, beside the thread that works: the most is in use within a step.
pub(super) struct Watch {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<(u64, u64)>>,
}

impl Watch {
    pub(super) fn start(card: usize) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let ended = end.clone();
        let look = move || {
            let mut most = (0, 0);
            while !ended.load(Ordering::Relaxed) {
                if let Some((in_use, reserved)) = allocator(card) {
                    most = (in_use.max(most.0), reserved.max(most.1));
                }
                thread::yield_now();
            }
            most
        };
        let thread = thread::Builder::new().name("topicbook card".into());
        Self {
            end,
            thread: thread.spawn(look).ok(),
        }
    }

    /// The most in use, and the most in reserve.
    pub(super) fn end(mut self) -> Option<(u64, u64)> {
        self.end.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}
