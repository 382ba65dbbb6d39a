//! Learning rates for large batches.

/// The factor of both learning rates that the documentation of `TopicModel::batch_size` recommends, by the steps of an epoch.
pub fn rule(steps: usize) -> f64 {
    (64.0 / steps as f64).sqrt().clamp(1.0, 8.0)
}
