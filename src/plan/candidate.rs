//! A candidate for a plan, and the memory that it needs.

use crate::batches::Shuffle;
use crate::config::{Recipe, Resolved, Solver, TableStorage};
use crate::cost::{Consumer, Item, Memory, Phase, Placement, Shape, peak, room};
use crate::counts::{Counts, InMemory, Layout, Location, pass_bytes, summary_scratch_bytes};
use crate::solvers;
use crate::step::cpu::FusedStep;
use crate::system::memory::{process_memory, release_freed};

use super::gpu;
use super::limits::Limits;

/// Bytes of thread stacks, samples of the memory monitor, small vectors, and what the heap leaves unused between allocations:
/// of 220 random fits (`bench plans`), 214 used less.
const OVERHEAD: u64 = 1 << 20;

/// The process and the counts before the plan is made, which may read and check the counts itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    /// Anonymous memory of the process, in bytes.
    pub(super) baseline: u64,
    /// Anonymous memory of the counts.
    pub(super) counts: InMemory,
    /// Whether the summary of the counts has been computed.
    pub(super) summarised: bool,
    /// Whether the fit starts from a state that is in memory already.
    pub(super) resumed: bool,
}

impl Before {
    /// Measures the process.
    pub(super) fn measure(counts: &Counts, resumed: bool) -> Self {
        release_freed();
        Self {
            baseline: process_memory().anonymous,
            counts: counts.in_memory(),
            summarised: counts.is_summarised(),
            resumed,
        }
    }
}

/// A stream of a candidate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) shuffle: Shuffle,
    /// Bytes of its buffers.
    pub(super) bytes: u64,
}

/// The pass over a file that checks the counts.
#[derive(Debug, Clone, Copy)]
struct CheckPass {
    /// Bytes of a read buffer.
    buffer: u64,
    /// Bytes of both buffers and the reader's stage.
    bytes: u64,
}

/// A way of running the fit, with everything that determines its memory use.
#[derive(Debug, Clone)]
pub(super) struct PlanCandidate {
    pub(super) before: Before,
    pub(super) shape: Shape,
    /// How counts are streamed; `None` if they are read in place.
    pub(super) stream: Option<Stream>,
    /// The pass that checks the counts; `None` if it reads no file.
    check: Option<CheckPass>,
    /// Bytes of the summary while it is computed.
    summary_scratch: u64,
    /// Bytes of the counts in their file; 0 if they have none.
    in_file: u64,
    /// Whether the file is memory-mapped.
    mapped: bool,
    /// Whether the buffers of a stream have rows in CSR, also of dense counts.
    buffered_as_csr: bool,
    /// Whether the fit writes checkpoints.
    pub(super) checkpoint: bool,
    pub(super) solver: Solver,
    device: Resolved,
    /// Whether all counts are resident on the GPU.
    pub(super) resident: bool,
}

impl PlanCandidate {
    /// The candidate that the recipe describes: whole batches, nothing resident, counts read in place.
    pub(super) fn requested(
        recipe: &Recipe,
        counts: &Counts,
        limits: &Limits,
        before: Before,
    ) -> Self {
        let settings = &recipe.settings;
        let (documents, terms) = counts.shape();
        let in_file = settings.solver.table_storage() != TableStorage::Memory;
        // On a GPU, the documents that are uploaded at once.
        let batch = match &settings.solver {
            Solver::Em(_) if limits.gpu() => solvers::documents_in_block(terms),
            _ => settings.batch_size(),
        };
        let batch = batch.min(documents) as u64;
        let parameters = settings.mini_batch();
        let state_values = settings.solver.state_values();
        Self {
            before,
            shape: Shape {
                documents: documents as u64,
                terms: terms as u64,
                topics: settings.topics as u64,
                l_state_values: state_values.l as u64,
                f_state_values: state_values.f as u64,
                batch,
                micro_batch: parameters
                    .micro_batch
                    .map_or(batch, |part| batch.min(part as u64)),
                nonzeros: counts.mean_nonzeros().unwrap_or(terms) as u64,
                bytes_of_count: (counts.layout() == Layout::Dense)
                    .then(|| gpu::bytes_of_count(counts)),
                largest_page: gpu::largest_page(limits.device),
                precision: parameters.gpu_precision,
                clips: parameters.clips(),
                step: parameters.step,
                l_precision: parameters.table_precision,
                l_in_file: in_file,
                l_moves_whole: parameters.optimizer.moves_all_rows(),
                // A mapped file is host memory, and a row-wise optimizer needs only the rows of its batch on the GPU.
                l_on_host: !settings.solver.is_full_pass()
                    && (in_file || !parameters.optimizer.moves_all_rows()),
            },
            stream: None,
            check: None,
            summary_scratch: summary_scratch_bytes(counts),
            in_file: match counts.location() {
                Location::Memory => 0,
                _ => counts.bytes_stored(),
            },
            mapped: matches!(counts.location(), Location::File(_)),
            buffered_as_csr: counts
                .known_nonzeros()
                .is_some_and(|nonzeros| counts.is_buffered_with(nonzeros, counts.documents())),
            checkpoint: recipe.checkpoint.is_some(),
            solver: settings.solver.clone(),
            device: limits.device,
            resident: false,
        }
    }

    /// Sets the bytes of a read buffer of the pass over the file that checks the counts. A buffer of 0 bytes reads no file.
    pub(super) fn set_check_buffer(&mut self, counts: &Counts, buffer: u64) {
        self.check = (buffer > 0).then(|| CheckPass {
            buffer,
            bytes: pass_bytes(counts, buffer),
        });
    }

