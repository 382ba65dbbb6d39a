//! Checks the NVIDIA driver and NVRTC, CUDA's run-time compiler, by loading their libraries with dlopen.
//!
//! CubeCL, the runtime of the tensor library, panics if one of them is missing or they do not fit each other.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fmt;

/// A version of CUDA: major, minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A CUDA installation that works, as far as can be known without running a kernel.
#[derive(Debug, Clone)]
pub struct Cuda {
    /// The newest CUDA version that the driver supports.
    pub driver: Version,
    pub nvrtc: Version,
    pub gpus: Vec<Gpu>,
}

#[derive(Debug, Clone)]
pub struct Gpu {
    pub name: String,
    /// Total memory in bytes.
    pub memory: u64,
    /// Compute capability.
    pub capability: Version,
    /// PCI bus id, by which NVML finds the GPU; its device numbers differ from CUDA's.
    pub pci_bus_id: Option<CString>,
    /// Its UUID in hexadecimal digits, which no other GPU has; `None` if the driver does not report it.
    pub uuid: Option<String>,
    /// The reason why the GPU cannot be used; `None` if it can.
    pub unusable_because: Option<String>,
}

impl Cuda {
    /// The device number of the first usable GPU.
    pub fn first_usable(&self) -> Option<usize> {
        self.gpus
            .iter()
            .position(|gpu| gpu.unusable_because.is_none())
    }
}

/// A result whose error is a clause that says what is missing, as it stands in messages to users.
type Found<T> = Result<T, String>;

/// Finds driver, NVRTC, CUDA headers and GPUs, and checks that they fit each other.
///
/// The error says what is missing. It is also an error if no GPU can be used.
pub fn find() -> Found<Cuda> {
    let driver = Driver::open()?;
    let mut gpus = driver.gpus()?;
    if gpus.is_empty() {
        return Err("the NVIDIA driver sees no GPU".into());
    }
    let compiler = Compiler::open()?;
    let (driver, nvrtc) = (driver.version()?, compiler.version()?);
    check_versions(driver, nvrtc)?;
    check_headers()?;
    for gpu in &mut gpus {
        gpu.unusable_because = compiler.check_gpu(gpu, nvrtc).err();
    }
    // One usable GPU suffices: an old GPU in the same machine is skipped.
    if gpus.iter().all(|gpu| gpu.unusable_because.is_some()) {
        return Err(gpus.swap_remove(0).unusable_because.unwrap_or_default());
    }
    Ok(Cuda {
        driver,
        nvrtc,
        gpus,
    })
}

/// NVRTC must not be newer than the driver: kernels are passed as PTX, and a driver rejects PTX of later versions.
fn check_versions(driver: Version, nvrtc: Version) -> Found<()> {
    if nvrtc <= driver {
        return Ok(());
    }
    Err(format!(
        "NVRTC {nvrtc} is newer than the CUDA {driver} that the NVIDIA driver supports: install NVRTC {driver} or \
         older, or a newer driver"
    ))
}

/// Every kernel includes a header of the CUDA toolkit, and CubeCL panics if it does not find the toolkit's folder.
fn check_headers() -> Found<()> {
    const HEADER: &str = "include/cuda_runtime.h";
    let remedy = "install the CUDA toolkit (its headers are enough), or set CUDA_PATH to the folder that contains them";
    match cubecl::cuda::install::cuda_path() {
        None => Err(format!("NVIDIA's CUDA toolkit was not found: {remedy}")),
        Some(folder) if !folder.join(HEADER).exists() => Err(format!(
            "NVIDIA's CUDA toolkit in {} has no {HEADER}: {remedy}",
            folder.display()
        )),
        Some(_) => Ok(()),
    }
}

/// The driver's library (libcuda), after cuInit.
struct Driver {
    library: *mut c_void,
}

impl Driver {
    fn open() -> Found<Self> {
        let library = open_library(&[c"libcuda.so.1", c"libcuda.so"])
            .ok_or("no NVIDIA driver was found (libcuda)")?;
        let driver = Self { library };
        type CuInit = unsafe extern "C" fn(c_uint) -> c_int;
        // SAFETY: `CuInit` is the signature of cuInit in every version of the driver API (cuda.h).
        let status = unsafe { driver.function::<CuInit>(c"cuInit")?(0) };
        match status {
            0 => Ok(driver),
            // CUDA_ERROR_NO_DEVICE
            100 => Err("the NVIDIA driver sees no GPU".into()),
            other => Err(format!(
                "the NVIDIA driver cannot be initialised (CUDA error {other})"
            )),
        }
    }

    fn version(&self) -> Found<Version> {
        type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;
        let mut version = 0;
        // SAFETY: the type is the signature in cuda.h; the pointer is valid for the call.
        let status = unsafe { self.function::<GetVersion>(c"cuDriverGetVersion")?(&mut version) };
        check(status, "report its version")?;
        Ok(Version(version as u32 / 1000, version as u32 % 1000 / 10))
    }

    fn gpus(&self) -> Found<Vec<Gpu>> {
        type CountGpus = unsafe extern "C" fn(*mut c_int) -> c_int;
        let mut count = 0;
        // SAFETY: the type is the signature in cuda.h; the pointer is valid for the call.
        let status = unsafe { self.function::<CountGpus>(c"cuDeviceGetCount")?(&mut count) };
        check(status, "count its GPUs")?;
        (0..count).map(|number| self.gpu(number)).collect()
    }

