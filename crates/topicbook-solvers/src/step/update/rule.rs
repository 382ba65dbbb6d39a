//! The optimizers' update rules for one table entry; rows of L and the whole of F use the same code.

use crate::config::Optimizer;

pub const BETA1: f64 = 0.9;
pub const BETA2: f64 = 0.999;
pub const EPSILON: f64 = 1e-8;
/// Decay of Adadelta's moving averages, and its epsilon (PyTorch's defaults).
const RHO: f32 = 0.9;
const ADADELTA_EPSILON: f32 = 1e-6;
/// Decay of RMSprop's moving average of squared gradients.
const ALPHA: f64 = 0.99;
/// Momentum of RMSprop and SGD.
const MOMENTUM: f64 = 0.9;

/// The update of one entry, for which the optimizer keeps `S` values of state, initially zero.
pub trait Rule<const S: usize>: Copy {
    /// Returns the entry's value after a step, and updates its state.
    fn step(self, value: f32, gradient: f32, state: &mut [f32; S]) -> f32;
}

/// Updates the state of entry `i` and returns the entry's new value. The tables of state are one or two slices (the second is
/// empty where `S` is 1): the compiler does not vectorise a loop over an array of slices.
#[inline(always)]
pub fn step_entry<const S: usize>(
    rule: impl Rule<S>,
    value: f32,
    gradient: f32,
    first: &mut [f32],
    second: &mut [f32],
    i: usize,
) -> f32 {
    let mut state = [0.0; S];
    state[0] = first[i];
    if S > 1 {
        state[1] = second[i];
    }
    let value = rule.step(value, gradient, &mut state);
    first[i] = state[0];
    if S > 1 {
        second[i] = state[1];
    }
    value
}

/// AdamW's step sizes (Loshchilov and Hutter 2019) at one step, in PyTorch's form:
/// `x = decay * x - size * m / (sqrt(v) * root + EPSILON)`.
#[derive(Clone, Copy)]
pub struct AdamWStep {
    /// 1 - learning rate * weight decay.
    pub decay: f64,
    /// Learning rate divided by the first moment's bias correction.
    pub size: f64,
    /// One over the square root of the second moment's bias correction.
    pub root: f64,
}

impl AdamWStep {
    /// `time` is the number of the step, counted from 1.
    pub fn at(time: u64, learning_rate: f64, weight_decay: f64) -> Self {
        // Bias corrections are 1 to double precision long before the exponent could overflow an i32.
        let power = time.min(1 << 20) as i32;
        Self {
            decay: 1.0 - learning_rate * weight_decay,
            size: learning_rate / (1.0 - BETA1.powi(power)),
            root: 1.0 / (1.0 - BETA2.powi(power)).sqrt(),
        }
    }
}

/// The update rule of one step.
#[derive(Clone, Copy)]
pub enum UpdateRule {
    AdamW(AdamW),
    RowAdamW(RowAdamW),
    Adam(Adam),
    Adamax(Adamax),
    Adadelta(Adadelta),
    RmsProp(RmsProp),
    Adagrad(Adagrad),
    Sgd(Sgd),
}

impl UpdateRule {
    /// The rule for rows of L at the step `time`, counted from 1. Row-wise optimizers update a row once in `interval` steps,
    /// the number of batches in an epoch.
    pub fn of_rows(
        optimizer: Optimizer,
        (time, interval): (u64, u64),
        learning_rate: f64,
        weight_decay: f64,
    ) -> Self {
        if optimizer == Optimizer::RowwiseAdamW {
            return Self::RowAdamW(RowAdamW::at(time, interval, learning_rate, weight_decay));
        }
        // The other row-wise optimizers count the updates of a row.
        let time = match optimizer.moves_all_rows() {
            true => time,
            false => (time - 1) / interval + 1,
        };
        Self::at(optimizer, time, learning_rate, weight_decay)
    }

