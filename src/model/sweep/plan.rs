//! The plan of a sweep.

#[cfg(feature = "polars")]
use polars::prelude::Column;

use crate::cost::Limit;
use crate::counts::Counts;
#[cfg(feature = "polars")]
use crate::data::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::fit::{CountNames, evaluation_bytes, result_bytes};
use crate::model::TopicModel;
use crate::plan::Plan;
use crate::text::{bytes, count};

use super::Sweep;

/// The part of the documents that is fitted where none are held out by name.
const TRAINED: f64 = 0.8;

/// How a sweep will use memory, made by [`Sweep::plan`] and executed by [`SweepPlan::fit`]. It holds the training and the
/// held-out documents.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
/// let plan = TopicModel::sweep([2, 4]).seeds(2).quiet().plan(&counts)?;
/// assert_eq!(plan.fit()?.runs().len(), 4);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a plan does nothing before `fit` is called"]
pub struct SweepPlan {
    pub(crate) sweep: Sweep,
    /// All documents, of which a consensus has the topics, and what they came with.
    pub(super) counts: Counts,
    pub(super) names: CountNames,
    pub(crate) train: Counts,
    pub(crate) held_out: Counts,
    /// The plan of each number of topics, and the predicted peak of RAM while it is fitted, with the fits that are kept.
    pub(crate) fits: Vec<(Plan, u64)>,
}

impl Sweep {
    /// The model of one of the fits, without progress of its own.
    pub(super) fn model_of(&self, topics: usize, seed: u64) -> TopicModel {
        self.model.with(|recipe| {
            recipe.settings.topics = topics;
            recipe.settings.seed = seed;
            recipe.quiet = true;
        })
    }

    /// The seeds of the fits of each number of topics.
    pub(super) fn each_seed(&self) -> impl Iterator<Item = u64> {
        let first = self.model.recipe.settings.seed;
        (0..self.seeds as u64).map(move |seed| first.wrapping_add(seed))
    }

    fn check(&self, counts: &Counts) -> Result<()> {
        if self.topics.is_empty() {
            return Err(Error::setting("a sweep over no number of topics")
                .fix("pass at least one, as in TopicModel::sweep([5, 10, 20])"));
        }
        if self.seeds == 0 {
            return Err(
                Error::setting("a sweep of 0 seeds").fix("it must be at least 1; 3 show more")
            );
        }
        if self.model.recipe.checkpoint.is_some() {
            return Err(Error::setting(
                "the fits of a sweep cannot share the checkpoint of their model",
            )
            .fix(
                "leave TopicModel::checkpoint out; Sweep::checkpoint names a folder for all fits",
            ));
        }
        if self.model.recipe.cluster.is_some() && self.held_out.is_none() {
            return Err(Error::setting(
                "a sweep on a cluster splits counts in memory, and ranks read theirs from a file",
            )
            .fix(
                "write what Counts::split returns, and name the smaller part: \
                 TopicModel::sweep([5, 10]).held_out(&held_out).fit(train.write_npz(\"train.npz\")?)",
            ));
        }
        match &self.held_out {
            Some(held_out) if held_out.terms() != counts.terms() => Err(Error::shape(format!(
                "held-out documents over {} terms, for counts of {} terms",
                count(held_out.terms() as u64),
                count(counts.terms() as u64)
            ))
            .fix("hold out documents over the same terms, in the same order")),
            _ => Ok(()),
        }
    }
}

