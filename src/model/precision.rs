//! How exactly a card reads the tables.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TopicModel;
use crate::display::Card;

/// How a card's kernels read weights and topics when they make a batch's loss and gradients.
///
/// Sums, gradients, moments and the tables themselves are `f32` in either case, and so is everything on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Precision {
    /// As they are, 32 bits each; the default.
    #[default]
    F32,
    /// As `bf16`: 16 bits, of which 8 are significant, so that each weight and each entry of F is off by up to a part in
    /// 256 where it is read, and half as many bytes are. Errors of many terms cancel in the loss: on 2,483 NIPS papers
    /// (k = 10, batch 64, 100 epochs) three seeds end at scores 5,100, 4,700 and 1,800 above those of `F32`, which lie
    /// 41,000 apart (`cargo xtask bench precision`, on a Vulkan driver that runs on the processor).
    Bf16,
}

impl Precision {
    /// Shows the precision below a cell.
    pub fn evcxr_display(&self) {
        Card::new("Precision")
            .row("tables on a card", self.to_string())
            .show();
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16, sums in f32",
        })
    }
}

impl TopicModel {
    /// How a card reads the tables; [`Precision::F32`] by default. It matters to gradient steps on a card only: on the
    /// CPU, and in expectation-maximisation, everything is `f32`.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.settings.precision = precision;
        self
    }
}
