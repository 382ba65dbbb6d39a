//! Compiles the kernels of fits with NVIDIA's compiler for several compute capabilities.

use topicbook::{Budget, Device, Optimizer, Solver, TopicModel};

use crate::fits::{dense, sparse};
use crate::machine::{Compiler, Machine, nvidia};

#[test]
fn kernels_compile_for_every_compute_capability() {
    if nvidia().is_none() {
        println!(
            "SKIPPED: TOPICBOOK_NVRTC names no Python environment with NVRTC (nvidia-cuda-nvrtc-cu12, nvidia-cuda-runtime-cu12)"
        );
        return;
    }
    for capability in ["7.5", "8.0", "8.9", "9.0", "12.0"] {
        let machine = Machine::default()
            .compiler(Compiler::Nvidia)
            .with("CAPABILITY", capability)
            .with("CUDA", "13.0");
        let ran = machine.run(
            "kernels::kernels_compile_for_every_compute_capability",
            || {
                let (dense, sparse) = (dense(300, 200, u16::from), sparse(300, 200, 20));
                let model = TopicModel::new(10).epochs(2).batch_size(128).quiet();
                let model = model.device(Device::Cuda(0));
                model.fit(&dense).unwrap();
                // L offloaded, and batches in micro-batches.
                let offloaded =
                    model.solver(Solver::mini_batch().optimizer(Optimizer::RowwiseAdamW));
                offloaded
                    .budget(Budget::new().vram("256 KiB").unwrap())
                    .fit(&sparse)
                    .unwrap();
            },
        );
        let Some(report) = ran else { return };
        assert!(report.kernels > 20, "{}", report.text());
    }
}