    fn gpu(&self, number: c_int) -> Found<Gpu> {
        type GetDevice = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
        type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        type Memory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
        type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
        // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        const CAPABILITY: [c_int; 2] = [75, 76];
        let (mut device, mut memory, mut capability) = (0, 0, [0; 2]);
        let mut name = [0u8; 256];
        // SAFETY: the types are the signatures in cuda.h; every pointer is valid for its call, and the name's length is
        // passed with it.
        unsafe {
            let status = self.function::<GetDevice>(c"cuDeviceGet")?(&mut device, number);
            check(status, "open a GPU")?;
            let status = self.function::<Name>(c"cuDeviceGetName")?(
                name.as_mut_ptr().cast(),
                name.len() as c_int - 1,
                device,
            );
            check(status, "name a GPU")?;
            let status = self.function::<Memory>(c"cuDeviceTotalMem_v2")?(&mut memory, device);
            check(status, "report a GPU's memory")?;
            let attribute = self.function::<Attribute>(c"cuDeviceGetAttribute")?;
            for (value, which) in capability.iter_mut().zip(CAPABILITY) {
                check(attribute(value, which, device), "describe a GPU")?;
            }
        }
        Ok(Gpu {
            name: CStr::from_bytes_until_nul(&name)
                .map_or_else(|_| "?".into(), |name| name.to_string_lossy().into_owned()),
            memory: memory as u64,
            capability: Version(capability[0] as u32, capability[1] as u32),
            pci_bus_id: self.pci_bus_id(device),
            uuid: self.uuid(device),
            unusable_because: None,
        })
    }

    fn pci_bus_id(&self, device: c_int) -> Option<CString> {
        type GetBusId = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        let mut text = [0u8; 64];
        // SAFETY: `GetBusId` is the signature in cuda.h; the buffer is one byte longer than the length passed.
        let status = unsafe {
            let get = self.function::<GetBusId>(c"cuDeviceGetPCIBusId").ok()?;
            get(text.as_mut_ptr().cast(), text.len() as c_int - 1, device)
        };
        let text = CStr::from_bytes_until_nul(&text).ok()?;
        (status == 0).then(|| text.to_owned())
    }

    fn uuid(&self, device: c_int) -> Option<String> {
        type GetUuid = unsafe extern "C" fn(*mut u8, c_int) -> c_int;
        let mut uuid = [0u8; 16];
        // SAFETY: `GetUuid` is the signature in cuda.h, whose CUuuid is a struct of 16 bytes.
        let status = unsafe {
            let get = self.function::<GetUuid>(c"cuDeviceGetUuid").ok()?;
            get(uuid.as_mut_ptr(), device)
        };
        let digits = uuid.iter().map(|byte| format!("{byte:02x}"));
        (status == 0).then(|| digits.collect())
    }

    /// A function of the driver's library.
    ///
    /// # Safety
    /// `F` must be the function pointer type of this function.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Found<F> {
        // SAFETY: the caller guarantees the type.
        unsafe { function(self.library, name) }
            .ok_or_else(|| format!("the NVIDIA driver has no {}", name.to_string_lossy()))
    }
}

/// An error for a nonzero CUDA status. `action` is a verb with its object, such as "count its GPUs".
fn check(status: c_int, action: &str) -> Found<()> {
    match status {
        0 => Ok(()),
        error => Err(format!(
            "the NVIDIA driver failed to {action} (CUDA error {error})"
        )),
    }
}

/// The library of CUDA's run-time compiler (libnvrtc).
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
        // SAFETY: `Get` is the signature in nvrtc.h; both pointers are valid for the call.
        let status = unsafe {
            function::<Get>(self.library, c"nvrtcVersion").ok_or("NVRTC has no nvrtcVersion")?(
                &mut major, &mut minor,
            )
        };
        match status {
            0 => Ok(Version(major as u32, minor as u32)),
            error => Err(format!(
                "NVRTC failed to report its version (error {error})"
            )),
        }
    }

    /// An error for a GPU whose architecture this NVRTC does not support: too new for it, or dropped from it.
    ///
    /// A version of NVRTC that cannot list its architectures is assumed to support the GPU.
    fn check_gpu(&self, gpu: &Gpu, version: Version) -> Found<()> {
        type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
        type List = unsafe extern "C" fn(*mut c_int) -> c_int;
        // SAFETY: the types are the signatures in nvrtc.h; the vector has the length that NVRTC has reported.
        let architectures = unsafe {
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
            let mut architectures = vec![0; length.max(0) as usize];
            if list(architectures.as_mut_ptr()) != 0 {
                return Ok(());
            }
            architectures
        };
        let Version(major, minor) = gpu.capability;
        match architectures.contains(&((10 * major + minor) as c_int)) {
            true => Ok(()),
            false => Err(format!(
                "NVRTC {version} does not compile for {} (compute capability {}): install another version of it",
                gpu.name, gpu.capability
            )),
        }
    }
}

/// Opens the first of these libraries that the dynamic linker finds.
pub fn open_library(names: &[&CStr]) -> Option<*mut c_void> {
    names
        .iter()
        // SAFETY: the name is a valid C string; the library's initialisers run, as they would when Burn loads it.
        .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) })
        .find(|handle| !handle.is_null())
}

/// A function of a library that [`open_library`] opened; `None` if the library has no such function.
///
/// # Safety
/// `F` must be the function pointer type of this function.
pub unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the handle comes from dlopen and is never closed; the name is a valid C string.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: `F` has the size of a pointer, and the caller guarantees that it is the function's type.
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
    fn an_error_names_the_missing_part() {
        match find() {
            Ok(cuda) => assert!(!cuda.gpus.is_empty()),
            Err(missing) => assert!(missing.contains("NV"), "{missing}"),
        }
    }
}
