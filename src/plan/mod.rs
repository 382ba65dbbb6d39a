//! What a fit will take, item by item, before it takes it.

mod choose;
mod item;
mod refuse;
mod run;
mod show;

use std::borrow::Borrow;

pub(crate) use choose::Shape;
#[cfg(test)]
pub(crate) use item::peak;
pub(crate) use item::{Item, Lives, When};

use crate::budget::Budget;
use crate::counts::Counts;
use crate::device::Resolved;
use crate::error::Result;
use crate::memory::{Goal, process_memory, release_freed};
use crate::model::{Settings, TopicModel};

/// How a fit will use memory: what lives where, how large batches are, and the peaks that follow, held against the
/// budget. Made by [`TopicModel::plan`]; [`Plan::fit`] carries it out.
///
/// Every figure comes from a formula that stands beside the code that allocates; the process itself (kernel, libraries,
/// what other cells hold) is measured when the plan is made.
///
/// ```
/// use topicbook::{Budget, Synthetic, TopicModel};
/// let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?;
/// let model = TopicModel::new(3).epochs(5).quiet().budget(Budget::new().ram("2 GiB"));
/// let plan = model.plan(corpus.counts())?;
/// assert!(plan.peak_ram() < 2 << 30);
/// let fit = plan.fit()?;
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
pub struct Plan {
    model: TopicModel,
    counts: Counts,
    device: Resolved,
    shape: Shape,
    placement: Placement,
    items: Vec<Item>,
    ram: Goal,
    vram: Option<Vram>,
    /// What was considered and does not fit.
    refused: Vec<String>,
    /// Bytes that are taken already: the process as it is.
    taken: u64,
}

/// What a plan decides for the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Documents whose gradients are taken at once; the batch's gradients are their sum.
    pub(crate) micro_batch: usize,
    /// Whether all counts lie on the card.
    pub(crate) resident: bool,
    /// Whether the table behind L stays beside the card, which gets the rows of a batch.
    pub(crate) l_on_host: bool,
}

impl Placement {
    /// Whole batches, sent one by one.
    pub(crate) fn whole(settings: &Settings) -> Self {
        Self {
            micro_batch: settings.batch_size,
            resident: false,
            l_on_host: false,
        }
    }
}

/// The card's side of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Vram {
    goal: Goal,
    /// A budget that stands for a card on a machine without one.
    simulated: bool,
}

impl TopicModel {
    /// How much memory a fit may take; without it, what is free less a margin (see [`Budget`]).
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// What a fit to these counts would take, and how it would go about it: every item with its place and bytes, the
    /// peaks against the budget. The sizes of a stream, and those of a solver other than AdamW, depend on how many counts
    /// are zero: the pass that checks all counts comes first then, and is not repeated. Otherwise no counts are read.
    ///
    /// # Errors
    /// When a setting is out of its range, the counts are too small for the topics, the device cannot be used, or no way of
    /// fitting keeps within the budget: then the message names the smallest changes that would.
    pub fn plan(&self, counts: impl Borrow<Counts>) -> Result<Plan> {
        self.plan_from(counts.borrow(), false)
    }

    /// The same for a new fit, or for one whose state is in memory already.
    pub(crate) fn plan_from(&self, counts: &Counts, resumed: bool) -> Result<Plan> {
        let device = self.check(counts)?;
        let streams = choose::streams(self, counts)?;
        if streams || self.settings().solver.iterates() {
            self.check_counts(counts, streams)?;
        }
        release_freed();
        let taken = process_memory().anonymous;
        choose::choose(self, counts, device, resumed, taken)
    }
}

impl Plan {
    /// The predicted peak of the process's anonymous memory, in bytes.
    pub fn peak_ram(&self) -> u64 {
        self.ram.predicted
    }

    /// The predicted peak of the card's memory, in bytes; `None` without a card and without a budget for one.
    pub fn peak_vram(&self) -> Option<u64> {
        self.vram.map(|vram| vram.goal.predicted)
    }

    /// Documents whose gradients are taken at once: the batch size, or less where the batch does not fit. The gradients of
    /// the parts add up to those of the batch.
    pub fn micro_batch(&self) -> usize {
        self.placement.micro_batch
    }
}
