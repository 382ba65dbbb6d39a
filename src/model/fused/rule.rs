//! Optimizers' laws, entry by entry: the same for a row of L as for the whole of F.

use crate::model::Optimizer;

pub(super) const BETA1: f64 = 0.9;
pub(super) const BETA2: f64 = 0.999;
pub(super) const EPSILON: f64 = 1e-8;
/// RMSprop's average of squares.
const ALPHA: f64 = 0.99;
/// Of RMSprop and SGD.
const MOMENTUM: f64 = 0.9;

/// What an optimizer does with one entry. It remembers up to two numbers of it, zero at first.
pub(super) trait Rule: Copy {
    /// The entry's value after a step.
    fn step(self, value: f32, gradient: f32, first: &mut f32, second: &mut f32) -> f32;
}

/// AdamW's numbers for one step (Loshchilov and Hutter 2019), in PyTorch's form:
/// `x = decay * x - size * m / (sqrt(v) * root + EPSILON)`.
#[derive(Clone, Copy)]
pub(in crate::model) struct Rates {
    /// 1 - learning rate * weight decay.
    pub(super) decay: f64,
    /// Learning rate over the first moment's bias.
    pub(super) size: f64,
    /// One over the square root of the second moment's bias.
    pub(super) root: f64,
}

impl Rates {
    /// Times count from 1.
    pub(in crate::model) fn at(time: u64, learning_rate: f64, weight_decay: f64) -> Self {
        // Biases are 1 to double precision long before the power could overflow an i32.
        let power = time.min(1 << 20) as i32;
        Self {
            decay: 1.0 - learning_rate * weight_decay,
            size: learning_rate / (1.0 - BETA1.powi(power)),
            root: 1.0 / (1.0 - BETA2.powi(power)).sqrt(),
        }
    }
}

/// One step's law.
#[derive(Clone, Copy)]
pub(in crate::model) enum Law {
    AdamW(AdamW),
    Adam(Adam),
    RmsProp(RmsProp),
    Adagrad(Adagrad),
    Sgd(Sgd),
}

impl Law {
    /// The law of an optimizer at a time (counted from 1).
    pub(in crate::model) fn at(
        optimizer: Optimizer,
        time: u64,
        learning_rate: f64,
        weight_decay: f64,
    ) -> Self {
        let (rate, penalty) = (learning_rate as f32, weight_decay as f32);
        match optimizer {
            Optimizer::AdamW | Optimizer::RowwiseAdamW => {
                Self::AdamW(Rates::at(time, learning_rate, weight_decay).into())
            }
            Optimizer::RowwiseAdam => Self::Adam(Adam {
                penalty,
                rule: Rates::at(time, learning_rate, 0.0).into(),
            }),
            Optimizer::RowwiseRmsProp => Self::RmsProp(RmsProp { penalty, rate }),
            Optimizer::RowwiseAdagrad => Self::Adagrad(Adagrad { penalty, rate }),
            Optimizer::RowwiseSgd => Self::Sgd(Sgd { penalty, rate }),
        }
    }
}

/// Runs an expression with the rule of a [`Law`].
macro_rules! with_rule {
    ($law:expr, $rule:ident => $body:expr) => {
        match $law {
            $crate::model::fused::rule::Law::AdamW($rule) => $body,
            $crate::model::fused::rule::Law::Adam($rule) => $body,
            $crate::model::fused::rule::Law::RmsProp($rule) => $body,
            $crate::model::fused::rule::Law::Adagrad($rule) => $body,
            $crate::model::fused::rule::Law::Sgd($rule) => $body,
        }
    };
}
pub(super) use with_rule;

#[derive(Clone, Copy)]
pub(in crate::model) struct AdamW {
    decay: f32,
    size: f32,
    root: f32,
}

impl From<Rates> for AdamW {
    fn from(rates: Rates) -> Self {
        Self {
            decay: rates.decay as f32,
            size: rates.size as f32,
            root: rates.root as f32,
        }
    }
}

impl Rule for AdamW {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, first: &mut f32, second: &mut f32) -> f32 {
        *first = (BETA1 as f32).mul_add(*first, (1.0 - BETA1) as f32 * gradient);
        *second = (BETA2 as f32).mul_add(*second, (1.0 - BETA2) as f32 * gradient * gradient);
        let step = self.size * *first / second.sqrt().mul_add(self.root, EPSILON as f32);
        value.mul_add(self.decay, -step)
    }
}

#[derive(Clone, Copy)]
pub(in crate::model) struct Adam {
    penalty: f32,
    rule: AdamW,
}

impl Rule for Adam {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, first: &mut f32, second: &mut f32) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        self.rule.step(value, gradient, first, second)
    }
}

#[derive(Clone, Copy)]
pub(in crate::model) struct RmsProp {
    penalty: f32,
    rate: f32,
}

impl Rule for RmsProp {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, first: &mut f32, second: &mut f32) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        *second = (ALPHA as f32).mul_add(*second, (1.0 - ALPHA) as f32 * gradient * gradient);
        *first = (MOMENTUM as f32).mul_add(*first, gradient / (second.sqrt() + EPSILON as f32));
        self.rate.mul_add(-*first, value)
    }
}

#[derive(Clone, Copy)]
pub(in crate::model) struct Adagrad {
    penalty: f32,
    rate: f32,
}

impl Rule for Adagrad {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, _first: &mut f32, second: &mut f32) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        *second = gradient.mul_add(gradient, *second);
        self.rate
            .mul_add(-gradient / (second.sqrt() + EPSILON as f32), value)
    }
}

#[derive(Clone, Copy)]
pub(in crate::model) struct Sgd {
    penalty: f32,
    rate: f32,
}

impl Rule for Sgd {
    #[inline(always)]
    fn step(self, value: f32, gradient: f32, first: &mut f32, _second: &mut f32) -> f32 {
        let gradient = value.mul_add(self.penalty, gradient);
        *first = (MOMENTUM as f32).mul_add(*first, gradient);
        self.rate.mul_add(-*first, value)
    }
}
