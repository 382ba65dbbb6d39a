//! What watches a fit: the loop tells observers what happened and knows nothing else about them.

/// What a fit is about to do.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) epochs: usize,
    pub(crate) documents: usize,
    pub(crate) device: String,
}

/// One finished epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EpochReport {
    /// Counted from 1.
    pub(crate) epoch: usize,
    /// The mean over the batches of the batches' summed losses: what tinytopics reports. Grows with the batch size.
    pub(crate) loss: f64,
    /// The mean over the tokens of log rate, in nats, as the epoch went by. Does not depend on the batch size.
    pub(crate) log_likelihood_per_token: f64,
    /// The learning rate of the epoch's last step.
    pub(crate) learning_rate: f64,
    /// Wall time of the epoch.
    pub(crate) seconds: f64,
    /// Wall time since the fit's start.
    pub(crate) elapsed: f64,
}

/// Watches a fit.
pub(crate) trait Observer {
    /// Before the first epoch.
    fn started(&mut self, _start: &Start) {}
    /// After every epoch.
    fn epoch_finished(&mut self, _report: &EpochReport) {}
}
