//! Which way of fitting keeps within the budget.

use std::path::PathBuf;

use super::item::peak;
use super::refuse::{Refusal, refuse};
use super::{Item, Lives, Placement, Plan, Vram, When};
use crate::counts::{Counts, InMemory, Layout, Location};
use crate::cuda;
use crate::device::Resolved;
use crate::display::bytes;
use crate::error::Result;
use crate::loader::{DEFAULT_BYTES, Reading, Shuffle};
use crate::memory::{Goal, card_memory, free_memory};
use crate::model::{FusedStep, Optimizer, Precision, TopicModel, has_context, tensor_memory};
use crate::place::TablePlace;
use crate::solver::{self, Solver};

/// The sizes that formulas need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) documents: u64,
    pub(crate) terms: u64,
    pub(crate) topics: u64,
    pub(crate) batch: u64,
    /// Documents whose gradients are taken at once.
    pub(crate) micro_batch: u64,
    /// Nonzero counts of a document, on average; all terms of dense counts that nobody has looked at.
    pub(crate) nonzeros: u64,
    /// Bytes of a dense count as it is sent to a card; `None` where counts are sparse.
    pub(crate) bytes_of_count: Option<u64>,
    /// Bytes of the largest page of memory that a card's runtime takes.
    pub(crate) largest_page: u64,
    /// How a card reads the tables.
    pub(crate) precision: Precision,
    /// Whether the table behind L lives in a file.
    pub(crate) l_in_file: bool,
    /// Whether it stays beside the card, if there is one.
    pub(crate) l_on_host: bool,
}

/// Documents below which a batch is not cut while L could leave the card instead: a row of L is far smaller than the counts
/// that are sent with it, but a card that gets few documents at a time waits.
const FEW: u64 = 256;

/// What the driver takes of a card for a process that uses it.
const CONTEXT: u64 = 512 << 20;

/// Threads' stacks, samples of the monitor, small vectors.
const SMALL: u64 = 1 << 19;

/// Everything that decides how much RAM a way of fitting takes.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) shape: Shape,
    pub(super) counts: InMemory,
    pub(super) on_disk: u64,
    /// Bytes of a stream's buffers; `None` where counts are read in place.
    pub(super) stream: Option<u64>,
    pub(super) summarised: bool,
    pub(super) checkpoint: bool,
    pub(super) resumed: bool,
    pub(super) solver: Solver,
    pub(super) device: Resolved,
    pub(super) resident: bool,
    /// Anonymous memory of the process, before the fit.
    pub(super) taken: u64,
}

impl Case {
    /// Everything that takes RAM (and disk).
    pub(super) fn ram(&self) -> Vec<Item> {
        let shape = &self.shape;
        let all = |what: &str, bytes| Item::ram(what, When::Throughout, bytes);
        let mut items = vec![all(
            "the process before the fit: kernel, libraries, other values",
            self.taken.saturating_sub(self.counts.held),
        )];
        if self.on_disk > 0 {
            let what = match self.stream {
                Some(_) => "X, read once an epoch, block by block",
                None => "X, mapped: a batch reads its own rows",
            };
            items.push(Item::new(what, Lives::Disk, When::Throughout, self.on_disk));
        }
        items.push(all("X", self.counts.held + self.counts.to_read));
        if !self.summarised {
            let reading = self.counts.while_checking;
            items.push(Item::ram("X while it is checked", When::Checking, reading));
            items.push(all("documents' lengths", 8 * shape.documents));
        }
        if self.solver.iterates() {
            let on_card = matches!(self.device, Resolved::Cuda(_)).then_some(self.resident);
            let streams = self.stream.is_some();
            items.extend(solver::memory(self.solver, shape, streams, on_card));
            if let Some(buffers) = self.stream {
                let what = "X: a block of documents in use and one being read";
                items.push(Item::ram(what, When::Pass, buffers));
            }
            if self.checkpoint {
                items.push(solver::state(shape));
            }
        } else {
            items.extend(self.steps());
            if self.checkpoint {
                items.extend(FusedStep::state(shape));
            }
        }
        items.push(all("threads and small things", SMALL));
        items.retain(|item| item.bytes > 0);
        items
    }

    /// What steps over batches take.
    fn steps(&self) -> Vec<Item> {
        let shape = &self.shape;
        let mut items = vec![match self.stream {
            Some(buffers) => {
                let what = "X: shuffle buffer, one filling in use and one being read";
                Item::ram(what, When::Reading, buffers)
            }
            None => {
                let what = "the documents' order in an epoch";
                Item::ram(what, When::Reading, 8 * shape.documents)
            }
        }];
        items.extend(match self.device {
            Resolved::Cpu => FusedStep::memory(shape, self.resumed),
            Resolved::Cuda(_) => tensor_memory::beside_card(shape, self.resident, self.resumed),
        });
        items
    }

    /// Everything that takes VRAM.
    fn vram(&self) -> Vec<Item> {
        match self.solver.iterates() {
            true => solver::memory_on_card(self.solver, &self.shape, self.resident),
            false => tensor_memory::on_card(&self.shape, self.resident, true),
        }
    }

