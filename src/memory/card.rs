//! The card's own view of its memory, from NVIDIA's management library where it is installed.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::cuda::{self, function, open_library};

/// Memory of a card, all processes together, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CardMemory {
    pub(crate) free: u64,
    pub(crate) used: u64,
}

type Device = *mut c_void;

/// `nvmlMemory_t`
#[repr(C)]
#[derive(Default)]
struct NvmlMemory {
    total: u64,
    free: u64,
    used: u64,
}

struct Library {
    device: unsafe extern "C" fn(*const c_char, *mut Device) -> c_int,
    memory: unsafe extern "C" fn(Device, *mut NvmlMemory) -> c_int,
    /// Where CUDA's cards are on the bus.
    places: Vec<Option<CString>>,
}

/// Free and used memory of a card; `None` where the library is missing or does not know the card.
///
/// NVML numbers all cards of the machine, CUDA leaves out those that `CUDA_VISIBLE_DEVICES` hides: they agree on a card's
/// place on the bus.
pub(crate) fn card_memory(card: usize) -> Option<CardMemory> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let library = LIBRARY.get_or_init(load).as_ref()?;
    let place = library.places.get(card)?.as_ref()?;
    let mut device: Device = std::ptr::null_mut();
    let mut memory = NvmlMemory::default();
    // SAFETY: the functions come from the library under their names and have these signatures (nvml.h); both pointers
    // are valid for the calls, and the handle is only used after the first call has set it.
    let known = unsafe {
        (library.device)(place.as_ptr(), &mut device) == 0
            && (library.memory)(device, &mut memory) == 0
    };
    known.then_some(CardMemory {
        free: memory.free,
        used: memory.used,
    })
}

fn load() -> Option<Library> {
    type Init = unsafe extern "C" fn() -> c_int;
    let library = open_library(&[c"libnvidia-ml.so.1", c"libnvidia-ml.so"])?;
    // SAFETY: the fields and `Init` are the signatures of these functions (nvml.h).
    unsafe {
        let found = Library {
            device: function(library, c"nvmlDeviceGetHandleByPciBusId_v2")?,
            memory: function(library, c"nvmlDeviceGetMemoryInfo")?,
            places: cuda::find()
                .ok()?
                .cards
                .into_iter()
                .map(|card| card.bus)
                .collect(),
        };
        (function::<Init>(library, c"nvmlInit_v2")?() == 0).then_some(found)
    }
}
