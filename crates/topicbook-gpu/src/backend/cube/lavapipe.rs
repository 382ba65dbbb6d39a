//! Runtimes for tests of the kernels: a GPU, or CubeCL's WebGPU runtime on a Vulkan driver that runs on the CPU (Mesa's
//! lavapipe, Debian's package mesa-vulkan-drivers).

use std::sync::OnceLock;

use burn::tensor::backend::DeviceOps;
use burn_cubecl::CubeBackend;
use burn_cuda::CudaDevice;
use cubecl::client::ComputeClient;
use cubecl::device::{Device, DeviceId};
use cubecl::ir::TargetProperties;
use cubecl::prelude::Runtime;
use cubecl::server::ComputeServer;
use cubecl::zspace::{Shape, Strides};
use cubecl_wgpu::{WgpuDevice, WgpuRuntime};

use crate::system::cuda_driver;

/// Burn's backend on lavapipe.
pub type SoftwareBackend = CubeBackend<Software, f32, i32, u32>;

/// A copy of CubeCL's `WgpuRuntime` under another name: Burn implements its traits for `WgpuRuntime` itself only with a
/// feature that would rebuild all of Burn.
#[derive(Debug, Clone)]
pub struct Software;

/// The CPU as a device of WebGPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Processor;

impl Device for Processor {
    fn from_id(_: DeviceId) -> Self {
        Self
    }

    fn to_id(&self) -> DeviceId {
        WgpuDevice::Cpu.to_id()
    }
}

impl DeviceOps for Processor {}

type Server = <WgpuRuntime as Runtime>::Server;

impl Runtime for Software {
    type Compiler = <WgpuRuntime as Runtime>::Compiler;
    type Server = Server;
    type Device = Processor;

    fn client(device: &Processor) -> ComputeClient<Self> {
        ComputeClient::load(device)
    }

    fn name(_: &ComputeClient<Self>) -> &'static str {
        "software"
    }

    fn max_cube_count() -> (u32, u32, u32) {
        WgpuRuntime::max_cube_count()
    }

    fn can_read_tensor(shape: &Shape, strides: &Strides) -> bool {
        WgpuRuntime::can_read_tensor(shape, strides)
    }

    fn target_properties() -> TargetProperties {
        WgpuRuntime::target_properties()
    }

    fn enumerate_devices(type_id: u16, info: &<Server as ComputeServer>::Info) -> Vec<DeviceId> {
        WgpuRuntime::enumerate_devices(type_id, info)
    }
}

/// Whether lavapipe is installed; prints that the test is skipped if not.
pub fn has_lavapipe() -> bool {
    static HAS_LAVAPIPE: OnceLock<bool> = OnceLock::new();
    let has_lavapipe = *HAS_LAVAPIPE.get_or_init(|| {
        let found = std::panic::catch_unwind(|| Software::client(&Processor));
        found.is_ok()
    });
    if !has_lavapipe {
        eprintln!("SKIPPED: no Vulkan driver that runs on the CPU (Debian: mesa-vulkan-drivers)");
    }
    has_lavapipe
}

/// Tests `$test`, a function generic over backends, on lavapipe and on a GPU.
macro_rules! on_both {
    ($on_lavapipe:ident, $on_a_gpu:ident: $test:ident) => {
        #[test]
        fn $on_lavapipe() {
            use $crate::backend::cube::{Processor, SoftwareBackend, has_lavapipe};
            if has_lavapipe() {
                $test::<SoftwareBackend>(&Processor);
            }
        }

        #[test]
        fn $on_a_gpu() {
            if let Some(gpu) = $crate::backend::cube::gpu() {
                $test::<burn_cuda::Cuda>(&gpu);
            }
        }
    };
}

pub(crate) use on_both;

/// The first GPU; prints that the test is skipped if there is none.
pub fn gpu() -> Option<CudaDevice> {
    match cuda_driver::find() {
        Ok(cuda) => cuda.first_usable().map(CudaDevice::new),
        Err(missing) => {
            eprintln!("SKIPPED: {missing}");
            None
        }
    }
}
