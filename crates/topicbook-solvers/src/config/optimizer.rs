//! The update rules of gradient steps.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a gradient step updates the logits of L and F.
///
/// With g the gradient of an entry x, r the learning rate and w the weight decay of the settings, and s the number of the
/// step:
///
/// | Optimizer | One step | State an entry |
/// |---|---|---|
/// | AdamW (Loshchilov and Hutter 2019) | m = 0.9 m + 0.1 g, v = 0.999 v + 0.001 g², x = (1 - r w) x - r m' / (√v' + 1e-8), with m' = m / (1 - 0.9^s), v' = v / (1 - 0.999^s) | m, v |
/// | row-wise AdamW, rows of L | v = 0.999^n v + 0.001 g², x = (1 - r w)^n x - r c g / (√v + 1e-8), with n batches an epoch and c as below | v |
/// | Adam (Kingma and Ba 2015) | AdamW's with g + w x in the place of g, and without (1 - r w) | m, v |
/// | Adamax (Kingma and Ba 2015) | m = 0.9 m + 0.1 g, u = max(0.999 u, \|g\| + 1e-8), x = x - r m' / u | m, u |
/// | Adadelta (Zeiler 2012) | v = 0.9 v + 0.1 g², d = √(u + 1e-6) / √(v + 1e-6) g, u = 0.9 u + 0.1 d², x = x - r d | v, u |
/// | RMSprop (Tieleman and Hinton 2012) | v = 0.99 v + 0.01 g², b = 0.9 b + g / (√v + 1e-8), x = x - r b | v, b |
/// | Adagrad (Duchi, Hazan and Singer 2011) | v = v + g², x = x - r g / (√v + 1e-8) | v |
/// | SGD with momentum (Polyak 1964) | b = 0.9 b + g, x = x - r b | b |
///
/// All but AdamW add the L2 penalty w x to g, as Burn and PyTorch do. A value of state is 4 bytes for each entry of L
/// (documents x k) and of F (k x terms), so Adagrad and SGD need 8 bytes an entry with the logits, row-wise AdamW 8 in L and 12
/// in F, the others 12.
///
/// *Dense*: every step updates all rows of L, also those whose gradient is zero, as the optimizers of Burn and PyTorch do.
/// *Row-wise*: a step updates the rows of L that are in its batch, and no others; s is then the epoch, which is how often a
/// row has been updated. F is updated as a whole at every step, by the same rule. A row-wise step costs the same for any
/// number of documents and reads nothing of the other rows, which suits an L of millions of rows, or one in a file.
///
/// Row-wise AdamW is dense AdamW without its waiting. A row has a gradient in one of n steps; dense AdamW spreads its effect
/// over the steps that follow, as m falls by 0.9 in each. The row-wise rule takes all of that effect at once: c is its sum, with
/// the bias corrections of these steps (less than 1 at first, and 1 after some thousand steps). It is the same sum where n is
/// above some 200; below, the next gradient comes while dense AdamW still spreads the last one.
///
/// Its quality is that of dense AdamW, at the same learning rates. The others end lower, at the best of several learning rates
/// (medians of five seeds, k = 10, batch 16; `benches/records/optimizers.md` has every rate tried,
/// and the scores in equal seconds):
///
/// | Optimizer | NIPS papers, 200 epochs | 500 tokens a document, 40 epochs | 100 tokens a document, 40 epochs | Learning rates |
/// |---|---:|---:|---:|---|
/// | AdamW | 0 | 0; 0.093 | 0; 0.428 | the defaults |
/// | row-wise AdamW | 0 | 0; 0.092 | 0; 0.428 | the defaults |
/// | row-wise Adam | 38,000 | 12,400; 0.240 | 5,500; 0.546 | twice the defaults |
/// | row-wise Adamax | 30,000 | 10,600; 0.226 | 3,900; 0.506 | 8 times, the largest tried |
/// | row-wise Adadelta | 105,800 | 31,300; 0.294 | 16,500; 0.429 | 40 times, the largest tried |
/// | row-wise RMSprop | 32,200 | 13,900; 0.239 | 5,200; 0.482 | a tenth; a fifth on the last |
/// | row-wise Adagrad | 9,300 | 4,800; 0.152 | 2,600; 0.432 | 32 times |
/// | row-wise SGD | 77,700 | 14,700; 0.184 | 9,800; 0.435 | a tenth; a half on the drawn counts |
///
/// The numbers say how far the score (the log-likelihood) is below that of dense AdamW, and in drawn counts (5,000 documents, 1,000
/// terms) how far topics are from the true ones: the mean total variation distance, from 0 to 1. A step takes about the same
/// seconds with all of them.
///
/// ```
/// use topicbook::{Optimizer, Solver, TopicModel};
/// # let (counts, _) = topicbook::example_fit()?;
/// let rowwise = Solver::mini_batch().optimizer(Optimizer::RowwiseAdamW);
/// let fit = TopicModel::new(3).solver(rowwise).epochs(5).quiet().fit(&counts)?;
/// let epochs = fit.epochs();
/// assert!(epochs[4].loss < epochs[0].loss);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Optimizer {
    /// Dense AdamW, as in tinytopics; the default.
    #[default]
    AdamW,
    /// Row-wise AdamW.
    RowwiseAdamW,
    /// Row-wise Adam.
    RowwiseAdam,
    /// Row-wise Adamax.
    RowwiseAdamax,
    /// Row-wise Adadelta. Its learning rate is a factor of the step that it finds itself, so it needs a far larger one than
    /// the others.
    RowwiseAdadelta,
    /// Row-wise RMSprop.
    RowwiseRmsProp,
    /// Row-wise Adagrad.
    RowwiseAdagrad,
    /// Row-wise SGD with momentum. Gradients are in tokens, so it needs a far smaller learning rate than the others.
    RowwiseSgd,
}

/// Values of state that an optimizer keeps for an entry of each table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StateValues {
    pub l: usize,
    pub f: usize,
}

impl Optimizer {
    /// Whether every step moves all rows of L, and not only those of its batch.
    #[doc(hidden)]
    pub fn moves_all_rows(self) -> bool {
        self == Self::AdamW
    }

    /// Values of state that it keeps for an entry of L and of F, as the table above lists them.
    #[doc(hidden)]
    pub fn state_values(self) -> StateValues {
        let (l, f) = match self {
            Self::AdamW
            | Self::RowwiseAdam
            | Self::RowwiseAdamax
            | Self::RowwiseAdadelta
            | Self::RowwiseRmsProp => (2, 2),
            Self::RowwiseAdamW => (1, 2),
            Self::RowwiseAdagrad | Self::RowwiseSgd => (1, 1),
        };
        StateValues { l, f }
    }

    /// Whether it can update F on a GPU.
    #[doc(hidden)]
    pub fn runs_on_gpu(self) -> bool {
        matches!(self, Self::AdamW | Self::RowwiseAdamW)
    }
}

impl fmt::Display for Optimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AdamW => "AdamW",
            Self::RowwiseAdamW => "AdamW, row-wise in L",
            Self::RowwiseAdam => "Adam, row-wise in L",
            Self::RowwiseAdamax => "Adamax, row-wise in L",
            Self::RowwiseAdadelta => "Adadelta, row-wise in L",
            Self::RowwiseRmsProp => "RMSprop, row-wise in L",
            Self::RowwiseAdagrad => "Adagrad, row-wise in L",
            Self::RowwiseSgd => "SGD with momentum, row-wise in L",
        })
    }
}