    pub(super) fn peak(&self) -> u64 {
        peak(&self.ram(), Lives::Ram).0
    }

    pub(super) fn peak_vram(&self) -> u64 {
        peak(&self.vram(), Lives::Card).0
    }

    pub(super) fn with_part(&self, micro_batch: u64) -> Self {
        let mut case = self.clone();
        case.shape.micro_batch = micro_batch;
        case
    }
}

pub(super) fn choose(
    model: &TopicModel,
    counts: &Counts,
    device: Resolved,
    resumed: bool,
    taken: u64,
) -> Result<Plan> {
    let settings = model.settings();
    let budget = &model.budget;
    let ram = budget.ram_bytes(taken)?;
    let streams = streams(model, counts)?;
    let free = match device {
        Resolved::Cuda(card) => {
            let context = if has_context(card) { 0 } else { CONTEXT };
            card_memory(card).map(|memory| memory.free.saturating_sub(context))
        }
        Resolved::Cpu => None,
    };
    // Whatever was asked for, a card has no more than it has.
    let asked = budget.vram_bytes()?;
    let vram = match (asked, free) {
        (Some(asked), Some(free)) => Some(asked.min(free)),
        (asked, free) => asked.or(free.map(|free| free - free / 10)),
    };
    let (documents, terms) = counts.shape();
    let on_card = matches!(device, Resolved::Cuda(_));
    let card = on_card || vram.is_some();
    // What goes to a card at once, if there is one.
    let batch = match settings.solver {
        Solver::Em if card => solver::documents_in_block(terms),
        _ => settings.batch_size,
    };
    let batch = batch.min(documents) as u64;
    let mut case = Case {
        shape: Shape {
            documents: documents as u64,
            terms: terms as u64,
            topics: settings.topics as u64,
            batch,
            micro_batch: batch,
            nonzeros: counts.mean_nonzeros().unwrap_or(terms) as u64,
            bytes_of_count: (counts.layout() == Layout::Dense)
                .then(|| counts.dtype().bytes().min(4) as u64),
            largest_page: match (device, cuda::find()) {
                // As the runtime does it.
                (Resolved::Cuda(card), Ok(cuda)) => cuda.cards[card].memory / 4,
                _ => 0,
            },
            precision: settings.precision,
            l_in_file: settings.table_place != TablePlace::Memory,
            // A file is not on a card; and a row-wise optimizer needs nothing but the rows of its batch.
            l_on_host: !settings.solver.iterates()
                && (settings.table_place != TablePlace::Memory
                    || settings.optimizer != Optimizer::AdamW),
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
        checkpoint: model.keeps_checkpoints(),
        resumed,
        solver: settings.solver,
        device,
        resident: false,
        taken,
    };
    let mut refused = Vec::new();
    let steps = !case.solver.iterates();
    let may_hold = vram.is_some()
        && match settings.solver {
            // Sparse counts in a file that is streamed are never all in memory, from where they would be sent.
            Solver::AdamW => case.shape.bytes_of_count.is_some() || !streams,
            Solver::Em => !streams,
            _ => false,
        };
    case.resident = may_hold;
    let everything = case.peak_vram();
    // A solver that passes over the documents has blocks of its own. A shuffle buffer takes what the rest leaves, within
    // reason; sizes that were asked for stay.
    let passes = settings.solver.iterates().then(|| Shuffle {
        block: solver::documents_in_block(terms),
        blocks: 1,
    });
    let buffers = |shuffle: Shuffle| match passes {
        Some(pass) => pass.bytes(counts, 1),
        None => shuffle.bytes(counts, settings.batch_size),
    };
    let reading = |case: &mut Case| -> Result<Option<Reading>> {
        let reading = match (settings.reading, passes) {
            _ if !streams => Reading::InPlace,
            (Reading::Auto, Some(Shuffle { block, blocks })) => Reading::Stream { block, blocks },
            (Reading::Auto, None) => {
                let left = ram.saturating_sub(case.peak()).min(DEFAULT_BYTES);
                match Shuffle::for_budget(counts, settings.batch_size, left)? {
                    Some(Shuffle { block, blocks }) => Reading::Stream { block, blocks },
                    None => return Ok(None),
                }
            }
            (given, _) => given,
        };
        case.stream = reading.shuffle().map(buffers).transpose()?;
        let fits = case.peak() <= ram && vram.is_none_or(|vram| case.peak_vram() <= vram);
        Ok(fits.then_some(reading))
    };
    // Halves, down to single documents. Before a card gets few documents at a time, L leaves it; and if all of that is not
    // enough, L goes into a file.
    let (by_request, in_file) = (case.shape.l_on_host, case.shape.l_in_file);
    let few = batch.min(FEW);
    let ways = [
        (false, false, few),
        (true, false, few),
        (false, false, 1),
        (true, false, 1),
        (true, true, 1),
    ];
    let ways =
        ways.into_iter().filter(
            |&(l_on_host, l_in_file, _)| match (l_in_file, card && steps) {
                (true, _) => true,
                (false, true) => !in_file && (l_on_host || !by_request),
                (false, false) => !in_file && !l_on_host,
            },
        );
    let halves = |part: &u64| (*part > 1).then(|| part.div_ceil(2));
    let mut found = None;
    'found: for (l_on_host, l_in_file, least) in ways {
        let whole = may_hold.then_some((true, batch));
        let parts = std::iter::successors(Some(batch), halves).take_while(|part| *part >= least);
        for (resident, part) in whole.into_iter().chain(parts.map(|part| (false, part))) {
            let mut case = case.with_part(part);
            (case.shape.l_on_host, case.shape.l_in_file) = (l_on_host, l_in_file);
            case.resident = resident;
            if let Some(reading) = reading(&mut case)? {
                found = Some((case, reading));
                break 'found;
            }
        }
    }
    let Some((case, reading)) = found else {
        let mut least = case.with_part(1);
        (least.shape.l_on_host, least.shape.l_in_file) = (true, true);
        least.resident = false;
        if streams {
            let one_batch = Shuffle {
                block: 1,
                blocks: batch as usize,
            };
            least.stream = Some(buffers(one_batch)?);
        }
        let refusal = match vram {
            Some(vram) if least.peak_vram() > vram => Refusal {
                items: least.vram(),
                lives: Lives::Card,
                budget: vram,
                least: least.peak_vram(),
            },
            _ => Refusal {
                items: least.ram(),
                lives: Lives::Ram,
                budget: ram,
                least: least.peak(),
            },
        };
        let given = match refusal.lives {
            Lives::Card => asked == vram,
            _ => budget.gives_ram(),
        };
        return Err(refuse(&least, &refusal, given));
    };
    if may_hold && let Some(vram) = vram.filter(|vram| everything > *vram) {
        refused.push(format!(
            "Everything on the card would take {} of VRAM, {} more than the budget{}.",
            bytes(everything),
            bytes(everything - vram),
            match case.resident {
                true => "",
                false => ": X stays where it is, and goes there part by part",
            }
        ));
    }
    if card && steps && case.shape.l_on_host && !by_request {
        let mut whole = case.with_part(batch);
        whole.shape.l_on_host = false;
        refused.push(format!(
            "With the table behind L and its moments on the card a step would take {} of VRAM: they stay beside it, and the card gets the rows of a batch and returns their gradients, with the same result to rounding.",
            bytes(whole.peak_vram())
        ));
    }
    if case.shape.micro_batch < batch {
        let (whole, part) = (case.with_part(batch), case.shape.micro_batch);
        let (place, needs) = match vram {
            Some(vram) if whole.peak_vram() > vram => ("VRAM", whole.peak_vram()),
            _ => ("RAM", whole.peak()),
        };
        refused.push(format!(
            "Sums over {batch} documents at once would take {} of {place}: they are added up over parts of {part} documents, with the same result to rounding.",
            bytes(needs)
        ));
    }
    let mut model = model.clone().reading(reading);
    if case.shape.l_in_file && settings.table_place == TablePlace::Memory {
        refused.push(format!(
            "The table behind L and its moments would not fit into the budget beside the rest: they live in mapped files in the present folder, {} in all, with the same result. A row-wise optimizer (Optimizer::RowwiseAdamW) is the quicker one there.",
            bytes(20 * case.shape.topics * case.shape.documents)
        ));
        model = model.table_place(TablePlace::File(PathBuf::from(".")));
    }
    let mut items = case.ram();
    if card {
        items.extend(case.vram());
    }
    Ok(Plan {
        model,
        counts: counts.clone(),
        device,
        shape: case.shape,
        placement: Placement {
            micro_batch: case.shape.micro_batch as usize,
            resident: case.resident && on_card,
            l_on_host: case.shape.l_on_host,
        },
        ram: Goal {
            budget: ram,
            predicted: case.peak(),
        },
        vram: card.then(|| Vram {
            goal: Goal {
                // Without the card's own view there is nothing to hold it against.
                budget: vram.unwrap_or(u64::MAX),
                predicted: case.peak_vram(),
            },
            simulated: !on_card,
        }),
        items,
        refused,
        taken,
    })
}

/// Whether the fit streams its counts: as it was told, or because they lie in a file that is larger than the budget or
/// half of the free memory. In place, the pages of such a file would push each other out.
pub(super) fn streams(model: &TopicModel, counts: &Counts) -> Result<bool> {
    let settings = model.settings();
    Ok(match settings.reading {
        Reading::Auto if !counts.is_stored() => false,
        Reading::Auto => {
            let room = match model.budget.gives_ram() {
                true => model.budget.ram_bytes(0)?,
                false => u64::MAX,
            };
            counts.bytes_stored() > room.min(free_memory() / 2)
        }
        given => given
            .resolve(counts, settings.batch_size)?
            .shuffle()
            .is_some(),
    })
}
