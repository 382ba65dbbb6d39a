//! Searches for the first candidate that fits the limits.
//!
//! The candidates do not depend on the limits, only their order does, and each is first tried with the smallest buffers
//! that it can have. So a larger budget never refuses what a smaller one allows, and the smallest of their peaks is the
//! smallest budget that is accepted.

use std::sync::Arc;

use crate::batches::{DEFAULT_BUFFER_BYTES, Reading, Shuffle};
use crate::config::{Recipe, Resolved, Solver};
use crate::cost::{Limit, Phase};
use crate::counts::{Counts, Layout, pass_bytes, read_bytes};
use crate::error::Result;
use crate::fit::CountNames;
use crate::solvers;
use crate::system::hold;

use super::Plan;
use super::candidate::{Before, PlanCandidate, Stream};
use super::limits::Limits;
use super::notes::notes;
use super::refusal::refuse;

/// Micro-batches on a GPU do not become smaller than this while L can be offloaded instead. A row of L is far smaller than the
/// counts that are uploaded with it, but a GPU is idle most of the time with few documents per micro-batch.
const MIN_GPU_DOCUMENTS: u64 = 256;

/// Bytes of a read buffer with which a file is read about as fast as with larger ones.
const FAST_READ_BYTES: u64 = 1 << 20;

/// Makes a plan. Preferences: the better way of reading the counts, whole batches before micro-batches, L on the GPU
/// before L in host memory, host memory before a mapped file.
///
/// The memory of most plans depends on the number of nonzero counts. Where it is not known the counts are read and
/// checked first, in buffers that fit the limit.
///
/// # Errors
/// When no candidate fits the limits, or the counts are read and cannot be fitted.
pub(super) fn search(
    recipe: &Recipe,
    counts: &Counts,
    device: Resolved,
    before: Before,
) -> Result<Plan> {
    let limits = Limits::of(
        &recipe.budget,
        device,
        before.baseline,
        counts.check_existing().is_err(),
    );
    let search = || Search {
        recipe,
        counts,
        limits,
        requested: PlanCandidate::requested(recipe, counts, &limits, before),
    };
    let first = search();
    if counts.mean_nonzeros().is_none()
        && (first.needs_nonzeros() || first.first_that_fits()?.is_none())
    {
        first.check_counts()?;
    }
    let search = search();
    match search.first_that_fits()? {
        Some(found) => search.plan(found),
        None => Err(refuse(&search)?),
    }
}

/// A place for L's logits, and the smallest micro-batch that is acceptable with it.
#[derive(Clone, Copy)]
struct LPlacement {
    l_on_host: bool,
    l_in_file: bool,
    min_documents: u64,
}

#[derive(Clone)]
pub(super) struct Search<'a> {
    recipe: &'a Recipe,
    counts: &'a Counts,
    pub(super) limits: Limits,
    /// The candidate that the recipe describes.
    pub(super) requested: PlanCandidate,
}