    /// The rule for a table that every step updates, at the step `time`, counted from 1.
    pub fn at(optimizer: Optimizer, time: u64, learning_rate: f64, weight_decay: f64) -> Self {
        let (lr, penalty) = (learning_rate as f32, weight_decay as f32);
        match optimizer {
            Optimizer::AdamW | Optimizer::RowwiseAdamW => {
                Self::AdamW(AdamWStep::at(time, learning_rate, weight_decay).into())
            }
            Optimizer::RowwiseAdam => Self::Adam(Adam {
                penalty,
                rule: AdamWStep::at(time, learning_rate, 0.0).into(),
            }),
            Optimizer::RowwiseAdamax => Self::Adamax(Adamax {
                penalty,
                size: AdamWStep::at(time, learning_rate, 0.0).size as f32,
            }),
            Optimizer::RowwiseAdadelta => Self::Adadelta(Adadelta { penalty, lr }),
            Optimizer::RowwiseRmsProp => Self::RmsProp(RmsProp { penalty, lr }),
            Optimizer::RowwiseAdagrad => Self::Adagrad(Adagrad { penalty, lr }),
            Optimizer::RowwiseSgd => Self::Sgd(Sgd { penalty, lr }),
        }
    }
}

/// Evaluates an expression with the concrete [`Rule`] of an [`UpdateRule`].
macro_rules! with_rule {
    ($update_rule:expr, $rule:ident => $body:expr) => {
        match $update_rule {
            $crate::step::update::UpdateRule::AdamW($rule) => $body,
            $crate::step::update::UpdateRule::RowAdamW($rule) => $body,
            $crate::step::update::UpdateRule::Adam($rule) => $body,
            $crate::step::update::UpdateRule::Adamax($rule) => $body,
            $crate::step::update::UpdateRule::Adadelta($rule) => $body,
            $crate::step::update::UpdateRule::RmsProp($rule) => $body,
            $crate::step::update::UpdateRule::Adagrad($rule) => $body,
            $crate::step::update::UpdateRule::Sgd($rule) => $body,
        }
    };
}
pub(crate) use with_rule;

/// [`AdamWStep`] in single precision.
#[derive(Clone, Copy)]
pub struct AdamW {
    decay: f32,
    size: f32,
    root: f32,
}

impl From<AdamWStep> for AdamW {
    fn from(step_sizes: AdamWStep) -> Self {
        Self {
            decay: step_sizes.decay as f32,
            size: step_sizes.size as f32,
            root: step_sizes.root as f32,
        }
    }
}

impl Rule<2> for AdamW {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, [first, second]: &mut [f32; 2]) -> f32 {
        *first = (BETA1 as f32).mul_add(*first, (1.0 - BETA1) as f32 * gradient);
        *second = (BETA2 as f32).mul_add(*second, (1.0 - BETA2) as f32 * gradient * gradient);
        let step = self.size * *first / second.sqrt().mul_add(self.root, EPSILON as f32);
        value.mul_add(self.decay, -step)
    }
}

/// AdamW for a row that has a gradient once in `interval` steps. Dense AdamW spreads the effect of such a gradient over many
/// steps, because its first moment falls by b1 at every step without a gradient. This rule applies the whole effect at once, so
/// that it needs no first moment. The second moment and the weights decay as in the steps between two gradients.
#[derive(Clone, Copy)]
pub struct RowAdamW {
    /// (1 - learning rate * weight decay)^interval
    decay: f32,
    /// b2^interval
    second_decay: f32,
    /// The factor of g / sqrt(v).
    size: f32,
}

impl RowAdamW {
    fn at(time: u64, interval: u64, learning_rate: f64, weight_decay: f64) -> Self {
        let power = |base: f64, exponent: u64| base.powi(exponent.min(1 << 20) as i32);
        Self {
            decay: power(1.0 - learning_rate * weight_decay, interval) as f32,
            second_decay: power(BETA2, interval) as f32,
            size: (learning_rate * gradient_effect(time, interval)) as f32,
        }
    }
}

