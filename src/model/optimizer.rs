//! Which optimizer moves the tables.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TopicModel;
use crate::display::Card;
use crate::place::TablePlace;

/// How a step moves the free tables behind L and F.
///
/// With g the gradient of an entry x, r the learning rate and w the weight decay of the settings, and s a step's number:
///
/// | Optimizer | a step |
/// |---|---|
/// | AdamW (Loshchilov and Hutter 2019) | m = 0.9 m + 0.1 g, v = 0.999 v + 0.001 g², x = (1 - r w) x - r m' / (√v' + 1e-8), with m' = m / (1 - 0.9^s), v' = v / (1 - 0.999^s) |
/// | Adam (Kingma and Ba 2015) | the same with g + w x in the place of g, and without (1 - r w) |
/// | RMSprop (Tieleman and Hinton 2012) | v = 0.99 v + 0.01 g², b = 0.9 b + g / (√v + 1e-8), x = x - r b |
/// | Adagrad (Duchi, Hazan and Singer 2011) | v = v + g², x = x - r g / (√v + 1e-8) |
/// | SGD with momentum (Polyak 1964) | b = 0.9 b + g, x = x - r b |
///
/// All but AdamW take g + w x for g, as Burn and PyTorch do.
///
/// *Row-wise*: a step moves the rows of L that are in its batch, and no others; s is the epoch, which is how often a row
/// has moved. F moves as a whole at every step, by the same law. A step costs the same for any number of documents, and
/// needs nothing of the other rows: right for an L of millions of rows, or one that lies in a file. The dense law moves
/// all rows of L at every step, also those whose gradient is zero, as Burn's and PyTorch's optimizers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Optimizer {
    /// Dense AdamW, the law of tinytopics; the default.
    #[default]
    AdamW,
    /// Row-wise AdamW.
    RowwiseAdamW,
    /// Row-wise Adam.
    RowwiseAdam,
    /// Row-wise RMSprop.
    RowwiseRmsProp,
    /// Row-wise Adagrad.
    RowwiseAdagrad,
    /// Row-wise SGD with momentum. The gradients are in tokens: it wants a far smaller learning rate.
    RowwiseSgd,
}

impl Optimizer {
    /// Shows the optimizer below a cell.
    pub fn evcxr_display(&self) {
        Card::new("Optimizer").row("law", self.to_string()).show();
    }
}

impl fmt::Display for Optimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AdamW => "AdamW",
            Self::RowwiseAdamW => "AdamW, row-wise in L",
            Self::RowwiseAdam => "Adam, row-wise in L",
            Self::RowwiseRmsProp => "RMSprop, row-wise in L",
            Self::RowwiseAdagrad => "Adagrad, row-wise in L",
            Self::RowwiseSgd => "SGD with momentum, row-wise in L",
        })
    }
}

impl TopicModel {
    /// How a step moves the tables; [`Optimizer::AdamW`], tinytopics' law, by default. On a card
    /// [`Optimizer::RowwiseAdamW`] keeps L beside it, in RAM or in a file; the others run on the CPU.
    pub fn optimizer(mut self, optimizer: Optimizer) -> Self {
        self.settings.optimizer = optimizer;
        self
    }

    /// Where the table behind L lives during a fit, and L itself afterwards; [`TablePlace::Memory`] by default.
    pub fn table_place(mut self, place: TablePlace) -> Self {
        self.settings.table_place = place;
        self
    }
}
