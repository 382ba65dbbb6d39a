//! Solvers other than gradient steps in one process: expectation-maximisation, coordinate descent, and the steps of a cluster.
//!
//! The rates of a document sum to one, so minimising the Poisson loss means maximising the sum of x log (L F), and only
//! nonzero counts matter. During the iterations L and F are the factors of a Poisson factorisation, L in tokens and F in
//! probabilities. Up to the scale of the rows, its optimum is the multinomial model's (Carbonetto et al. 2021, arXiv
//! 2105.13440), and no constraint couples the topics of a row.

mod ascent_memory;
mod coordinate_descent;
mod factor;
mod fold_in;
mod gather;
mod parts;
mod posterior;
mod row_update;
mod search;
mod sharded_steps;
mod shards;
mod state;
mod statistics;
mod streaming_em;
mod term_rates;
#[cfg(test)]
mod tests;
mod transpose;

pub use factor::{Factor, reciprocals};
pub use fold_in::FoldIn;
pub use fold_in::{fold_in, fold_in_bytes};
pub use parts::Parts;
pub use parts::TermLayouts;
pub use posterior::{Posterior, PosteriorScratch};
pub use sharded_steps::{ShardedSteps, StepsStart};
pub use shards::DocumentShards;
pub use shards::Tree;
pub use state::{Numbers, SavedState, SolverState, Start};
pub use streaming_em::{RankStart, StreamingEm};
pub use streaming_em::{documents_in_block, start_factors, sums_bytes};
pub use term_rates::{TermFit, TermRates};

use crate::config::{Resolved, Settings, Solver};
use crate::cost::{Consumer, Item, Phase, Shape};
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::system::softmax;

use coordinate_descent::Descent;
use factor::exponentials_of;
use search::Search;

/// Floor of a rate (an entry of L F) in the solvers, only to keep x / rate and log rate finite.
/// `Fit::score` and the loss of gradient steps use
/// [`SMALLEST_RATE`](crate::config::SMALLEST_RATE), 1e-10.
pub const RATE_FLOOR: f32 = 1e-30;

/// Result of one iteration.
#[derive(Debug, Clone, Copy)]
pub struct Iteration {
    /// The sum of x log rate at a point that the iteration passed through.
    pub score: f64,
    /// The residual of the KKT conditions: the fraction of all tokens that a step of expectation-maximisation would
    /// move to another topic.
    pub residual: f64,
}

impl Iteration {
    /// An estimate of an iteration's gain, from this gain and the previous one. An iteration that rejects an
    /// extrapolation gains nothing and the next one little, after which the gains are as before. The estimate therefore
    /// falls by half at most.
    fn gain(&self, previous_score: f64, previous_gain: f64) -> f64 {
        let gain = self.score - previous_score;
        match previous_gain.is_finite() {
            true => gain.max(0.5 * previous_gain),
            false => gain,
        }
    }

    /// Whether the solver has converged, given the score of the previous iteration. Near an optimum the gain in score
    /// falls with the square of the distance, hence the square root for the residual.
    pub fn converged(&self, previous_score: f64, tolerance: f64) -> bool {
        tolerance > 0.0
            && (self.score - previous_score).abs() <= tolerance * self.score.abs()
            && self.residual <= tolerance.sqrt()
    }
}

/// L (documents x topics) and F (topics x terms) with rows that sum to one, of their logits, F's as terms x topics.
pub fn topics_of_logits(l: Matrix, f: &Matrix) -> (Matrix, Matrix) {
    let (mut l, topics) = (Factor::from_table(l), f.columns());
    l.values.chunks_exact_mut(topics).for_each(softmax);
    let mut exponentials = Factor {
        topics,
        values: vec![0.0; f.values().len()],
    };
    exponentials_of(f.values(), topics, &mut exponentials);
    (l.proportions(), exponentials.probabilities())
}

/// L (documents x topics) and F (topics x terms) with rows that sum to one, of L in tokens and F in probabilities (terms x
/// topics).
pub fn topics_of(l: Matrix, f: Matrix) -> (Matrix, Matrix) {
    let (l, f) = (Factor::from_table(l), Factor::from_table(f));
    (l.proportions(), f.probabilities())
}

