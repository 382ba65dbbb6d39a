//! Free and used GPU memory and the driver's version from NVML, NVIDIA's management library, where it is installed.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use super::cuda_driver;
use super::cuda_driver::{function, open_library};

/// Memory of a GPU over all processes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuMemory {
    pub free: u64,
    pub used: u64,
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

struct Nvml {
    device_by_bus_id: unsafe extern "C" fn(*const c_char, *mut Device) -> c_int,
    memory_info: unsafe extern "C" fn(Device, *mut NvmlMemory) -> c_int,
    driver_version: Option<unsafe extern "C" fn(*mut c_char, c_uint) -> c_int>,
    /// PCI bus ids of the GPUs, by CUDA device number.
    bus_ids: Vec<Option<CString>>,
}

/// Free and used memory of the GPU with this CUDA device number; `None` if NVML is missing or does not list the GPU.
///
/// GPUs are looked up by PCI bus id, because NVML numbers all GPUs of the machine and CUDA only those that
/// `CUDA_VISIBLE_DEVICES` leaves visible.
pub fn gpu_memory(gpu: usize) -> Option<GpuMemory> {
    let nvml = nvml()?;
    let bus_id = nvml.bus_ids.get(gpu)?.as_ref()?;
    let mut device: Device = std::ptr::null_mut();
    let mut memory = NvmlMemory::default();
    // SAFETY: both functions were loaded by name and have these signatures (nvml.h); the pointers are valid for the
    // calls, and the handle is used only after the first call has set it.
    let found = unsafe {
        (nvml.device_by_bus_id)(bus_id.as_ptr(), &mut device) == 0
            && (nvml.memory_info)(device, &mut memory) == 0
    };
    found.then_some(GpuMemory {
        free: memory.free,
        used: memory.used,
    })
}

/// The version of the NVIDIA driver, such as `570.86.10`; `None` if NVML is missing or does not report it.
pub fn driver_version() -> Option<String> {
    let get = nvml()?.driver_version?;
    let mut text = [0u8; 96];
    // SAFETY: the function was loaded by name and has this signature (nvml.h); the buffer's length is passed with it.
    let status = unsafe { get(text.as_mut_ptr().cast(), text.len() as c_uint) };
    let text = CStr::from_bytes_until_nul(&text).ok()?;
    (status == 0).then(|| text.to_string_lossy().into_owned())
}

fn nvml() -> Option<&'static Nvml> {
    static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
    NVML.get_or_init(load).as_ref()
}

fn load() -> Option<Nvml> {
    type NvmlInit = unsafe extern "C" fn() -> c_int;
    let library = open_library(&[c"libnvidia-ml.so.1", c"libnvidia-ml.so"])?;
    // SAFETY: the types of the fields and `NvmlInit` are the signatures of these functions in nvml.h.
    unsafe {
        let nvml = Nvml {
            device_by_bus_id: function(library, c"nvmlDeviceGetHandleByPciBusId_v2")?,
            memory_info: function(library, c"nvmlDeviceGetMemoryInfo")?,
            driver_version: function(library, c"nvmlSystemGetDriverVersion"),
            bus_ids: cuda_driver::find()
                .ok()?
                .gpus
                .into_iter()
                .map(|gpu| gpu.pci_bus_id)
                .collect(),
        };
        (function::<NvmlInit>(library, c"nvmlInit_v2")?() == 0).then_some(nvml)
    }
}
