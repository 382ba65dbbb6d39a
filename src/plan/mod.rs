//! Plans: how a fit will use memory, item by item, decided before anything is allocated.

mod candidate;
mod cluster;
#[cfg(any(feature = "polars", feature = "charts"))]
mod consumers;
mod display;
#[cfg_attr(not(feature = "cuda"), path = "no_gpu.rs")]
mod gpu;
mod limits;
mod notes;
mod refusal;
mod run;
mod search;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::config::{Recipe, Resolved};
use crate::cost::{Item, Limit, Placement, Shape};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::fit::CountNames;

use candidate::Before;
use cluster::OnCluster;

/// How a fit will use memory: which data are in which memory, the size of the micro-batches, and the predicted peaks
/// with their budgets. Made by [`TopicModel::plan`](crate::TopicModel::plan) and executed by [`Plan::fit`].
///
/// Every size comes from a formula next to the code that allocates it. The memory of the process before the fit
/// (kernel, libraries, values of other cells) is measured when the plan is made.
///
/// The three things that people do with it:
///
/// ```
/// # let (counts, _) = topicbook::example_fit()?;
/// use topicbook::{Budget, TopicModel};
/// let model = TopicModel::new(3).epochs(5).quiet();
/// // 1. See before a fit whether it fits, and where everything will be.
/// let plan = model.budget(Budget::new().ram("2 GiB")?).plan(&counts)?;
/// assert!(plan.peak_ram() < 2 << 30);
/// // 2. The same for counts that do not exist yet: a million documents of 0.5% nonzero counts.
/// let later = model.estimate(1_000_000, 20_000).density(0.005).plan()?;
/// println!("{later}");
/// // 3. Run it, as it was planned.
/// let fit = plan.fit()?;
/// assert_eq!(fit.epochs().len(), 5);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a plan does nothing before `fit` or `spawn` is called"]
#[doc(alias = "memory_usage")]
pub struct Plan {
    recipe: Recipe,
    counts: Counts,
    /// What the counts came with, for the fit.
    names: CountNames,
    device: Resolved,
    shape: Shape,
    placement: Placement,
    items: Vec<Item>,
    ram: Limit,
    vram: Option<Limit>,
    /// Why the fit runs on the CPU although a GPU was found: the GPU has failed its self-check.
    fallback: Option<String>,
    /// Sentences about placements that do not fit the limits.
    notes: Vec<String>,
    /// Anonymous memory of the process before the fit, in bytes.
    baseline: u64,
    /// Bytes of a read buffer of the pass that checks the counts.
    check_buffer: u64,
    /// What the ranks need, on a cluster.
    cluster: Option<OnCluster>,
    /// Listed among the values that the process holds, as long as a copy of the plan exists.
    _held: Arc<()>,
}

impl Plan {
    /// Plans a fit that knows what the counts came with. Names that its tables could not show are refused now.
    pub(crate) fn named(
        recipe: &Recipe,
        (counts, names): (&Counts, &CountNames),
        resumed: bool,
    ) -> Result<Self> {
        let mut recipe = recipe.clone();
        recipe.terms = recipe.terms.or_else(|| names.terms.clone());
        names.check(recipe.settings.topics)?;
        let plan = Self::new(&recipe, counts, resumed)?;
        Ok(Self {
            names: names.clone(),
            ..plan
        })
    }

    /// Plans a new fit, or a resumed one whose state is in memory already, or whose ranks run. The self-check of a GPU comes before the search:
    /// its result decides the device, and the memory that it leaves in use belongs to the process before the fit.
    pub(crate) fn new(recipe: &Recipe, counts: &Counts, resumed: bool) -> Result<Self> {
        if let Some(cluster) = &recipe.cluster {
            recipe.check_settings(counts)?;
            let recipe = cluster::for_ranks(recipe, cluster, counts)?;
            let device = recipe.check(counts)?;
            let before = Before::measure(counts, resumed);
            let plan = search::search(&recipe, counts, device, before)?;
            return plan.on_cluster(cluster, resumed);
        }
        let device = recipe.check(counts)?;
        let (device, fallback) = gpu::after_self_check(device, recipe.settings.device)?;
        let before = Before::measure(counts, resumed);
        let plan = search::search(recipe, counts, device, before)?;
        Ok(Self { fallback, ..plan })
    }

    /// Plans a fit to counts that do not exist yet. A budget of VRAM describes a GPU, which this machine need not have. No
    /// self-check runs, because no fit follows.
    pub(crate) fn estimate(recipe: &Recipe, counts: &Counts) -> Result<Self> {
        recipe.check_settings(counts)?;
        if recipe.cluster.is_some() {
            return Err(Error::setting("an estimate for a cluster")
                .fix("plan with counts: their nonzero counts decide how many ranks they occupy"));
        }
        let described = recipe.budget.vram_bytes().is_some();
        let device = match described && recipe.settings.solver.runs_on_gpu() {
            true => Resolved::Cuda(0),
            false => recipe.settings.resolve_device()?,
        };
        recipe.check_on(device)?;
        search::search(recipe, counts, device, Before::measure(counts, false))
    }

    /// The predicted peak of the process's anonymous memory, in bytes.
    ///
    /// ```
    /// # use topicbook::{Budget, Device, Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let plan = TopicModel::new(3).budget(Budget::new().ram("2 GiB")?).plan(&counts)?;
    /// assert!((1..2 << 30).contains(&plan.peak_ram()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn peak_ram(&self) -> u64 {
        self.ram.predicted
    }

    /// Budget and predicted peak of RAM.
    pub(crate) fn ram(&self) -> Limit {
        self.ram
    }

    /// Anonymous memory of the process before the fit, in bytes.
    pub(crate) fn baseline(&self) -> u64 {
        self.baseline
    }

    /// The predicted peak of VRAM, in bytes; `None` without a GPU and without a VRAM budget.
    ///
    /// Dense counts are uploaded in 1, 2 or 4 bytes each, whatever the largest count needs. Counts that have not been checked
    /// yet ([`Counts::summary`](crate::Counts::summary), or a fit) are planned in the bytes of their dtype, at most 4: their
    /// fit may need less.
    ///
    /// ```
    /// # use topicbook::{Budget, Device, Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).device(Device::Cpu);
    /// assert_eq!(model.plan(&counts)?.peak_vram(), None);
    /// let budget = Budget::new().vram("8 GiB")?; // stands for a GPU
    /// assert!(model.budget(budget).plan(&counts)?.peak_vram() > Some(0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn peak_vram(&self) -> Option<u64> {
        self.vram.map(|vram| vram.predicted)
    }

    /// Documents per micro-batch: the batch size, or less if a whole batch does not fit. The gradients of a batch are
    /// accumulated over its micro-batches.
    ///
    /// ```
    /// # use topicbook::{Budget, Device, Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// assert_eq!(TopicModel::new(3).batch_size(32).plan(&counts)?.micro_batch(), 32);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "gradient_accumulation")]
    pub fn micro_batch(&self) -> usize {
        self.placement.micro_batch
    }
}
