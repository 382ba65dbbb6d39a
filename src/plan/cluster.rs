//! The plan of a fit on a cluster: what a rank holds, what the ranks exchange, and what they cannot fit.

use crate::batches::{Reading, SHARE_BLOCK, Shuffle};
use crate::cluster::{Files, RunFolder, check_file, check_shards};
use crate::config::{
    Cluster, Device, GradientStep, MiniBatch, Precision, Recipe, Solver, StateValues, TableStorage,
};
use crate::cost::{Consumer, Item, Memory, Phase, peak};
use crate::counts::{Counts, READ_BYTES};
use crate::error::{Error, Result};
use crate::solvers::{
    DocumentShards, documents_in_block, memory, memory_around_iterations, sums_bytes,
};
use crate::text::{Card, bytes, count};
use crate::training::RANK_PROCESS;

use super::Plan;

/// Minimum number of documents in a batch of gradient steps.
const LEAST_BATCH: usize = 1000;

/// What a plan says of its cluster.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OnCluster {
    ranks: usize,
    shards: usize,
    /// Peak of the largest rank.
    rank_bytes: u64,
    /// What all ranks send in an exchange, and how many there are in a pass.
    wire_bytes: u64,
    exchanges: u64,
    /// The files of the run.
    files_bytes: u64,
    /// Which files of the counts each rank opens, if there are several.
    files_of_ranks: Option<String>,
}

/// The recipe of a fit on a cluster, as its ranks run it: streamed, on the CPU.
///
/// # Errors
/// When the ranks cannot run the solver, or cannot read the counts.
pub(super) fn for_ranks(recipe: &Recipe, cluster: &Cluster, counts: &Counts) -> Result<Recipe> {
    cluster.check()?;
    let settings = &recipe.settings;
    match &settings.solver {
        Solver::Em(_) | Solver::CoordinateDescent(_) => {}
        Solver::MiniBatch(parameters) => check_steps(parameters, settings.topics, counts)?,
        other => {
            return Err(Error::setting(format!(
                "{other} on a cluster: its search compares fits that hold all counts in memory"
            ))
            .fix("use Solver::coordinate_descent() or Solver::em()"));
        }
    }
    if let Device::Cuda(_) = settings.device {
        return Err(Error::setting(format!("{} on a cluster", settings.device))
            .fix("use Device::Cpu: ranks compute on the CPUs of their machines"));
    }
    if recipe.checkpoint.is_some() {
        return Err(Error::setting("TopicModel::checkpoint with a cluster").fix(
            "leave it out: the ranks keep checkpoints of their own, and Cluster::retries resumes from them",
        ));
    }
    if settings.reading == Reading::InPlace {
        return Err(Error::setting("counts read in place, on a cluster")
            .fix("leave TopicModel::reading out: ranks stream their documents"));
    }
    check_file(counts)?;
    let mut recipe = recipe.clone();
    recipe.settings.device = Device::Cpu;
    recipe.settings.reading = match settings.solver.as_mini_batch() {
        Some(parameters) => Reading::Stream {
            block: SHARE_BLOCK,
            blocks: parameters.batch_size.div_ceil(SHARE_BLOCK),
        },
        None => Reading::Stream {
            block: documents_in_block(counts.terms()),
            blocks: 1,
        },
    };
    Ok(recipe)
}

/// The error for gradient steps that ranks cannot make, or that would exchange too much.
fn check_steps(parameters: &MiniBatch, topics: usize, counts: &Counts) -> Result<()> {
    let batch = parameters.batch_size.max(1);
    if batch < LEAST_BATCH {
        let steps = counts.documents().div_ceil(batch) as u64;
        let step = (8 + 4) * (counts.terms() * topics) as u64;
        return Err(Error::setting(format!(
            "gradient steps over batches of {} documents on a cluster: the ranks would exchange F's gradients at each of {} steps of an epoch, {} an epoch for each rank",
            count(batch as u64),
            count(steps),
            bytes(steps.saturating_mul(step))
        ))
        .fix(format!(
            "use batch_size({LEAST_BATCH}) or more, or Solver::em() or Solver::coordinate_descent(), which exchange sums once a pass"
        )));
    }
    let refused = [
        (
            parameters.table_storage != TableStorage::Memory,
            "MiniBatch::table_storage",
            "each rank holds its rows of L in memory",
        ),
        (
            parameters.table_precision != Precision::F32,
            "MiniBatch::table_precision",
            "each rank holds its rows of L in f32",
        ),
        (
            parameters.step != GradientStep::Fused,
            "MiniBatch::step",
            "ranks compute on CPUs, without tensors",
        ),
        (
            parameters.micro_batch.is_some(),
            "MiniBatch::micro_batch",
            "a rank reads its share of a batch in blocks of documents",
        ),
        (
            parameters.clips(),
            "MiniBatch::clip_grad_norm",
            "no rank has the norm of a batch's gradient before it has updated its rows of L",
        ),
    ];
    match refused.into_iter().find(|(is_set, ..)| *is_set) {
        Some((_, setting, why)) => {
            Err(Error::setting(format!("{setting} with a cluster"))
                .fix(format!("leave it out: {why}")))
        }
        None => Ok(()),
    }
}

