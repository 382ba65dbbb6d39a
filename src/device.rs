//! Where the training runs, chosen when the fit starts.

use std::ffi::{CStr, c_int, c_void};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The device a model is trained on.
///
/// ```
/// use topicbook::Device;
/// println!("{}", Device::Auto.describe());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Device {
    /// The first CUDA card if a driver and NVRTC are found, else the CPU.
    #[default]
    Auto,
    /// The CPU, through Burn's `flex` backend.
    Cpu,
    /// The CUDA card of this number; a fit is refused when it cannot be used.
    Cuda(usize),
}

impl Device {
    /// What this device stands for on this machine, and why.
    pub fn describe(&self) -> String {
        match (self, self.resolve()) {
            (_, Ok(Resolved::Cuda(card))) => format!("CUDA card {card}"),
            (Device::Auto, Ok(Resolved::Cpu)) => match find_cuda() {
                Ok(_) => "CPU".into(),
                Err(missing) => format!("CPU ({missing})"),
            },
            (_, Ok(Resolved::Cpu)) => "CPU".into(),
            (_, Err(error)) => error.to_string(),
        }
    }

    /// Shows [`describe`](Self::describe) below a cell.
    pub fn evcxr_display(&self) {
        let text = self.describe();
        crate::display::show(&crate::display::escape(&text), &text);
    }

    pub(crate) fn resolve(&self) -> Result<Resolved> {
        match *self {
            Device::Cpu => Ok(Resolved::Cpu),
            Device::Auto => Ok(match find_cuda() {
                Ok(_) => Resolved::Cuda(0),
                Err(_) => Resolved::Cpu,
            }),
            Device::Cuda(card) => {
                let cards = find_cuda().map_err(|missing| {
                    Error::new(
                        ErrorKind::Device,
                        format!("CUDA card {card} was asked for, but {missing}"),
                    )
                    .fix("install what is missing, or use Device::Auto or Device::Cpu")
                })?;
                if card < cards {
                    Ok(Resolved::Cuda(card))
                } else {
                    Err(Error::new(
                        ErrorKind::Device,
                        format!("CUDA card {card} was asked for, but this machine has {cards}"),
                    )
                    .fix("cards are numbered from 0"))
                }
            }
        }
    }
}

/// A device that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolved {
    Cpu,
    Cuda(usize),
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resolved::Cpu => write!(f, "CPU ({} threads)", rayon::current_num_threads()),
            Resolved::Cuda(card) => write!(f, "CUDA card {card}"),
        }
    }
}

/// The number of CUDA cards, or what is missing. Asked of the driver's library itself, because the CUDA runtime of the
/// tensor library panics where there is no driver.
fn find_cuda() -> std::result::Result<usize, String> {
    let driver = open_library(&[c"libcuda.so.1", c"libcuda.so"])
        .ok_or("no NVIDIA driver was found (libcuda)")?;
    // SAFETY: both functions are looked up by name in the driver's library and have these signatures in every version
    // of the CUDA driver API (cuda.h); the pointer handed over is valid for the call.
    let cards = unsafe {
        let init: unsafe extern "C" fn(u32) -> c_int = std::mem::transmute(
            symbol(driver, c"cuInit").ok_or("the NVIDIA driver has no cuInit")?,
        );
        let count: unsafe extern "C" fn(*mut c_int) -> c_int = std::mem::transmute(
            symbol(driver, c"cuDeviceGetCount")
                .ok_or("the NVIDIA driver has no cuDeviceGetCount")?,
        );
        let status = init(0);
        if status != 0 {
            return Err(format!(
                "the NVIDIA driver does not start (CUDA error {status})"
            ));
        }
        let mut cards = 0;
        let status = count(&mut cards);
        if status != 0 {
            return Err(format!(
                "the NVIDIA driver counts no cards (CUDA error {status})"
            ));
        }
        cards
    };
    if cards < 1 {
        return Err("the NVIDIA driver sees no card".into());
    }
    open_library(&[
        c"libnvrtc.so",
        c"libnvrtc.so.13",
        c"libnvrtc.so.12",
        c"libnvrtc.so.11.2",
    ])
    .ok_or("NVRTC, CUDA's run-time compiler, was not found (libnvrtc)")?;
    Ok(cards as usize)
}

pub(crate) fn open_library(names: &[&CStr]) -> Option<*mut c_void> {
    names
        .iter()
        // SAFETY: the name is a valid C string; a library's initialisers run, as they would when Burn loads it.
        .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) })
        .find(|handle| !handle.is_null())
}

pub(crate) fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle comes from dlopen and is never closed; the name is a valid C string.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}
