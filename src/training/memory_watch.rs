//! An observer that records memory by phase, samples VRAM, and warns when other processes use up free memory.

use std::ops::ControlFlow;

use crate::backend::{VramSampler, allocator_usage, device_errors};
use crate::config::Resolved;
use crate::cost::Limit;
use crate::data::Epoch;
use crate::step::Watch;
use crate::system::memory::{Handle, PhaseGuard, process_memory};
use crate::text::bytes;

use super::observer::{FitStart, Observer, StepContext};

/// Maximum number of phases in a chart; more epochs are grouped.
const MAX_PHASES: usize = 100;
/// Steps during which VRAM is sampled. The first step compiles kernels; later ones overlap.
const SAMPLED_STEPS: usize = 4;
/// Number of parts of steps that are recorded, in a few steps or a few micro-batches.
const RECORDED_PARTS: usize = 24;
/// Free memory below this is short, however little the plan still needs.
const LOW_MEMORY: u64 = 64 << 20;

/// Records the phases and the VRAM of a fit, and warns once if free memory becomes short.
pub(crate) struct MemoryObserver {
    handle: Handle,
    ram: Limit,
    gpu: Option<usize>,
    /// The current phase.
    phase: Option<PhaseGuard>,
    epochs: usize,
    warned: bool,
    /// The VRAM sampler and the steps done while it runs. After the first steps all buffers have been allocated.
    sampler: Option<(VramSampler, usize)>,
    /// Number of device errors before this fit.
    device_errors: usize,
}

impl MemoryObserver {
    pub(crate) fn new(handle: Handle, ram: Limit, device: Resolved) -> Self {
        Self {
            phase: Some(handle.phase("start")),
            handle,
            ram,
            gpu: gpu_of(device),
            epochs: 0,
            warned: false,
            sampler: None,
            device_errors: 0,
        }
    }

    fn begin_phase(&mut self, name: String) {
        // Ends the previous phase before the next one begins.
        self.phase = None;
        self.phase = Some(self.handle.phase(name));
    }

    fn epochs_per_phase(&self) -> usize {
        self.epochs.div_ceil(MAX_PHASES).max(1)
    }

    fn begin_epoch(&mut self, epoch: usize) {
        let last = epoch
            .next_multiple_of(self.epochs_per_phase())
            .min(self.epochs);
        self.begin_phase(match last == epoch {
            true => format!("epoch {epoch}"),
            false => format!("epochs {epoch}–{last}"),
        });
    }

    fn record_vram(&mut self) {
        record_vram(&self.handle, self.gpu);
    }

    fn stop_sampler(&mut self) {
        if let Some((in_use, reserved)) = self.sampler.take().and_then(|(sampler, _)| sampler.end())
        {
            self.handle.set_vram(in_use, reserved);
        }
    }
}

fn gpu_of(device: Resolved) -> Option<usize> {
    match device {
        Resolved::Cuda(gpu) => Some(gpu),
        Resolved::Cpu => None,
    }
}

/// Takes a sample with the VRAM of now, if there is a GPU.
fn record_vram(handle: &Handle, gpu: Option<usize>) {
    if let Some((in_use, reserved)) = gpu.and_then(allocator_usage) {
        handle.set_vram(in_use, reserved);
    }
}

/// Records the parts of the first steps as phases, with samples where they begin and end.
pub(crate) fn watch_steps(handle: Handle, device: Resolved) -> Watch {
    let gpu = gpu_of(device);
    let (mut current, mut recorded): (Option<PhaseGuard>, usize) = (None, 0);
    Box::new(move |next| {
        if current.is_none() && recorded >= RECORDED_PARTS {
            return;
        }
        record_vram(&handle, gpu);
        // Ends the part before, which takes a sample.
        current = None;
        current = next.map(|part| handle.phase(part.name()));
        recorded += usize::from(next.is_some());
    })
}

impl Observer for MemoryObserver {
    fn started(&mut self, start: &FitStart) {
        self.epochs = start.epochs;
        self.begin_epoch(start.done.floor() as usize + 1);
        self.device_errors = self.gpu.map_or(0, device_errors);
        self.sampler = self.gpu.map(|gpu| (VramSampler::start(gpu), 0));
    }

    fn epoch_finished(&mut self, report: &Epoch) {
        self.record_vram();
        match report.epoch {
            last if last >= self.epochs => self.phase = None,
            epoch if epoch.is_multiple_of(self.epochs_per_phase()) => self.begin_epoch(epoch + 1),
            _ => {}
        }
    }

    fn batch_finished(&mut self, context: &mut StepContext) -> ControlFlow<()> {
        if let Some((_, steps)) = &mut self.sampler {
            *steps += 1;
            if *steps == SAMPLED_STEPS {
                self.stop_sampler();
            }
        }
        if !self.warned
            && let Some(line) = shortage(self.ram, self.handle.free_memory())
        {
            self.warned = true;
            context.note(line);
        }
        if self
            .gpu
            .is_some_and(|gpu| device_errors(gpu) > self.device_errors)
        {
            // The next call that waits for the device returns the error.
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn finished(&mut self, _context: &mut StepContext) {
        self.stop_sampler();
        self.begin_phase("end".into());
    }
}

impl Drop for MemoryObserver {
    /// The memory of the GPU is freed when the fit ends.
    fn drop(&mut self) {
        if self.gpu.is_some() {
            self.handle.set_vram(0, 0);
        }
    }
}

/// A warning if free memory is short. The cause is other processes, because the fit keeps within its plan.
fn shortage(ram: Limit, free: u64) -> Option<String> {
    // Avoids reading the process's memory unless free memory may be short.
    if free >= LOW_MEMORY.max(ram.predicted) {
        return None;
    }
    let used = process_memory().anonymous;
    shortage_message(ram, used, free)
}

fn shortage_message(ram: Limit, used: u64, free: u64) -> Option<String> {
    let needed = ram.predicted.saturating_sub(used);
    (free < needed.max(LOW_MEMORY)).then(|| {
        format!(
            "memory is short: {} are free, and other processes use the rest; this process uses {} and keeps within its plan of {}",
            bytes(free),
            bytes(used),
            bytes(ram.predicted)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_used_by_others_is_reported_when_it_runs_short() {
        let mib = |size: u64| size << 20;
        let ram = Limit {
            budget: mib(1000),
            predicted: mib(800),
        };
        // Enough for the rest of the plan.
        assert_eq!(shortage_message(ram, mib(300), mib(501)), None);
        assert_eq!(shortage_message(ram, mib(800), mib(65)), None);
        // The plan needs 500 MiB more.
        let line = shortage_message(ram, mib(300), mib(400)).unwrap();
        assert!(line.contains("400 MiB are free") && line.contains("plan of 800 MiB"));
        // The plan needs no more, but next to nothing is free.
        assert!(shortage_message(ram, mib(900), mib(10)).is_some());
    }
}
