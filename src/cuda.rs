//! What the NVIDIA driver and CUDA's run-time compiler say, asked of their libraries themselves: the CUDA runtime of the
//! tensor library panics where one of them is missing or does not fit the other.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fmt;

/// A version of CUDA: major, minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A machine on which CUDA works, as far as can be told without running anything on a card.
#[derive(Debug, Clone)]
pub(crate) struct Cuda {
    /// The newest CUDA that the driver runs.
    pub(crate) driver: Version,
    /// The version of the run-time compiler.
    pub(crate) nvrtc: Version,
    pub(crate) cards: Vec<Card>,
}

#[derive(Debug, Clone)]
pub(crate) struct Card {
    pub(crate) name: String,
    /// Bytes.
    pub(crate) memory: u64,
    pub(crate) capability: Version,
    /// Its place in the machine, by which other libraries know it: they count cards that CUDA leaves out.
    pub(crate) bus: Option<CString>,
    /// Why nothing can run on it, if so.
    pub(crate) refused: Option<String>,
}

impl Cuda {
    /// The number of the first card that can be used.
    pub(crate) fn first(&self) -> Option<usize> {
        self.cards.iter().position(|card| card.refused.is_none())
    }
}

type Found<T> = Result<T, String>;

/// Finds the cards, or says what is missing.
pub(crate) fn find() -> Found<Cuda> {
    let driver = Driver::open()?;
    let mut cards = driver.cards()?;
    if cards.is_empty() {
        return Err("the NVIDIA driver sees no card".into());
    }
    let compiler = Compiler::open()?;
    let (driver, nvrtc) = (driver.version()?, compiler.version()?);
    check_versions(driver, nvrtc)?;
    check_headers()?;
    for card in &mut cards {
        card.refused = compiler.check_card(card, nvrtc).err();
    }
    // An old card beside a new one may stay idle.
    if cards.iter().all(|card| card.refused.is_some()) {
        return Err(cards.swap_remove(0).refused.unwrap_or_default());
    }
    Ok(Cuda {
        driver,
        nvrtc,
        cards,
    })
}

/// Kernels are handed to the driver as the compiler's PTX, which an older driver does not read.
fn check_versions(driver: Version, nvrtc: Version) -> Found<()> {
    if nvrtc <= driver {
        return Ok(());
    }
    Err(format!(
        "NVRTC {nvrtc} is newer than the CUDA {driver} that the NVIDIA driver runs: install NVRTC {driver} or older, or \
         a newer driver"
    ))
}

/// Every kernel includes a header of the toolkit. The runtime ends the program where it does not know where to look.
fn check_headers() -> Found<()> {
    const HEADER: &str = "include/cuda_runtime.h";
    let remedy = "install the CUDA toolkit (its headers are enough), or set CUDA_PATH to the folder that has them";
    match cubecl::cuda::install::cuda_path() {
        None => Err(format!("NVIDIA's CUDA toolkit was not found: {remedy}")),
        Some(folder) if !folder.join(HEADER).exists() => Err(format!(
            "NVIDIA's CUDA toolkit in {} has no {HEADER}: {remedy}",
            folder.display()
        )),
        Some(_) => Ok(()),
    }
}

/// The driver's library, started.
struct Driver {
    library: *mut c_void,
}

impl Driver {
    fn open() -> Found<Self> {
        let library = open_library(&[c"libcuda.so.1", c"libcuda.so"])
            .ok_or("no NVIDIA driver was found (libcuda)")?;
        let driver = Self { library };
        type Init = unsafe extern "C" fn(c_uint) -> c_int;
        // SAFETY: the signature of cuInit in every version of the driver API (cuda.h).
        let status = unsafe { driver.function::<Init>(c"cuInit")?(0) };
        match status {
            0 => Ok(driver),
            // CUDA_ERROR_NO_DEVICE
            100 => Err("the NVIDIA driver sees no card".into()),
            other => Err(format!(
                "the NVIDIA driver does not start (CUDA error {other})"
            )),
        }
    }

    fn version(&self) -> Found<Version> {
        type Get = unsafe extern "C" fn(*mut c_int) -> c_int;
        let mut version = 0;
        // SAFETY: the signature of cuda.h; the pointer is valid for the call.
        let status = unsafe { self.function::<Get>(c"cuDriverGetVersion")?(&mut version) };
        check(status, "tell its version")?;
        Ok(Version(version as u32 / 1000, version as u32 % 1000 / 10))
    }

    fn cards(&self) -> Found<Vec<Card>> {
        type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
        let mut count = 0;
        // SAFETY: the signature of cuda.h; the pointer is valid for the call.
        let status = unsafe { self.function::<Count>(c"cuDeviceGetCount")?(&mut count) };
        check(status, "count its cards")?;
        (0..count).map(|number| self.card(number)).collect()
    }

