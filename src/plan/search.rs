//! Searches for the first candidate that fits the limits.

use crate::batches::{DEFAULT_BUFFER_BYTES, Reading, Shuffle};
use crate::config::{Recipe, Resolved, Solver};
use crate::cost::{Limit, Memory};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::solvers;
use crate::system::memory::free_memory;

use super::candidate::Candidate;
use super::limits::Limits;
use super::notes::notes;
use super::refusal::{Refusal, refuse};
use super::{Plan, Vram};

/// Micro-batches on a GPU do not become smaller than this while L can be offloaded instead: a row of L is far smaller
/// than the counts that are uploaded with it, but a GPU is idle most of the time with few documents per micro-batch.
const MIN_GPU_DOCUMENTS: u64 = 256;

/// Makes a plan. Preferences: whole batches before micro-batches, L on the GPU before L in host memory, host memory
/// before a mapped file.
///
/// # Errors
/// When no candidate fits the limits.
pub(super) fn search(
    recipe: &Recipe,
    counts: &Counts,
    device: Resolved,
    resumed: bool,
    baseline: u64,
) -> Result<Plan> {
    let streams = streams(recipe, counts)?;
    let limits = Limits::of(&recipe.budget, device, baseline);
    let requested = Candidate::requested(
        recipe,
        counts,
        (device, &limits),
        (streams, resumed),
        baseline,
    );
    let search = Search {
        recipe,
        counts,
        streams,
        limits,
        requested,
    };
    match search.first_that_fits()? {
        Some((found, reading)) => Ok(search.plan(found, reading, device)),
        None => Err(search.refusal()?),
    }
}

/// A place for L's logits, and the smallest micro-batch that is acceptable with it.
#[derive(Clone, Copy)]
struct LPlacement {
    l_on_host: bool,
    l_in_file: bool,
    min_documents: u64,
}

struct Search<'a> {
    recipe: &'a Recipe,
    counts: &'a Counts,
    streams: bool,
    limits: Limits,
    /// The candidate that the recipe asks for.
    requested: Candidate,
}