impl Search<'_> {
    /// The first candidate whose smallest peaks fit the limits.
    pub(super) fn first_that_fits(&self) -> Result<Option<PlanCandidate>> {
        let mut candidates = self.candidates()?;
        Ok(candidates.find(|candidate| self.fits_ram(candidate) && self.fits_vram(candidate)))
    }

    /// All candidates in order of preference, with the smallest buffers that each can have.
    pub(super) fn candidates(&self) -> Result<impl Iterator<Item = PlanCandidate> + use<'_>> {
        let readings = self.readings()?;
        Ok(readings.into_iter().flat_map(move |stream| {
            let mut read = self.requested.clone();
            read.stream = stream;
            if let Some((least, _)) = self.check_buffers(&read) {
                read.set_check_buffer(self.counts, least);
            }
            let can_be_resident = self.can_be_resident(&read);
            self.l_placements()
                .into_iter()
                .flat_map(move |l_placement| {
                    let read = read.clone();
                    self.micro_batches(l_placement.min_documents, can_be_resident)
                        .map(move |(resident, micro_batch)| {
                            let mut candidate = read.with_micro_batch(micro_batch);
                            candidate.shape.l_on_host = l_placement.l_on_host;
                            candidate.shape.l_in_file = l_placement.l_in_file;
                            candidate.resident = resident;
                            candidate
                        })
                })
        }))
    }

    /// The ways of reading the counts in order of preference, with the smallest stream. A file that is larger than the
    /// budget or half of the free memory is better streamed: read in place, its pages would evict each other from the
    /// page cache. Every other file is better read in place, in fully random order.
    fn readings(&self) -> Result<Vec<Option<Stream>>> {
        let settings = &self.recipe.settings;
        Ok(match settings.reading {
            Reading::Auto if !self.can_stream() => vec![None],
            Reading::Auto => {
                let smallest = match self.uses_gradient_steps() {
                    true => Shuffle {
                        block: 1,
                        blocks: settings.batch_size().min(self.counts.documents()),
                    },
                    false => self.pass_blocks(),
                };
                let stream = Some(self.stream(smallest)?);
                match self.prefers_stream() {
                    true => vec![stream, None],
                    false => vec![None, stream],
                }
            }
            given => match given.resolve(self.counts, settings.batch_size())?.shuffle() {
                Some(shuffle) => vec![Some(self.stream(shuffle)?)],
                None => vec![None],
            },
        })
    }

    /// Whether the plan may choose a stream. The buffers of dense counts can be computed only when their nonzero counts
    /// are known.
    fn can_stream(&self) -> bool {
        self.counts.has_row_file() && self.counts.mean_nonzeros().is_some()
    }

    pub(super) fn prefers_stream(&self) -> bool {
        let limit = match self.limits.ram_given {
            true => self.limits.ram,
            false => u64::MAX,
        };
        self.counts.has_row_file()
            && self.counts.bytes_stored() > limit.min(self.limits.free_ram / 2)
    }

    /// Whether the first choice depends on the number of nonzero counts.
    fn needs_nonzeros(&self) -> bool {
        !self.uses_gradient_steps()
            || match self.recipe.settings.reading {
                Reading::Auto => self.prefers_stream(),
                given => given.shuffle().is_some(),
            }
    }

    /// Reads and checks the counts in buffers that fit the limit.
    fn check_counts(&self) -> Result<()> {
        // Which candidate will fit is not known yet, so the buffers are no larger than is fast.
        let buffer = self.check_buffer(&self.requested).min(FAST_READ_BYTES);
        let least = self.check_buffers(&self.requested);
        let buffer = buffer.max(least.map_or(0, |(least, _)| least));
        self.recipe.check_counts(self.counts, true, buffer)
    }

    /// The least and the most bytes of a read buffer of the pass that checks the counts; `None` if it reads no file.
    fn check_buffers(&self, candidate: &PlanCandidate) -> Option<(u64, u64)> {
        let unread = candidate.before.counts.to_read > 0;
        let streamed = match self.counts.layout() {
            Layout::Dense => true,
            Layout::Csr => unread && candidate.stream.is_some(),
        };
        (streamed && self.counts.has_row_file()).then(|| {
            let sizes = read_bytes(self.counts);
            (*sizes.start(), *sizes.end())
        })
    }

    /// Bytes of a read buffer of that pass. It is as large as it can be without taking more memory than the fit, but large
    /// enough to be read fast, and within the limit of RAM.
    fn check_buffer(&self, candidate: &PlanCandidate) -> u64 {
        let Some((least, most)) = self.check_buffers(candidate) else {
            return 0;
        };
        let with_buffer = |buffer| {
            let mut with_buffer = candidate.clone();
            with_buffer.set_check_buffer(self.counts, buffer);
            with_buffer
        };
        let fast = with_buffer(FAST_READ_BYTES.clamp(least, most)).peak();
        let limit = self.limits.ram.min(fast);
        let room = with_buffer(least).room(Phase::Checking, limit);
        // Two buffers of more than half of the file hold no more than the file.
        match pass_bytes(self.counts, most) - pass_bytes(self.counts, least) <= room {
            true => most,
            false => least + room / 2,
        }
    }

    /// The places for L in order of preference. L is offloaded before micro-batches become small; it is put into a file
    /// only if the settings or the budget name a folder.
    fn l_placements(&self) -> Vec<LPlacement> {
        let requested = &self.requested.shape;
        let min_gpu_documents = requested.micro_batch.min(MIN_GPU_DOCUMENTS);
        let on_gpu = self.limits.gpu() && self.uses_gradient_steps();
        let in_memory = |l_on_host: bool, min_documents| LPlacement {
            l_on_host,
            l_in_file: false,
            min_documents,
        };
        if !self.can_offload() {
            return vec![in_memory(false, 1)];
        }
        let mut l_placements = match (requested.l_in_file, on_gpu) {
            (true, _) => Vec::new(),
            (false, false) => vec![in_memory(false, 1)],
            (false, true) if requested.l_on_host => vec![in_memory(true, 1)],
            (false, true) => vec![
                in_memory(false, min_gpu_documents),
                in_memory(true, min_gpu_documents),
                in_memory(false, 1),
                in_memory(true, 1),
            ],
        };
        if requested.l_in_file || self.can_spill() {
            l_placements.push(LPlacement {
                l_on_host: true,
                l_in_file: true,
                min_documents: 1,
            });
        }
        l_placements
    }

    /// Pairs (all counts resident, micro-batch) in order of preference: everything resident, then batches (or the parts
    /// that the settings give) uploaded, then successive halves.
    fn micro_batches(
        &self,
        min_documents: u64,
        can_be_resident: bool,
    ) -> impl Iterator<Item = (bool, u64)> + use<> {
        let largest = self.requested.shape.micro_batch;
        let whole = can_be_resident.then_some((true, largest));
        let halves = |micro_batch: &u64| (*micro_batch > 1).then(|| micro_batch.div_ceil(2));
        let micro_batches = std::iter::successors(Some(largest), halves)
            .take_while(move |micro_batch| *micro_batch >= min_documents)
            .map(|micro_batch| (false, micro_batch));
        whole.into_iter().chain(micro_batches)
    }

    pub(super) fn fits_ram(&self, candidate: &PlanCandidate) -> bool {
        candidate.peak() <= self.limits.ram
    }

    pub(super) fn fits_vram(&self, candidate: &PlanCandidate) -> bool {
        self.limits
            .vram
            .is_none_or(|vram| candidate.peak_vram() <= vram)
    }

    /// The candidate with larger buffers, as far as the limit of RAM allows. Solvers that pass over the documents have
    /// blocks of fixed size. A shuffle buffer gets the memory that the rest leaves, up to [`DEFAULT_BUFFER_BYTES`]; sizes
    /// that the settings give are kept.
    fn with_larger_buffers(&self, mut candidate: PlanCandidate) -> Result<PlanCandidate> {
        let buffer = self.check_buffer(&candidate);
        candidate.set_check_buffer(self.counts, buffer);
        let chosen = self.recipe.settings.reading == Reading::Auto && self.uses_gradient_steps();
        if chosen && let Some(smallest) = candidate.stream {
            let room = candidate.room(Phase::Reading, self.limits.ram);
            let most = DEFAULT_BUFFER_BYTES.max(smallest.bytes);
            let available = smallest.bytes.saturating_add(room).min(most);
            let batch_size = self.recipe.settings.batch_size();
            if let Some(shuffle) = Shuffle::for_budget(self.counts, batch_size, available)? {
                candidate.stream = Some(self.stream(shuffle)?);
            }
        }
        Ok(candidate)
    }

    /// The stream of a solver that passes over the documents.
    fn pass_blocks(&self) -> Shuffle {
        Shuffle {
            block: solvers::documents_in_block(self.counts.terms()),
            blocks: 1,
        }
    }

    /// A stream with the bytes of its buffers.
    fn stream(&self, shuffle: Shuffle) -> Result<Stream> {
        let bytes = match self.uses_gradient_steps() {
            true => shuffle.bytes(self.counts, self.recipe.settings.batch_size())?,
            false => self.pass_blocks().bytes(self.counts, 1)?,
        };
        Ok(Stream { shuffle, bytes })
    }

    /// Whether the fit uses gradient steps over minibatches.
    pub(super) fn uses_gradient_steps(&self) -> bool {
        !self.requested.solver.is_full_pass()
    }

    /// Whether all counts could be resident on a GPU. Sparse counts that are streamed from a file are never in memory
    /// as a whole, as their upload would require.
    pub(super) fn can_be_resident(&self, candidate: &PlanCandidate) -> bool {
        let dense = candidate.shape.bytes_of_count.is_some();
        let streams = candidate.stream.is_some();
        self.limits.vram.is_some()
            && match &candidate.solver {
                Solver::MiniBatch(_) => dense || !streams,
                Solver::Em(_) => !streams,
                _ => false,
            }
    }

    /// Whether L's logits may be elsewhere than the step itself. Tensors have all of L on their device, and on a GPU clipping
    /// takes the norm of the whole gradient.
    pub(super) fn can_offload(&self) -> bool {
        let parameters = self.recipe.settings.mini_batch();
        !(parameters.step.is_on_tensors() || parameters.clips() && self.limits.on_gpu())
    }

    /// Whether L's logits may be put into a file although the settings name none.
    fn can_spill(&self) -> bool {
        self.uses_gradient_steps() && self.recipe.budget.spill_dir_path().is_some()
    }

    fn plan(&self, found: PlanCandidate) -> Result<Plan> {
        let found = self.with_larger_buffers(found)?;
        let mut recipe = self.recipe.clone();
        if recipe.settings.reading == Reading::Auto {
            recipe.settings.reading = match found.stream {
                Some(Stream { shuffle, .. }) => Reading::Stream {
                    block: shuffle.block,
                    blocks: shuffle.blocks,
                },
                None => Reading::InPlace,
            };
        }
        if found.shape.l_in_file && !self.requested.shape.l_in_file {
            let folder = self.recipe.budget.spill_dir_path().unwrap_or_default();
            recipe.settings.solver = recipe.settings.solver.stored_in(folder);
        }
        let mut items = found.ram();
        if self.limits.gpu() {
            items.extend(found.vram());
        }
        let held = Arc::new(());
        let what = format!(
            "k = {}, of {}",
            found.shape.topics,
            self.counts.to_string().trim_start_matches("Counts: ")
        );
        hold(&held, ("plan", what, 0), Vec::new());
        Ok(Plan {
            names: CountNames::default(),
            _held: held,
            recipe,
            counts: self.counts.clone(),
            device: self.limits.device,
            shape: found.shape,
            placement: found.placement(),
            ram: Limit {
                budget: self.limits.ram,
                predicted: found.peak(),
            },
            vram: self.limits.gpu().then(|| Limit {
                // Without free memory from NVML there is no limit.
                budget: self.limits.vram.unwrap_or(u64::MAX),
                predicted: found.peak_vram(),
            }),
            items,
            fallback: None,
            cluster: None,
            notes: notes(self, &found),
            baseline: found.before.baseline,
            check_buffer: found.check_buffer(),
        })
    }
}
