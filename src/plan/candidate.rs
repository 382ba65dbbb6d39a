//! A candidate for a plan, and the memory that it needs.

use crate::config::{Recipe, Resolved, Solver, TableStorage};
use crate::cost::{Item, Memory, Phase, Placement, Shape, peak};
use crate::counts::{Counts, InMemory, Layout, Location};
use crate::solvers;
use crate::step::cpu::FusedStep;

use super::gpu;
use super::limits::Limits;

/// Bytes of thread stacks, samples of the memory monitor and small vectors.
const OVERHEAD: u64 = 1 << 19;

/// A way of running the fit, with everything that determines its memory use.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) shape: Shape,
    pub(super) counts: InMemory,
    /// Bytes of the counts that are read from a file during the fit.
    pub(super) on_disk: u64,
    /// Bytes of a stream's buffers; `None` if counts are read in place.
    pub(super) stream: Option<u64>,
    /// Whether the summary of the counts has been computed.
    summarised: bool,
    /// Whether the fit writes checkpoints.
    pub(super) checkpoint: bool,
    /// Whether the fit starts from a state that is in memory already.
    resumed: bool,
    pub(super) solver: Solver,
    device: Resolved,
    /// Whether all counts are resident on the GPU.
    pub(super) resident: bool,
    /// Anonymous memory of the process before the fit, in bytes.
    pub(super) baseline: u64,
}

impl Candidate {
    /// The candidate that the recipe asks for: whole batches, nothing resident, and the stream's buffers not known yet.
    pub(super) fn requested(
        recipe: &Recipe,
        counts: &Counts,
        (device, limits): (Resolved, &Limits),
        (streams, resumed): (bool, bool),
        baseline: u64,
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
        Self {
            shape: Shape {
                documents: documents as u64,
                terms: terms as u64,
                topics: settings.topics as u64,
                state_values: settings.solver.state_values() as u64,
                batch,
                micro_batch: batch,
                nonzeros: counts.mean_nonzeros().unwrap_or(terms) as u64,
                bytes_of_count: (counts.layout() == Layout::Dense)
                    .then(|| counts.dtype().bytes().min(4) as u64),
                largest_page: gpu::largest_page(device),
                precision: settings.mini_batch().precision,
                l_in_file: in_file,
                // A mapped file is host memory, and a row-wise optimizer needs only the rows of its batch on the GPU.
                l_on_host: !settings.solver.is_full_pass()
                    && (in_file || !settings.mini_batch().optimizer.moves_all_rows()),
            },
            counts: match streams {
                true => InMemory::default(),
                false => counts.in_memory(),
            },
            on_disk: match counts.location() {
                Location::File(_) => counts.bytes_stored(),
                Location::Loaded(_) if streams => counts.bytes_stored(),
                _ => 0,
            },
            stream: None,
            summarised: counts.is_summarised(),
            checkpoint: recipe.checkpoint.is_some(),
            resumed,
            solver: settings.solver.clone(),
            device,
            resident: false,
            baseline,
        }
    }

    /// The items in RAM and on disk.
    pub(super) fn ram(&self) -> Vec<Item> {
        let shape = &self.shape;
        let all = |what: &str, bytes| Item::ram(what, Phase::Throughout, bytes);
        let mut items = vec![all(
            "the process before the fit: kernel, libraries, other values",
            self.baseline.saturating_sub(self.counts.loaded),
        )];
        if self.on_disk > 0 {
            let what = match self.stream {
                Some(_) => "X, streamed once per epoch in blocks",
                None => "X, memory-mapped",
            };
            items.push(Item::new(
                what,
                Memory::Disk,
                Phase::Throughout,
                self.on_disk,
            ));
        }
        items.push(all("X", self.counts.loaded + self.counts.to_read));
        if !self.summarised {
            let reading = self.counts.while_checking;
            items.push(Item::ram(
                "X: buffers while checking",
                Phase::Checking,
                reading,
            ));
            items.push(all("documents' lengths", 8 * shape.documents));
        }
        items.extend(match self.solver.is_full_pass() {
            true => self.iteration_items(),
            false => self.step_items(),
        });
        items.push(all("thread stacks and small allocations", OVERHEAD));
        items.retain(|item| item.bytes > 0);
        items
    }

    /// The items of a solver that passes over all documents.
    fn iteration_items(&self) -> Vec<Item> {
        let shape = &self.shape;
        let mut items = match self.device {
            Resolved::Cuda(_) => gpu::ram_of_solver(&self.solver, shape, self.resident),
            Resolved::Cpu => solvers::memory(&self.solver, shape, self.stream.is_some()),
        };
        items.extend(solvers::memory_around_iterations(shape));
        if let Some(buffers) = self.stream {
            let what = "X: blocks of documents, one in use and one being read";
            items.push(Item::ram(what, Phase::Pass, buffers));
        }
        if self.checkpoint {
            items.extend(solvers::checkpoint_memory(self.device, shape));
        }
        items
    }

    /// The items of gradient steps over minibatches.
    fn step_items(&self) -> Vec<Item> {
        let shape = &self.shape;
        let mut items = vec![match self.stream {
            Some(buffers) => {
                let what = "X: shuffle buffers, one in use and one being filled";
                Item::ram(what, Phase::Reading, buffers)
            }
            None => {
                let what = "order of the documents in an epoch";
                Item::ram(what, Phase::Reading, 8 * shape.documents)
            }
        }];
        items.extend(match self.device {
            Resolved::Cpu => FusedStep::memory(shape, self.resumed),
            Resolved::Cuda(_) => gpu::ram_of_steps(shape, self.resident, self.resumed),
        });
        if self.checkpoint {
            items.extend(FusedStep::checkpoint_memory(shape));
        }
        items
    }

    /// The items in VRAM.
    pub(super) fn vram(&self) -> Vec<Item> {
        gpu::vram(&self.solver, &self.shape, self.resident)
    }

    /// The peak of RAM, in bytes.
    pub(super) fn peak(&self) -> u64 {
        peak(&self.ram(), Memory::Ram).0
    }

    /// The peak of VRAM, in bytes.
    pub(super) fn peak_vram(&self) -> u64 {
        peak(&self.vram(), Memory::Vram).0
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