impl Search<'_> {
    fn first_that_fits(&self) -> Result<Option<(Candidate, Reading)>> {
        for l_placement in self.l_placements() {
            for (resident, micro_batch) in self.micro_batches(l_placement.min_documents) {
                let mut candidate = self.requested.with_micro_batch(micro_batch);
                candidate.shape.l_on_host = l_placement.l_on_host;
                candidate.shape.l_in_file = l_placement.l_in_file;
                candidate.resident = resident;
                let Some(reading) = self.choose_reading(&mut candidate)? else {
                    continue;
                };
                if self.fits(&candidate) {
                    return Ok(Some((candidate, reading)));
                }
            }
        }
        Ok(None)
    }

    /// The places for L in order of preference. L is offloaded before micro-batches become small; it is put into a file
    /// only if the settings or the budget name a folder.
    fn l_placements(&self) -> Vec<LPlacement> {
        let requested = &self.requested.shape;
        let min_gpu_documents = requested.batch.min(MIN_GPU_DOCUMENTS);
        let on_gpu = self.limits.gpu() && self.uses_gradient_steps();
        let in_memory = |l_on_host: bool, min_documents| LPlacement {
            l_on_host,
            l_in_file: false,
            min_documents,
        };
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

    /// Pairs (all counts resident, micro-batch) in order of preference: everything resident, then whole batches
    /// uploaded, then successive halves.
    fn micro_batches(&self, min_documents: u64) -> impl Iterator<Item = (bool, u64)> + use<> {
        let batch = self.requested.shape.batch;
        let whole = self.can_be_resident().then_some((true, batch));
        let halves = |micro_batch: &u64| (*micro_batch > 1).then(|| micro_batch.div_ceil(2));
        let micro_batches = std::iter::successors(Some(batch), halves)
            .take_while(move |micro_batch| *micro_batch >= min_documents)
            .map(|micro_batch| (false, micro_batch));
        whole.into_iter().chain(micro_batches)
    }

    /// Chooses how a candidate reads its counts and sets the bytes of its stream; `None` if even the smallest stream
    /// does not fit. Solvers that pass over the documents have blocks of fixed size. A shuffle buffer gets the memory
    /// that the rest leaves, up to [`DEFAULT_BYTES`]; sizes that the settings give are kept.
    fn choose_reading(&self, candidate: &mut Candidate) -> Result<Option<Reading>> {
        let stream = |Shuffle { block, blocks }| Reading::Stream { block, blocks };
        let reading = match self.recipe.settings.reading {
            _ if !self.streams => Reading::InPlace,
            Reading::Auto if !self.uses_gradient_steps() => stream(self.pass_blocks()),
            Reading::Auto => {
                let available = self.limits.ram.saturating_sub(candidate.peak());
                let available = available.min(DEFAULT_BUFFER_BYTES);
                let batch_size = self.recipe.settings.batch_size();
                match Shuffle::for_budget(self.counts, batch_size, available)? {
                    Some(shuffle) => stream(shuffle),
                    None => return Ok(None),
                }
            }
            from_settings => from_settings,
        };
        candidate.stream = reading
            .shuffle()
            .map(|shuffle| self.buffers(shuffle))
            .transpose()?;
        Ok(Some(reading))
    }

    fn fits(&self, candidate: &Candidate) -> bool {
        candidate.peak() <= self.limits.ram
            && self
                .limits
                .vram
                .is_none_or(|vram| candidate.peak_vram() <= vram)
    }

    /// The stream of a solver that passes over the documents.
    fn pass_blocks(&self) -> Shuffle {
        Shuffle {
            block: solvers::documents_in_block(self.counts.terms()),
            blocks: 1,
        }
    }

    /// Bytes of a stream's buffers.
    fn buffers(&self, shuffle: Shuffle) -> Result<u64> {
        match self.uses_gradient_steps() {
            true => shuffle.bytes(self.counts, self.recipe.settings.batch_size()),
            false => self.pass_blocks().bytes(self.counts, 1),
        }
    }

    /// Whether the fit uses gradient steps over minibatches.
    fn uses_gradient_steps(&self) -> bool {
        !self.requested.solver.is_full_pass()
    }

    /// Whether all counts could be resident on a GPU. Sparse counts that are streamed from a file are never in memory
    /// as a whole, as their upload would require.
    fn can_be_resident(&self) -> bool {
        let dense = self.requested.shape.bytes_of_count.is_some();
        self.limits.vram.is_some()
            && match &self.requested.solver {
                Solver::MiniBatch(_) => dense || !self.streams,
                Solver::Em(_) => !self.streams,
                _ => false,
            }
    }

    /// Whether L's logits may be put into a file that the settings do not ask for.
    fn can_spill(&self) -> bool {
        self.uses_gradient_steps() && self.recipe.budget.spill_dir_path().is_some()
    }

    /// The error for a fit without a plan, with the smallest changes that would make it fit.
    fn refusal(&self) -> Result<Error> {
        let mut smallest = self.requested.with_micro_batch(1);
        let requested = &self.requested.shape;
        smallest.shape.l_on_host =
            requested.l_on_host || self.limits.gpu() && self.uses_gradient_steps();
        smallest.shape.l_in_file = requested.l_in_file || self.can_spill();
        if self.streams {
            let one_batch = Shuffle {
                block: 1,
                blocks: requested.batch as usize,
            };
            smallest.stream = Some(self.buffers(one_batch)?);
        }
        let refusal = match self.limits.vram {
            Some(vram) if smallest.peak_vram() > vram => Refusal {
                items: smallest.vram(),
                memory: Memory::Vram,
                limit: vram,
                from_budget: self.limits.vram_given,
                needed: smallest.peak_vram(),
            },
            _ => Refusal {
                items: smallest.ram(),
                memory: Memory::Ram,
                limit: self.limits.ram,
                from_budget: self.limits.ram_given,
                needed: smallest.peak(),
            },
        };
        Ok(refuse(&smallest, &refusal))
    }

    fn plan(&self, found: Candidate, reading: Reading, device: Resolved) -> Plan {
        let Limits { ram, vram, .. } = self.limits;
        let all_resident = self.can_be_resident().then(|| {
            let mut all_resident = self.requested.clone();
            all_resident.resident = true;
            all_resident.peak_vram()
        });
        let notes = notes(&self.requested, &found, &self.limits, all_resident);
        let mut recipe = self.recipe.clone();
        recipe.settings.reading = reading;
        if found.shape.l_in_file && !self.requested.shape.l_in_file {
            let folder = self.recipe.budget.spill_dir_path().unwrap_or_default();
            recipe.settings.solver = recipe.settings.solver.stored_in(folder);
        }
        let mut items = found.ram();
        if self.limits.gpu() {
            items.extend(found.vram());
        }
        Plan {
            recipe,
            counts: self.counts.clone(),
            device,
            shape: found.shape,
            placement: found.placement(),
            ram: Limit {
                budget: ram,
                predicted: found.peak(),
            },
            vram: self.limits.gpu().then(|| Vram {
                limit: Limit {
                    // Without free memory from NVML there is no limit.
                    budget: vram.unwrap_or(u64::MAX),
                    predicted: found.peak_vram(),
                },
                simulated: !self.limits.on_gpu,
            }),
            items,
            notes,
            baseline: found.baseline,
        }
    }
}

/// Whether the fit streams its counts: if the settings ask for it, or if their file is larger than the budget or half
/// of the free memory. Read in place, the pages of such a file would evict each other from the page cache.
pub(super) fn streams(recipe: &Recipe, counts: &Counts) -> Result<bool> {
    let settings = &recipe.settings;
    Ok(match settings.reading {
        Reading::Auto if !counts.has_row_file() => false,
        Reading::Auto => {
            let limit = match recipe.budget.gives_ram() {
                true => recipe.budget.ram_bytes(0),
                false => u64::MAX,
            };
            counts.bytes_stored() > limit.min(free_memory() / 2)
        }
        from_settings => from_settings
            .resolve(counts, settings.batch_size())?
            .shuffle()
            .is_some(),
    })
}