    /// Bytes of a read buffer of that pass; 0 if it reads no file.
    pub(super) fn check_buffer(&self) -> u64 {
        self.check.map_or(0, |pass| pass.buffer)
    }

    /// Bytes of the counts in memory during the fit.
    pub(super) fn counts_in_memory(&self) -> u64 {
        let InMemory {
            loaded, to_read, ..
        } = self.before.counts;
        match self.stream {
            Some(_) => loaded,
            None => loaded + to_read,
        }
    }

    /// The items in RAM and on disk.
    pub(super) fn ram(&self) -> Vec<Item> {
        let (shape, before) = (&self.shape, &self.before);
        let all = |consumer, what: &str, bytes| Item::ram(consumer, what, Phase::Throughout, bytes);
        let mut items = vec![all(
            Consumer::Process,
            "the process before the fit: kernel, libraries, other values",
            before.baseline.saturating_sub(before.counts.loaded),
        )];
        let on_disk = match self.stream {
            Some(_) => Some("X, streamed once per epoch in blocks"),
            None if self.mapped => Some("X, memory-mapped"),
            None => None,
        };
        if let Some(what) = on_disk {
            let disk = Memory::Disk;
            items.push(Item::new(
                Consumer::Counts,
                what,
                disk,
                Phase::Throughout,
                self.in_file,
            ));
        }
        items.push(all(Consumer::Counts, "X", self.counts_in_memory()));
        if !before.summarised {
            let buffers = match self.check {
                None => before.counts.while_reading,
                Some(pass) => pass.bytes,
            };
            items.push(Item::ram(
                Consumer::Counts,
                "X: buffers while checking",
                Phase::Checking,
                buffers + self.summary_scratch,
            ));
            items.push(all(
                Consumer::Counts,
                "documents' lengths",
                8 * shape.documents,
            ));
        }
        items.extend(match self.solver.is_full_pass() {
            true => self.iteration_items(),
            false => self.step_items(),
        });
        items.push(all(
            Consumer::Rest,
            "thread stacks and small allocations",
            OVERHEAD,
        ));
        items.retain(|item| item.bytes > 0);
        items
    }

    /// The shape with the counts as they are uploaded.
    fn on_gpu(&self) -> Shape {
        let as_csr = self.stream.is_some() && !self.resident && self.buffered_as_csr;
        Shape {
            bytes_of_count: self.shape.bytes_of_count.filter(|_| !as_csr),
            ..self.shape
        }
    }

    /// The items of a solver that passes over all documents.
    fn iteration_items(&self) -> Vec<Item> {
        let shape = &self.shape;
        let mut items = match self.device {
            Resolved::Cuda(_) => gpu::ram_of_solver(&self.solver, &self.on_gpu(), self.resident),
            Resolved::Cpu => solvers::memory(&self.solver, shape, self.stream.is_some()),
        };
        items.extend(solvers::memory_around_iterations(shape));
        if let Some(Stream { bytes, .. }) = self.stream {
            let what = "X: blocks of documents, one in use and one being read";
            items.push(Item::ram(Consumer::Counts, what, Phase::Pass, bytes));
        }
        if self.checkpoint {
            items.extend(solvers::checkpoint_memory(self.device, shape));
        }
        items
    }

    /// The items of gradient steps over minibatches.
    fn step_items(&self) -> Vec<Item> {
        let (shape, resumed) = (&self.shape, self.before.resumed);
        let mut items = vec![match self.stream {
            Some(Stream { bytes, .. }) => {
                let what = "X: shuffle buffers, one in use and one being filled";
                Item::ram(Consumer::Counts, what, Phase::Reading, bytes)
            }
            None => {
                let what = "order of the documents in an epoch";
                Item::ram(Consumer::Counts, what, Phase::Reading, 8 * shape.documents)
            }
        }];
        items.extend(match self.device {
            Resolved::Cpu if shape.step.is_on_tensors() => gpu::ram_of_tensors(shape, resumed),
            Resolved::Cpu => FusedStep::memory(shape, resumed),
            Resolved::Cuda(_) => gpu::ram_of_steps(&self.on_gpu(), self.resident, resumed),
        });
        if self.checkpoint {
            items.extend(FusedStep::checkpoint_memory(shape));
        }
        items
    }

    pub(super) fn vram(&self) -> Vec<Item> {
        gpu::vram(&self.solver, &self.on_gpu(), self.resident)
    }

    /// The peak of RAM, in bytes.
    pub(super) fn peak(&self) -> u64 {
        peak(&self.ram(), Memory::Ram).0
    }

    /// The peak of VRAM, in bytes.
    pub(super) fn peak_vram(&self) -> u64 {
        peak(&self.vram(), Memory::Vram).0
    }

    /// Bytes by which the items of a phase can grow within a limit of RAM.
    pub(super) fn room(&self, phase: Phase, limit: u64) -> u64 {
        room(&self.ram(), Memory::Ram, phase, limit)
    }

    /// The same candidate with another micro-batch.
    pub(super) fn with_micro_batch(&self, micro_batch: u64) -> Self {
        let mut other = self.clone();
        other.shape.micro_batch = micro_batch;
        other
    }

    /// The decisions that steps and solvers follow.
    pub(super) fn placement(&self) -> Placement {
        Placement {
            micro_batch: self.shape.micro_batch as usize,
            resident: self.resident && matches!(self.device, Resolved::Cuda(_)),
            l_on_host: self.shape.l_on_host,
        }
    }
}