impl SweepPlan {
    pub(super) fn new(sweep: &Sweep, counts: Counts, names: CountNames) -> Result<Self> {
        sweep.check(&counts)?;
        let (train, held_out) = match &sweep.held_out {
            Some(held_out) => (counts.clone(), held_out.clone()),
            None => {
                let seed = sweep.model.recipe.settings.seed;
                counts.split(TRAINED, seed).map_err(|error| match error.kind() {
                    ErrorKind::Space => error.fix(
                        "hold documents out yourself: Sweep::held_out(&counts_in_a_file) copies nothing",
                    ),
                    _ => error.fix("pass more documents, or hold documents out yourself: Sweep::held_out"),
                })?
            }
        };
        let mut fits = Vec::new();
        let mut kept = 0u64;
        let (documents, terms) = (train.documents() as u64, train.terms() as u64);
        for &topics in &sweep.topics {
            let plan = sweep.model_of(topics, 0).plan(&train)?;
            let of_rows = |rows: u64| (4 * topics as u64).saturating_mul(rows);
            let (seeds, l_bytes) = (sweep.seeds as u64, of_rows(documents));
            let runs = seeds * (fits.len() as u64 + 1);
            let results = result_bytes(&held_out).saturating_mul(runs);
            // While the last seed is fitted, F of all others is kept, and L of the best of them.
            let others = of_rows(terms).saturating_mul(seeds - 1);
            let others = others.saturating_add(l_bytes * (seeds - 1).min(1));
            let beside = kept.saturating_add(others).saturating_add(results);
            let judged = plan
                .baseline()
                .saturating_add(of_rows(documents + terms))
                .saturating_add(evaluation_bytes(&held_out, topics));
            let peak = plan.peak_ram().max(judged).saturating_add(beside);
            let Limit { budget, .. } = plan.ram();
            if peak > budget {
                return Err(refused(topics, peak, budget, beside));
            }
            let all_f = of_rows(terms).saturating_mul(seeds);
            kept = kept.saturating_add(all_f).saturating_add(l_bytes);
            fits.push((plan, peak));
        }
        Ok(Self {
            sweep: sweep.clone(),
            counts,
            names,
            train,
            held_out,
            fits,
        })
    }

    /// The predicted peak of the process's anonymous memory in bytes, with the fits that are kept.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let peak = |seeds| TopicModel::sweep([2, 40]).seeds(seeds).plan(&counts).map(|plan| plan.peak_ram());
    /// assert!(peak(3)? > 0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn peak_ram(&self) -> u64 {
        self.fits.iter().map(|fit| fit.1).max().unwrap_or(0)
    }

    /// The predicted peak of VRAM in bytes; `None` without a GPU and without a VRAM budget.
    ///
    /// ```
    /// # use topicbook::{Device, Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// assert_eq!(TopicModel::sweep([2, 4]).plan(&counts)?.peak_vram(), None); // coordinate descent runs on the CPU
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn peak_vram(&self) -> Option<u64> {
        self.fits.iter().filter_map(|fit| fit.0.peak_vram()).max()
    }

    /// Table with one row for each number of topics: `topics`, `fits` (one for each seed), and the predicted peaks `ram` and
    /// `vram` in bytes while they are fitted.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let table = TopicModel::sweep([2, 4]).plan(&counts)?.table();
    /// assert_eq!(table.shape(), (2, 4));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn table(&self) -> Table {
        let topics: Vec<u64> = self
            .sweep
            .topics
            .iter()
            .map(|&topics| topics as u64)
            .collect();
        let seeds = vec![self.sweep.seeds as u64; topics.len()];
        let ram: Vec<u64> = self.fits.iter().map(|fit| fit.1).collect();
        let vram: Vec<Option<u64>> = self.fits.iter().map(|fit| fit.0.peak_vram()).collect();
        Table::from_columns(vec![
            Column::new("topics".into(), topics),
            Column::new("fits".into(), seeds),
            Column::new("ram".into(), ram),
            Column::new("vram".into(), vram),
        ])
    }
}

fn refused(topics: usize, peak: u64, budget: u64, beside: u64) -> Error {
    Error::space(format!(
            "the sweep needs {} of RAM while it fits {topics} topics, {} of it for the fits and scores so far, but the limit is {}",
            bytes(peak),
            bytes(beside),
            bytes(budget)
        ))
    .fix(format!(
        "give the model a budget of at least {} MiB, or sweep over fewer topics or seeds",
        count(peak.div_ceil(1 << 20))
    ))
}
