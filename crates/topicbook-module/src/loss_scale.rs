//! Scaling of the loss, so that small gradients are not lost in half precision.

/// By what a loss is multiplied before its gradients are computed; they are divided by it before the optimizer sees them. In
/// half precision, gradients below 6e-8 (f16) would be 0 without it.
///
/// ```
/// use topicbook::LossScale;
/// assert_eq!(LossScale::default(), LossScale::None);
/// let scale = LossScale::dynamic();
/// assert_eq!(scale, LossScale::Dynamic { start: 65_536.0, growth_interval: 2_000 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LossScale {
    /// The loss as it is; the default.
    #[default]
    None,
    /// By this number. A step whose gradients are not finite is skipped.
    Static(f64),
    /// By a number that is halved where gradients are not finite, and that step is skipped; it is doubled after
    /// `growth_interval` steps without such a gradient.
    Dynamic {
        /// The first number.
        start: f64,
        /// Steps until it is doubled.
        growth_interval: usize,
    },
}

impl LossScale {
    /// The dynamic scale with the numbers of PyTorch's `GradScaler`: from 65,536, doubled after 2,000 steps.
    ///
    /// ```
    /// let scale = topicbook::LossScale::dynamic();
    /// assert!(matches!(scale, topicbook::LossScale::Dynamic { .. }));
    /// ```
    #[doc(alias = "GradScaler")]
    pub fn dynamic() -> Self {
        Self::Dynamic {
            start: 65_536.0,
            growth_interval: 2_000,
        }
    }
}
