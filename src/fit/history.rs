//! The course of a fit, epoch by epoch.

use std::time::Duration;

#[cfg(feature = "charts")]
use crate::charts::{Chart, Run};
use crate::data::Epoch;

use super::Fit;

impl Fit {
    /// The finished epochs, in order; [`history`](Self::history) is the same as a table. Empty for a fit without a history.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// let losses: Vec<f64> = fit.epochs().iter().map(|epoch| epoch.loss).collect();
    /// assert_eq!(losses.len(), 5);
    /// assert!(losses[4] < losses[0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "losses")]
    pub fn epochs(&self) -> Vec<Epoch> {
        self.history.clone()
    }

    /// The loss of the last epoch in nats, as tinytopics reports it: the mean over batches of the summed loss of a
    /// batch. Lower is better. `None` for a fit without a history.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert_eq!(fit.loss(), fit.epochs().last().map(|epoch| epoch.loss));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn loss(&self) -> Option<f64> {
        self.history.last().map(|epoch| epoch.loss)
    }

    /// The log-likelihood per token during the last epoch, in nats. Higher is better; unlike the loss, it does not
    /// depend on the batch size. `None` for a fit without a history.
    ///
    /// Its exponential with the sign reversed, `(-nats).exp()`, is the perplexity of the counts that were fitted.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert!(fit.log_likelihood_per_token().is_some_and(|nats| nats < 0.0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("perplexity", "elbo"))]
    pub fn log_likelihood_per_token(&self) -> Option<f64> {
        self.history
            .last()
            .map(|epoch| epoch.log_likelihood_per_token)
    }

    /// Wall time of the epochs, over all processes that worked on them.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert!(fit.duration() > std::time::Duration::ZERO);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "seconds")]
    pub fn duration(&self) -> Duration {
        self.history.iter().map(|epoch| epoch.duration).sum()
    }
}

/// Plots the loss and the log-likelihood per token against the epoch; for a module of one's own, its loss and what the
/// validation measured.
#[cfg(feature = "charts")]
pub(crate) fn loss_chart(history: &[Epoch]) -> Chart {
    let is_module = |epoch: &Epoch| epoch.log_likelihood_per_token.is_nan();
    if history.is_empty() || !history.iter().all(is_module) {
        return Chart::runs(vec![run(history)]);
    }
    let mut series = vec![("training", history.iter().map(|epoch| epoch.loss).collect())];
    let measured: Option<Vec<f64>> = history.iter().map(|epoch| epoch.validation_loss).collect();
    series.extend(measured.map(|values| ("validation", values)));
    let epochs: Vec<f64> = history.iter().map(|epoch| epoch.epoch as f64).collect();
    Chart::lines(series)
        .x(epochs)
        .x_label("epoch")
        .y_label("loss")
}

/// The course of a fit, without a name, for charts.
#[cfg(feature = "charts")]
pub(super) fn run(history: &[Epoch]) -> Run {
    Run {
        name: String::new(),
        loss: history.iter().map(|epoch| epoch.loss).collect(),
        log_likelihood: history
            .iter()
            .map(|epoch| epoch.log_likelihood_per_token)
            .collect(),
    }
}
