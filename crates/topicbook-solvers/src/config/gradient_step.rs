//! How gradient steps compute the loss of a batch and its gradients.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a gradient step computes the loss of its batch and the gradients: what of the forward pass stays in memory for the
/// backward pass.
///
/// All four take the same steps from the same seed, and their losses agree to rounding; they differ in memory and time.
/// The largest thing that automatic differentiation keeps is the batch's table of rates, batch x terms, which L F fills
/// although most counts are zero. It is what attention's table of N x N is in a transformer.
///
/// | Step | Forward and backward | Tables of batch x terms at the peak, the batch's counts among them |
/// |---|---|---|
/// | [`Fused`](Self::Fused) | passes over the nonzero counts that give the loss and both gradients at once | none |
/// | [`Autodiff`](Self::Autodiff) | Burn's tensors and its automatic differentiation; every activation is kept | 5 |
/// | [`Checkpointing`](Self::Checkpointing) | the same, but Burn keeps only what matrix products gave, and computes the rest again: in a model of one layer that saves the softmax of F, and nothing of the batch | 5 |
/// | [`CustomBackward`](Self::CustomBackward) | Burn's tensors and AdamW; the loss is one operation, whose backward multiplies gradients that the forward has computed by the fused passes | none |
///
/// The last three take Burn's AdamW, which updates every row of L and of F at every step, so [`Optimizer::AdamW`] is the only
/// rule they have, and L is in memory. On a GPU `Fused` and `CustomBackward` are the same step; `Autodiff` has 4 tables
/// there and `Checkpointing` 5, each with a mask of a byte for each rate.
///
/// ```
/// use topicbook::{GradientStep, Solver, TopicModel};
/// # let (counts, _) = topicbook::example_fit()?;
/// let model = TopicModel::new(3).epochs(3).quiet();
/// let fused = model.fit(&counts)?;
/// let kept = model.solver(Solver::mini_batch().step(GradientStep::Autodiff)).fit(&counts)?;
/// for (fused, kept) in fused.epochs().iter().zip(kept.epochs()) {
///     assert!((fused.loss / kept.loss - 1.0).abs() < 1e-4);
/// }
/// # Ok::<(), topicbook::Error>(())
/// ```
///
/// [`Optimizer::AdamW`]: crate::Optimizer::AdamW
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum GradientStep {
    /// Passes over the counts without a table of rates; the default.
    #[default]
    Fused,
    /// Burn's automatic differentiation of softmax, matrix product, logarithm and sum, with every activation kept.
    Autodiff,
    /// The same with Burn's balanced checkpointing: activations that cost little are computed again in the backward pass.
    #[doc(alias("gradient_checkpointing", "recomputation"))]
    Checkpointing,
    /// One operation of Burn's graph with a backward of its own.
    CustomBackward,
}

impl GradientStep {
    /// Whether Burn's tensors and its AdamW take the step.
    #[doc(hidden)]
    pub fn is_on_tensors(self) -> bool {
        self != Self::Fused
    }

    /// Whether the rates of a batch are a tensor.
    #[doc(hidden)]
    pub fn has_rates(self) -> bool {
        matches!(self, Self::Autodiff | Self::Checkpointing)
    }
}

impl fmt::Display for GradientStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fused => "fused passes",
            Self::Autodiff => "automatic differentiation, every activation kept",
            Self::Checkpointing => "automatic differentiation, balanced checkpointing",
            Self::CustomBackward => "one operation with its own backward",
        })
    }
}