/// The total effect of a gradient g at step t in dense AdamW, as a multiple of the learning rate times g / sqrt(v), where v is the
/// second moment at step t. Step t + j, for j = 0, 1, ..., subtracts
/// `(1 - b1) b1^j / (1 - b1^(t+j)) * sqrt(1 - b2^(t+i)) / b2^(i/2)`. Without another gradient, i is j. A gradient every `interval`
/// steps keeps v up: then i is j modulo `interval`.
fn gradient_effect(time: u64, interval: u64) -> f64 {
    /// Momentum below which the rest of the sum is below the precision of `f32`.
    const NEGLIGIBLE: f64 = 1e-9;
    let power = time.min(1 << 20) as i32;
    let (first, second) = (BETA1.powi(power), BETA2.powi(power));
    let (mut sum, mut momentum) = (0.0, 1.0);
    let (mut steps, mut decay) = (0, 1.0);
    while momentum > NEGLIGIBLE {
        let root = ((1.0 - second * decay) / decay).sqrt();
        sum += (1.0 - BETA1) * momentum / (1.0 - first * momentum) * root;
        momentum *= BETA1;
        (steps, decay) = match steps + 1 == interval {
            true => (0, 1.0),
            false => (steps + 1, decay * BETA2),
        };
    }
    sum
}

impl Rule<1> for RowAdamW {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, [second]: &mut [f32; 1]) -> f32 {
        let square = (1.0 - BETA2) as f32 * gradient * gradient;
        *second = self.second_decay.mul_add(*second, square);
        let step = self.size * gradient / (second.sqrt() + EPSILON as f32);
        value.mul_add(self.decay, -step)
    }
}

#[derive(Clone, Copy)]
pub struct Adam {
    /// L2 penalty, as in the rules below: `penalty * x` is added to the gradient.
    penalty: f32,
    /// Without decay.
    rule: AdamW,
}

impl Rule<2> for Adam {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, moments: &mut [f32; 2]) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        self.rule.step(value, gradient, moments)
    }
}

#[derive(Clone, Copy)]
pub struct Adamax {
    penalty: f32,
    /// Learning rate divided by the first moment's bias correction.
    size: f32,
}

impl Rule<2> for Adamax {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, [first, largest]: &mut [f32; 2]) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        *first = (BETA1 as f32).mul_add(*first, (1.0 - BETA1) as f32 * gradient);
        *largest = (BETA2 as f32 * *largest).max(gradient.abs() + EPSILON as f32);
        value - self.size * *first / *largest
    }
}

#[derive(Clone, Copy)]
pub struct Adadelta {
    penalty: f32,
    lr: f32,
}

impl Rule<2> for Adadelta {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, [square, change]: &mut [f32; 2]) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        *square = RHO.mul_add(*square, (1.0 - RHO) * gradient * gradient);
        let step =
            (*change + ADADELTA_EPSILON).sqrt() / (*square + ADADELTA_EPSILON).sqrt() * gradient;
        *change = RHO.mul_add(*change, (1.0 - RHO) * step * step);
        self.lr.mul_add(-step, value)
    }
}

#[derive(Clone, Copy)]
pub struct RmsProp {
    penalty: f32,
    lr: f32,
}

impl Rule<2> for RmsProp {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, [step, square]: &mut [f32; 2]) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        *square = (ALPHA as f32).mul_add(*square, (1.0 - ALPHA) as f32 * gradient * gradient);
        *step = (MOMENTUM as f32).mul_add(*step, gradient / (square.sqrt() + EPSILON as f32));
        self.lr.mul_add(-*step, value)
    }
}

#[derive(Clone, Copy)]
pub struct Adagrad {
    penalty: f32,
    lr: f32,
}

impl Rule<1> for Adagrad {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, [squares]: &mut [f32; 1]) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        *squares = gradient.mul_add(gradient, *squares);
        self.lr
            .mul_add(-gradient / (squares.sqrt() + EPSILON as f32), value)
    }
}

#[derive(Clone, Copy)]
pub struct Sgd {
    penalty: f32,
    lr: f32,
}

impl Rule<1> for Sgd {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, [momentum]: &mut [f32; 1]) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        *momentum = (MOMENTUM as f32).mul_add(*momentum, gradient);
        self.lr.mul_add(-*momentum, value)
    }
}