/// The sum of n log n over the documents' lengths n. The sum of x log rate is larger by this amount if the rates of a
/// document sum to its length than if they sum to one.
pub fn entropy(lengths: &[f64]) -> f64 {
    let lengths = lengths.iter().filter(|length| **length > 0.0);
    lengths.map(|length| length * length.ln()).sum()
}

/// A solver that improves L and F one iteration at a time.
pub trait Iterate: Send {
    /// Runs one iteration.
    fn iterate(&mut self, counts: &Counts) -> Result<Iteration>;

    /// The best L (documents x topics) and F (topics x terms) so far, with rows that sum to one.
    fn topics(&self) -> Result<(Matrix, Matrix)>;

    /// What the next iteration works on, for a solver with several stages.
    fn stage(&self) -> Option<String> {
        None
    }

    /// Everything that later iterations depend on, except the counts: a solver created from it continues with the same
    /// bits. On the CPU no table is copied.
    fn state(&self) -> Result<SolverState<'_>>;
}

/// Creates the solver that the settings name, for these counts, on the CPU.
pub fn create(settings: &Settings, counts: &Counts, start: Start) -> Result<Box<dyn Iterate>> {
    let streams = settings.reading.shuffle().is_some();
    Ok(match &settings.solver {
        Solver::Em(_) => Box::new(StreamingEm::by_em(counts, streams, start)?),
        Solver::CoordinateDescent(_) if !streams => Box::new(Descent::new(counts, start)?),
        Solver::Auto(_) if !streams => Box::new(Search::new(counts, start, settings.seed)?),
        Solver::CoordinateDescent(_) | Solver::Auto(_) => {
            Box::new(StreamingEm::by_descent(counts, streams, start)?)
        }
        Solver::MiniBatch(_) => {
            return Err(Error::setting(
                "gradient steps do not pass over all documents",
            ));
        }
    })
}

/// Whether the solver of these settings has [stages](Iterate::stage).
pub fn has_stages(settings: &Settings) -> bool {
    matches!(settings.solver, Solver::Auto(_)) && settings.reading.shuffle().is_none()
}

/// Memory of a solver on the CPU without the counts; for gradient steps, the memory of a rank.
pub fn memory(solver: &Solver, shape: &Shape, streams: bool) -> Vec<Item> {
    let shards = DocumentShards::of_fit(
        shape.documents as usize,
        shape.terms as usize,
        shape.documents * shape.nonzeros,
        solver.as_mini_batch().map(|batches| batches.batch_size),
    );
    match solver {
        Solver::CoordinateDescent(_) if !streams => ascent_memory::memory(shape),
        Solver::Auto(_) if !streams => search::memory(shape),
        Solver::Em(_) => streaming_em::memory(shape, &shards, false),
        Solver::MiniBatch(parameters) => sharded_steps::memory(shape, &shards, parameters),
        _ => streaming_em::memory(shape, &shards, true),
    }
}

/// Memory of every solver before and after its iterations.
pub fn memory_around_iterations(shape: &Shape) -> [Item; 2] {
    let both = 4 * shape.topics * (shape.documents + shape.terms);
    [
        // Dropped once the solver has made its own copies.
        Item::ram(
            Consumer::Parameters,
            "starting values of L and F",
            Phase::Starting,
            both,
        ),
        Item::ram(
            Consumer::Parameters,
            "L and F, normalised",
            Phase::End,
            both,
        ),
    ]
}

/// Bytes of the tables in a checkpoint: at most, where they change during the fit.
pub fn checkpoint_bytes(solver: &Solver, streams: bool, shape: (u64, u64, u64)) -> u64 {
    let (documents, terms, topics) = shape;
    let columns = match solver {
        Solver::CoordinateDescent(_) if !streams => coordinate_descent::saved_columns(topics),
        Solver::Auto(_) if !streams => search::saved_columns(topics),
        _ => topics,
    };
    4 * columns * (documents + terms)
}

/// Memory of a copy of the state for a checkpoint. The solvers on the CPU write their tables from where they are.
pub fn checkpoint_memory(device: Resolved, shape: &Shape) -> Option<Item> {
    let both = 4 * shape.topics * (shape.documents + shape.terms);
    matches!(device, Resolved::Cuda(_)).then(|| {
        Item::ram(
            Consumer::Parameters,
            "copy of L and F",
            Phase::Checkpoint,
            both,
        )
    })
}
