//! Solvers other than gradient steps: expectation-maximisation and coordinate descent.
//!
//! Rates of a document sum to one, so minimising the Poisson loss is maximising the sum of x log (L F), and only nonzero
//! counts matter. Both factors are kept as a Poisson factorisation on the way, L in tokens and F in probabilities: its
//! best L and F are those of the multinomial model up to the scale of the rows (Carbonetto et al. 2021, arXiv
//! 2105.13440), and no constraint ties the topics of a row together.

mod descent;
mod explore;
mod fold_in;
mod kernel;
mod nonzeros;
mod on_card;
mod one_pass;
mod statistics;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;

use burn_cuda::{Cuda, CudaDevice};
use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::device::Resolved;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::model::Settings;
use crate::plan::{Item, Placement, Shape, When};

pub(crate) use fold_in::{fold_in, fold_in_bytes};
pub(crate) use one_pass::documents_in_block;

use descent::Descent;
use explore::Explorer;
use on_card::OnCard;
use one_pass::OnePass;

/// How a model is fitted.
///
/// | Solver | One iteration | Memory besides L, F and the counts |
/// |---|---|---|
/// | `AdamW` | gradient steps over batches of documents | gradients and moments |
/// | `Em` | one pass over the documents | 12 bytes x terms x k |
/// | `CoordinateDescent` | one pass by documents, one by terms | 8 bytes a nonzero count (the counts by term), 12 bytes x k x (documents + terms) |
/// | `CoordinateDescent`, streamed | one pass over the documents | 12 bytes x terms x k |
///
/// Iterations of all but `AdamW` cost O(nonzeros x k), and `epochs` is the most there are of them: they end when
/// they no longer gain. Learning rates and batch size do not touch them. On a CUDA card `Em` has its sums made there; the
/// others run on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Solver {
    /// Stochastic gradient steps with AdamW, as in tinytopics: the default.
    #[default]
    AdamW,
    /// Expectation-maximisation (Hofmann 1999): multiplicative updates that never lower the likelihood.
    Em,
    /// Newton-like steps along one coordinate at a time (Lin and Boutros 2018), with extrapolation (Ang and Gillis
    /// 2019), as in fastTopics (Carbonetto et al. 2021). Streamed counts are read once an iteration: rows of L by
    /// coordinate descent, F by expectation-maximisation.
    CoordinateDescent,
    /// The one that reaches the best likelihood, by measurement: coordinate descent that leaves local maxima again, by
    /// adding topics where documents are explained worst and merging those that are most alike (splits and merges, Ueda
    /// et al. 2000), and by further random starts, until eight starts in a row have brought nothing. Counts in a file
    /// that is streamed: as `CoordinateDescent`.
    Auto,
}

impl Solver {
    /// Whether the fit is made by this module.
    pub(crate) fn iterates(self) -> bool {
        self != Self::AdamW
    }

    /// Whether a card can make the fit, or its sums.
    pub(crate) fn runs_on_cards(self) -> bool {
        matches!(self, Self::AdamW | Self::Em)
    }

    /// Shows the solver below a cell.
    pub fn evcxr_display(&self) {
        let name = self.to_string();
        crate::display::show(&name, &name);
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AdamW => "AdamW",
            Self::Em => "expectation-maximisation",
            Self::CoordinateDescent => "coordinate descent",
            Self::Auto => "automatic (coordinate descent with splits and merges)",
        })
    }
}

/// What one iteration came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gain {
    /// The sum of x log rate, of a pair of tables that the iteration went through.
    pub(crate) score: f64,
    /// How far the point is from a stationary one (the conditions of Karush, Kuhn and Tucker): the share of all tokens
    /// that a step of expectation-maximisation would give to another topic.
    pub(crate) residual: f64,
}

impl Gain {
    /// Whether nothing more is to be expected after the iteration before. Near an optimum the gain falls with the
    /// square of the distance, hence the root.
    pub(crate) fn converged(&self, before: f64, tolerance: f64) -> bool {
        tolerance > 0.0
            && (self.score - before).abs() <= tolerance * self.score.abs()
            && self.residual <= tolerance.sqrt()
    }
}

/// What a score by rates in tokens, which sum to the documents' lengths, has more than one by rates that sum to one.
fn entropy(lengths: &[f64]) -> f64 {
    let lengths = lengths.iter().filter(|length| **length > 0.0);
    lengths.map(|length| length * length.ln()).sum()
}

/// Something that improves L and F, one iteration at a time.
pub(crate) trait Iterate: Send {
    fn iterate(&mut self, counts: &Counts) -> Result<Gain>;

    /// L (documents x topics) and F (topics x terms) with rows that sum to one.
    fn topics(&self) -> Result<(Matrix, Matrix)>;
}

/// The solver's work on these counts, from positive tables whose rows need not sum to one. `placement`: what a
/// card keeps, and how much it gets at once.
pub(crate) fn begin(
    settings: &Settings,
    counts: &Counts,
    (device, placement): (Resolved, Placement),
    l: &Matrix,
    f: &Matrix,
) -> Result<Box<dyn Iterate>> {
    let reading = settings.reading;
    let streams = reading.shuffle().is_some();
    Ok(match (settings.solver, device) {
        (Solver::Em, Resolved::Cuda(card)) => {
            let device = CudaDevice::new(card);
            Box::new(OnCard::<Cuda>::new(
                device,
                counts,
                (reading, placement),
                l,
                f,
            )?)
        }
        (Solver::CoordinateDescent, _) if !streams => Box::new(Descent::new(counts, l, f)?),
        (Solver::Auto, _) if !streams => Box::new(Explorer::new(counts, l, f, settings.seed)?),
        (Solver::CoordinateDescent | Solver::Auto, _) => {
            Box::new(OnePass::by_descent(counts, reading, l, f)?)
        }
        (Solver::Em | Solver::AdamW, _) => Box::new(OnePass::by_em(counts, reading, l, f)?),
    })
}

/// What a solver takes on a card.
pub(crate) fn memory_on_card(solver: Solver, shape: &Shape, held: bool) -> Vec<Item> {
    match solver {
        Solver::Em => on_card::memory(shape, held),
        _ => Vec::new(),
    }
}

/// What a solver takes besides the counts. `on_card`: whether a card makes the fit, and whether it holds the counts.
pub(crate) fn memory(
    solver: Solver,
    shape: &Shape,
    streams: bool,
    on_card: Option<bool>,
) -> Vec<Item> {
    let both = 4 * shape.topics * (shape.documents + shape.terms);
    let mut items = match solver {
        Solver::Em if let Some(held) = on_card => on_card::beside(shape, held),
        Solver::CoordinateDescent if !streams => descent::memory(shape),
        Solver::Auto if !streams => explore::memory(shape),
        _ => one_pass::memory(shape),
    };
    // Dropped once the solver has its own.
    items.push(Item::ram(
        "the tables that it starts from",
        When::Starting,
        both,
    ));
    items.push(Item::ram("L and F, rows summing to one", When::End, both));
    items
}

/// What a copy of the state takes: L and F, without moments.
pub(crate) fn state(shape: &Shape) -> Item {
    let both = 4 * shape.topics * (shape.documents + shape.terms);
    Item::ram("a copy of L and F", When::Checkpoint, both)
}
