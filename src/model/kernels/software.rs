//! Where tests run kernels: on a card, or on a runtime of CubeCL that needs none: WebGPU's shaders on a Vulkan driver that runs on the CPU (Mesa's
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

use crate::cuda;

/// Burn's tensors on it.
pub(crate) type SoftwareBackend = CubeBackend<Software, f32, i32, u32>;

/// Burn knows WebGPU's own runtime only with a feature that would build all of Burn again; hence this one, which is that
/// one under another name.
#[derive(Debug, Clone)]
pub(crate) struct Software;

/// The processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Processor;

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

/// Whether there is such a driver; says so if there is none.
pub(crate) fn there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    let there = *THERE.get_or_init(|| {
        let found = std::panic::catch_unwind(|| Software::client(&Processor));
        found.is_ok()
    });
    if !there {
        eprintln!("SKIPPED: no Vulkan driver that runs on the CPU (Debian: mesa-vulkan-drivers)");
    }
    there
}

/// A card; says so if there is none.
pub(crate) fn card() -> Option<CudaDevice> {
    match cuda::find() {
        Ok(cuda) => cuda.first().map(CudaDevice::new),
        Err(missing) => {
            eprintln!("SKIPPED: {missing}");
            None
        }
    }
}
