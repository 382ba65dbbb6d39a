//! AdamW's numbers for one step (Loshchilov and Hutter 2019), in PyTorch's form.

pub(super) const BETA1: f64 = 0.9;
pub(super) const BETA2: f64 = 0.999;
pub(super) const EPSILON: f64 = 1e-8;

/// What every entry needs at one step: `x = decay * x - size * m / (sqrt(v) * root + EPSILON)`.
#[derive(Clone, Copy)]
pub(super) struct Rates {
    /// 1 - learning rate * weight decay.
    pub(super) decay: f64,
    /// Learning rate over the first moment's bias.
    pub(super) size: f64,
    /// One over the square root of the second moment's bias.
    pub(super) root: f64,
}

impl Rates {
    /// Step numbers count from 1.
    pub(super) fn at(step: u64, learning_rate: f64, weight_decay: f64) -> Self {
        // Biases are 1 to double precision long before the power could overflow an i32.
        let power = step.min(1 << 20) as i32;
        Self {
            decay: 1.0 - learning_rate * weight_decay,
            size: learning_rate / (1.0 - BETA1.powi(power)),
            root: 1.0 / (1.0 - BETA2.powi(power)).sqrt(),
        }
    }
}
