//! The memory limits of a fit.

use crate::config::{Budget, Resolved};
use crate::system::memory::free_memory;

use super::gpu;

/// The limits of one fit, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Limit of the anonymous memory of the whole process.
    pub(super) ram: u64,
    /// Whether the user's budget gives `ram`; otherwise it is computed from free memory.
    pub(super) ram_given: bool,
    /// Memory that is free. An estimate with a budget of RAM is for a machine that has it free.
    pub(super) free_ram: u64,
    /// Limit of VRAM; `None` without a GPU and without a VRAM budget, or if NVML does not report free memory.
    pub(super) vram: Option<u64>,
    /// Whether `vram` is the user's budget; otherwise it is computed from free VRAM.
    pub(super) vram_given: bool,
    /// Where the fit runs.
    pub(super) device: Resolved,
}

impl Limits {
    /// The limit of VRAM is the budget, but at most the free VRAM; without a budget it is nine tenths of the free VRAM. With
    /// `estimate`, the machine need not be this one, and a budget of VRAM describes its GPU.
    pub(super) fn of(budget: &Budget, device: Resolved, baseline: u64, estimate: bool) -> Self {
        let requested = budget.vram_bytes();
        let free = match estimate && requested.is_some() {
            true => None,
            false => gpu::free_vram(device),
        };
        let vram = match (requested, free) {
            (Some(requested), Some(free)) => Some(requested.min(free)),
            (requested, free) => requested.or(free.map(|free| free - free / 10)),
        };
        Self {
            ram: budget.ram_bytes(baseline),
            ram_given: budget.gives_ram(),
            free_ram: match estimate && budget.gives_ram() {
                true => budget.ram_bytes(baseline),
                false => free_memory(),
            },
            vram,
            vram_given: requested.is_some() && requested == vram,
            device,
        }
    }

    /// Whether the fit runs on a GPU.
    pub(super) fn on_gpu(&self) -> bool {
        self.device != Resolved::Cpu
    }

    /// Whether there is a GPU, or a VRAM budget that simulates one.
    pub(super) fn gpu(&self) -> bool {
        self.on_gpu() || self.vram.is_some()
    }
}