impl Plan {
    /// Adds the cluster to the plan of the notebook's process, whose own part is the start and the end: L and F. Ranks that run have
    /// their memory already.
    pub(super) fn on_cluster(mut self, cluster: &Cluster, running: bool) -> Result<Self> {
        self.recipe
            .check_counts(&self.counts, true, self.check_buffer.max(READ_BYTES))?;
        let ranks = cluster.ranks()?;
        let (documents, terms) = self.counts.shape();
        let topics = self.shape.topics;
        let nonzeros = self.counts.summary()?.nonzeros();
        let solver = &self.recipe.settings.solver;
        let batch_size = solver.as_mini_batch().map(|batches| batches.batch_size);
        let shards = DocumentShards::of_fit(documents, terms, nonzeros, batch_size);
        check_shards(ranks, &shards, batch_size.is_some())?;
        let exchange = shards.exchange(ranks);
        let exchanges = batch_size.map_or(1, |batch| documents.div_ceil(batch)) as u64;
        let state = solver.state_values();
        let sums = sums_bytes(terms as u64, topics);
        let mut shape = self.shape;
        shape.documents = shards.most_documents(ranks) as u64;
        let items = memory(solver, &shape, true);
        let reading = Shuffle {
            block: documents_in_block(terms),
            blocks: 1,
        };
        let reading = reading.bytes(&self.counts, 1)?;
        let on_cluster = OnCluster {
            ranks,
            shards: shards.number(),
            rank_bytes: peak(&items, Memory::Ram).0
                + sums * exchange.most_tables.saturating_sub(shards.tables())
                + reading
                + RANK_PROCESS,
            wire_bytes: exchange.pieces * sums + (ranks as u64 - 1) * 4 * terms as u64 * topics,
            exchanges,
            files_bytes: RunFolder::bytes((documents, terms), topics as usize, state),
            files_of_ranks: files_of_ranks(&Files::of(&self.counts)?, &shards, ranks),
        };
        // Sums, multipliers and buffers belong to the ranks.
        self.items
            .retain(|item| !matches!(item.phase, Phase::Steps | Phase::Reading | Phase::Pass));
        self.items.retain(|item| item.phase != Phase::Fit);
        let mut around = memory_around_iterations(&self.shape).to_vec();
        if state != StateValues::default() {
            around.push(Item::ram(
                Consumer::OptimizerStates,
                "zeros of the optimizer's state, and a copy of F",
                Phase::Starting,
                4 * topics * (documents + 2 * terms) as u64,
            ));
        }
        for item in around {
            if !self.items.contains(&item) {
                self.items.push(item);
            }
        }
        self.ram.predicted = peak(&self.items, Memory::Ram).0;
        let all = on_cluster.rank_bytes.saturating_mul(ranks as u64);
        if !running
            && cluster.is_local()
            && self.ram.predicted.saturating_add(all) > self.ram.budget
        {
            return Err(Error::space(format!(
                "{ranks} ranks of {} each and {} in this process exceed the budget of {}",
                bytes(on_cluster.rank_bytes),
                bytes(self.ram.predicted),
                bytes(self.ram.budget)
            ))
            .fix("use fewer ranks or topics, or a cluster of several machines"));
        }
        self.cluster = Some(on_cluster);
        Ok(self)
    }
}

impl OnCluster {
    pub(super) fn rank_bytes(&self) -> u64 {
        self.rank_bytes
    }

    /// Adds what the ranks need to the plan's card.
    pub(super) fn show(&self, mut card: Card) -> Card {
        if let Some(files) = &self.files_of_ranks {
            card = card.row("files of the ranks", files);
        }
        card.row(
            "ranks",
            format!("{} for {} shards of the documents", self.ranks, self.shards),
        )
        .row(
            "memory of a rank",
            format!("{} in the largest", bytes(self.rank_bytes)),
        )
        .row(
            "exchange",
            match self.exchanges {
                1 => format!("{} a pass, over all ranks", bytes(self.wire_bytes)),
                steps => format!(
                    "{} at {} steps of an epoch, over all ranks",
                    bytes(self.wire_bytes * steps),
                    count(steps)
                ),
            },
        )
        .row("run folder", bytes(self.files_bytes))
    }
}

/// The first and the last file that each rank opens; with many ranks, only of the first ones.
fn files_of_ranks(files: &Files, shards: &DocumentShards, ranks: usize) -> Option<String> {
    const SHOWN: usize = 8;
    if files.number() < 2 {
        return None;
    }
    let of_rank = |rank| {
        let documents = shards.documents(shards.of_rank(rank, ranks));
        format!("{rank}: {}", files.range_text(files.with(&documents)))
    };
    let mut parts: Vec<String> = (0..ranks.min(SHOWN)).map(of_rank).collect();
    if ranks > SHOWN {
        parts.push("…".into());
    }
    Some(parts.join("; "))
}
