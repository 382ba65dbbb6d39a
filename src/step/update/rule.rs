//! The optimizers' update rules for one table entry; rows of L and the whole of F use the same code.

use crate::config::Optimizer;

pub(crate) const BETA1: f64 = 0.9;
pub(crate) const BETA2: f64 = 0.999;
pub(crate) const EPSILON: f64 = 1e-8;
/// Decay of RMSprop's moving average of squared gradients.
const ALPHA: f64 = 0.99;
/// Momentum of RMSprop and SGD.
const MOMENTUM: f64 = 0.9;

/// The update of one entry, for which the optimizer keeps `S` values of state. They are zero at first.
pub(crate) trait Rule<const S: usize>: Copy {
    /// Returns the entry's value after a step, and updates its state.
    fn step(self, value: f32, gradient: f32, state: &mut [f32; S]) -> f32;
}

/// Updates the state of entry `i` and returns the entry's new value. The tables of state are one or two slices (the second is
/// empty where `S` is 1): the compiler does not vectorise a loop over an array of slices.
#[inline(always)]
pub(crate) fn step_entry<const S: usize>(
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
pub(crate) struct AdamWStep {
    /// 1 - learning rate * weight decay.
    pub(crate) decay: f64,
    /// Learning rate divided by the first moment's bias correction.
    pub(crate) size: f64,
    /// One over the square root of the second moment's bias correction.
    pub(crate) root: f64,
}

impl AdamWStep {
    /// `time` is the number of the step, counted from 1.
    pub(crate) fn at(time: u64, learning_rate: f64, weight_decay: f64) -> Self {
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
pub(crate) enum UpdateRule {
    AdamW(AdamW),
    Adam(Adam),
    RmsProp(RmsProp),
    Adagrad(Adagrad),
    Sgd(Sgd),
}

impl UpdateRule {
    /// The rule of an optimizer at the step `time`, counted from 1.
    pub(crate) fn at(
        optimizer: Optimizer,
        time: u64,
        learning_rate: f64,
        weight_decay: f64,
    ) -> Self {
        let (lr, penalty) = (learning_rate as f32, weight_decay as f32);
        match optimizer {
            Optimizer::AdamW | Optimizer::RowwiseAdamW => {
                Self::AdamW(AdamWStep::at(time, learning_rate, weight_decay).into())
            }
            Optimizer::RowwiseAdam => Self::Adam(Adam {
                penalty,
                rule: AdamWStep::at(time, learning_rate, 0.0).into(),
            }),
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
            $crate::step::update::UpdateRule::Adam($rule) => $body,
            $crate::step::update::UpdateRule::RmsProp($rule) => $body,
            $crate::step::update::UpdateRule::Adagrad($rule) => $body,
            $crate::step::update::UpdateRule::Sgd($rule) => $body,
        }
    };
}
pub(crate) use with_rule;

/// [`AdamWStep`] in single precision.
#[derive(Clone, Copy)]
pub(crate) struct AdamW {
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

#[derive(Clone, Copy)]
pub(crate) struct Adam {
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
pub(crate) struct RmsProp {
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
pub(crate) struct Adagrad {
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
pub(crate) struct Sgd {
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