    fn card(&self, number: c_int) -> Found<Card> {
        type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
        type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        type Memory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
        type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
        // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        const CAPABILITY: [c_int; 2] = [75, 76];
        let (mut device, mut memory, mut capability) = (0, 0, [0; 2]);
        let mut name = [0u8; 256];
        // SAFETY: the signatures of cuda.h; every pointer is valid for its call, and the name's length is given.
        unsafe {
            let status = self.function::<Get>(c"cuDeviceGet")?(&mut device, number);
            check(status, "open a card")?;
            let status = self.function::<Name>(c"cuDeviceGetName")?(
                name.as_mut_ptr().cast(),
                name.len() as c_int - 1,
                device,
            );
            check(status, "name a card")?;
            let status = self.function::<Memory>(c"cuDeviceTotalMem_v2")?(&mut memory, device);
            check(status, "tell a card's memory")?;
            let attribute = self.function::<Attribute>(c"cuDeviceGetAttribute")?;
            for (value, which) in capability.iter_mut().zip(CAPABILITY) {
                check(attribute(value, which, device), "describe a card")?;
            }
        }
        Ok(Card {
            name: CStr::from_bytes_until_nul(&name)
                .map_or_else(|_| "?".into(), |name| name.to_string_lossy().into_owned()),
            memory: memory as u64,
            capability: Version(capability[0] as u32, capability[1] as u32),
            bus: self.bus(device),
            refused: None,
        })
    }

    fn bus(&self, device: c_int) -> Option<CString> {
        type Bus = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        let mut text = [0u8; 64];
        // SAFETY: the signature of cuda.h; the text is as long as is said, and one longer.
        let status = unsafe {
            let ask = self.function::<Bus>(c"cuDeviceGetPCIBusId").ok()?;
            ask(text.as_mut_ptr().cast(), text.len() as c_int - 1, device)
        };
        let text = CStr::from_bytes_until_nul(&text).ok()?;
        (status == 0).then(|| text.to_owned())
    }

    /// # Safety
    /// `F` is the type of a pointer to the function of this name.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Found<F> {
        // SAFETY: as promised by the caller.
        unsafe { function(self.library, name) }
            .ok_or_else(|| format!("the NVIDIA driver has no {}", name.to_string_lossy()))
    }
}

fn check(status: c_int, what: &str) -> Found<()> {
    match status {
        0 => Ok(()),
        error => Err(format!(
            "the NVIDIA driver does not {what} (CUDA error {error})"
        )),
    }
}

/// The run-time compiler's library.
struct Compiler {
    library: *mut c_void,
}

impl Compiler {
    fn open() -> Found<Self> {
        let library = open_library(&[
            c"libnvrtc.so",
            c"libnvrtc.so.13",
            c"libnvrtc.so.12",
            c"libnvrtc.so.11.2",
        ])
        .ok_or("NVRTC, CUDA's run-time compiler, was not found (libnvrtc)")?;
        Ok(Self { library })
    }

    fn version(&self) -> Found<Version> {
        type Get = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the signature of nvrtc.h; both pointers are valid for the call.
        let status = unsafe {
            function::<Get>(self.library, c"nvrtcVersion").ok_or("NVRTC has no nvrtcVersion")?(
                &mut major, &mut minor,
            )
        };
        match status {
            0 => Ok(Version(major as u32, minor as u32)),
            error => Err(format!("NVRTC does not tell its version (error {error})")),
        }
    }

    /// Refuses a card that this compiler has been made before, or no longer knows. One that does not say what it knows
    /// is believed.
    fn check_card(&self, card: &Card, version: Version) -> Found<()> {
        type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
        type List = unsafe extern "C" fn(*mut c_int) -> c_int;
        // SAFETY: the signatures of nvrtc.h; the list has as many numbers as was said.
        let known = unsafe {
            let (Some(count), Some(list)) = (
                function::<Count>(self.library, c"nvrtcGetNumSupportedArchs"),
                function::<List>(self.library, c"nvrtcGetSupportedArchs"),
            ) else {
                return Ok(());
            };
            let mut length = 0;
            if count(&mut length) != 0 {
                return Ok(());
            }
            let mut known = vec![0; length.max(0) as usize];
            if list(known.as_mut_ptr()) != 0 {
                return Ok(());
            }
            known
        };
        let Version(major, minor) = card.capability;
        match known.contains(&((10 * major + minor) as c_int)) {
            true => Ok(()),
            false => Err(format!(
                "NVRTC {version} does not compile for {} (compute capability {}): install another version of it",
                card.name, card.capability
            )),
        }
    }
}

/// Opens the first of these libraries that is there.
pub(crate) fn open_library(names: &[&CStr]) -> Option<*mut c_void> {
    names
        .iter()
        // SAFETY: the name is a valid C string; a library's initialisers run, as they would when Burn loads it.
        .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) })
        .find(|handle| !handle.is_null())
}

/// A function of a library that [`open_library`] opened.
///
/// # Safety
/// `F` is the type of a pointer to the function of this name.
pub(crate) unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the handle comes from dlopen and is never closed; the name is a valid C string.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: of the same size, and of the function's type as promised by the caller.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_newer_than_the_driver_is_named() {
        for (driver, nvrtc, fits) in [
            (Version(12, 4), Version(12, 4), true),
            (Version(13, 0), Version(12, 9), true),
            (Version(12, 4), Version(12, 8), false),
            (Version(12, 9), Version(13, 0), false),
        ] {
            let checked = check_versions(driver, nvrtc);
            assert_eq!(checked.is_ok(), fits, "{driver} {nvrtc}");
            if let Err(message) = checked {
                assert!(message.contains(&nvrtc.to_string()), "{message}");
                assert!(message.contains(&driver.to_string()), "{message}");
            }
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        match find() {
            Ok(cuda) => assert!(!cuda.cards.is_empty()),
            Err(missing) => assert!(missing.contains("NV"), "{missing}"),
        }
    }
}
