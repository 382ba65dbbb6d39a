//! What a fit reports after each epoch.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One finished epoch of a fit: an element of `Fit::epochs`, and what
/// `TopicModel::on_epoch` gets.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
/// let epochs = TopicModel::new(3).epochs(5).quiet().fit(&counts)?.epochs();
/// assert_eq!(epochs[2].epoch, 3);
/// assert!(epochs[4].loss < epochs[0].loss);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Number of the epoch, from 1.
    pub epoch: usize,
    /// The mean over batches of the summed loss of a batch, as in tinytopics; lower is better. It grows with the batch
    /// size. Full passes report the mean over batches of 16 documents. Of a `Trainer`, the mean over rows of the loss.
    #[serde(with = "crate::system::serde_f64")]
    pub loss: f64,
    /// The mean over tokens of log rate during the epoch, in nats; higher is better. It does not depend on the batch size. NaN
    /// for a `Trainer`, whose loss may be anything.
    #[serde(with = "crate::system::serde_f64")]
    pub log_likelihood_per_token: f64,
    /// The learning rate of the epoch's last step; 0 for a solver without one.
    #[serde(with = "crate::system::serde_f64")]
    pub learning_rate: f64,
    /// The mean over steps of the norm of the gradient with respect to all logits, before it was clipped; `None` without
    /// `MiniBatch::clip_grad_norm`.
    #[serde(with = "crate::system::serde_f64::option", default)]
    pub grad_norm: Option<f64>,
    /// What the validation of a `Trainer` measured after the epoch, a mean over rows; `None` without a validation and in fits.
    #[serde(with = "crate::system::serde_f64::option", default)]
    pub validation_loss: Option<f64>,
    /// Wall time of the epoch.
    pub duration: Duration,
    /// Anonymous memory of the process after the epoch, in bytes.
    pub memory_bytes: u64,
}
