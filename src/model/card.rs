//! What all work on a card has in common: one stream, memory that is given back, and errors instead of panics.

use std::any::Any;
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

use super::background::panic_text;
use crate::error::{Error, ErrorKind, Result};

/// The stream of all work. The runtime would give every thread its own, with a pool of memory that no other thread uses.
const STREAM: StreamId = StreamId { value: 0 };

fn client(card: usize) -> ComputeClient<CudaRuntime> {
    CudaRuntime::client(&CudaDevice::new(card))
}

/// Does something on a card, and gives back the memory that it took there. The CUDA runtime reports exhausted memory and
/// lost devices by panicking, on its own thread.
///
/// Every tensor gets memory of its own size, which another of that size gets after it. The runtime's other way is pages
/// of up to a quarter of the card, which hold more than a plan can say, and no tensor that is larger.
pub(super) fn on_card<T>(card: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let work = || {
        listen();
        let since = book().entry(card).or_default().count;
        let done = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: on a stream that is never used in another mode, by threads that take turns at its server.
            unsafe { client(card).allocation_mode(MemoryAllocationMode::Persistent) };
            work()
        }));
        let freed = catch_unwind(|| give_back(card));
        match (done, freed) {
            (Ok(done), Ok(())) if troubles(card) == since => done,
            (Ok(Ok(_)), Ok(())) => Err(stopped(card, since, &"an earlier call failed")),
            (Err(panic), _) | (_, Err(panic)) => Err(stopped(card, since, panic.as_ref())),
            (Ok(Err(error)), Ok(())) => Err(stopped(card, since, &error.headline().to_string())),
        }
    };
    STREAM.executes(work)
}

/// What nothing uses goes back to the driver, whatever became of the work.
fn give_back(card: usize) {
    let client = client(card);
    client.memory_cleanup();
    // The driver lets go of it when it is next waited for; where something failed, the first answer is that.
    for _ in 0..2 {
        let _ = block_on(client.sync());
    }
}

fn stopped(card: usize, since: usize, panic: &(dyn Any + Send)) -> Error {
    // What went wrong first, on the runtime's own thread; the rest follows from it.
    let first = book().get(&card).and_then(|all| all.since(since));
    let why = first.unwrap_or_else(|| panic_text(panic));
    let full = ["can't allocate", "OUT_OF_MEMORY", "out of memory"];
    let (what, remedy) = match full.iter().any(|text| why.contains(text)) {
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

/// What has gone wrong on the runtime's thread for a card, since the process began. Fits on one card share what befalls it.
#[derive(Default)]
struct Troubles {
    count: usize,
    /// The latest of them: every call after one that failed is another.
    latest: VecDeque<String>,
}

impl Troubles {
    const KEPT: usize = 1_024;

    fn add(&mut self, text: String) {
        self.latest.push_back(text);
        self.count += 1;
        if self.latest.len() > Self::KEPT {
            self.latest.pop_front();
        }
    }

    /// The first of them that came after so many.
    fn since(&self, count: usize) -> Option<String> {
        let gone = self.count - self.latest.len();
        self.latest.get(count.saturating_sub(gone)).cloned()
    }
}

/// By card: those that this process has used.
static BOOK: Mutex<BTreeMap<usize, Troubles>> = Mutex::new(BTreeMap::new());

fn book() -> MutexGuard<'static, BTreeMap<usize, Troubles>> {
    BOOK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process has used a card: what its driver takes for that is no longer free.
pub(crate) fn has_context(card: usize) -> bool {
    book().contains_key(&card)
}

/// How often something has gone wrong: whoever waits for nothing learns of it here.
pub(super) fn troubles(card: usize) -> usize {
    book().get(&card).map_or(0, |all| all.count)
}

/// Keeps what panics on the runtime's threads say, in place of many lines below a cell: they panic for every call after one
/// that failed.
fn listen() {
    /// How the runtime names its thread for each device: this, the kind of device, and the card's number.
    const THREAD: &str = "DSD-";
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let thread = thread::current();
            let device = thread.name().and_then(|name| name.strip_prefix(THREAD));
            let card = device.and_then(|device| device.rsplit('-').next()?.parse().ok());
            let Some(card) = card else {
                return before(panic);
            };
            let text = panic.payload_as_str().unwrap_or("no reason");
            let text = text.replace("called `Result::unwrap()` on an `Err` value: ", "");
            book().entry(card).or_default().add(text);
        }));
    });
}

/// What the runtime's allocator has in use and in reserve, in bytes.
pub(super) fn allocator(card: usize) -> Option<(u64, u64)> {
    let usage = STREAM.executes(|| client(card).memory_usage()).ok()?;
    Some((usage.bytes_in_use, usage.bytes_reserved))
}

/// Looks at the allocator again and again, beside the thread that works: the most is in use within a step. Not for long: in
/// the first steps everything is allocated once.
pub(super) struct Watch {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<(u64, u64)>>,
}

impl Watch {
    const EVERY: Duration = Duration::from_micros(500);
    const AT_MOST: Duration = Duration::from_secs(10);

    pub(super) fn start(card: usize) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let ended = end.clone();
        let look = move || {
            let (began, mut most) = (Instant::now(), (0, 0));
            while !ended.load(Ordering::Relaxed) && began.elapsed() < Self::AT_MOST {
                if let Some((in_use, reserved)) = allocator(card) {
                    most = (in_use.max(most.0), reserved.max(most.1));
                }
                thread::sleep(Self::EVERY);
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
