//! The memory model of fits: items with memory and phase, the shape from which formulas compute them, and the decisions
//! of a plan.

mod item;
mod limit;
mod placement;
mod shape;

#[cfg(any(feature = "polars", feature = "charts"))]
pub(crate) use item::at_peak;
pub(crate) use item::{Consumer, Item, Memory, Phase, in_part, peak, room};
pub(crate) use limit::Limit;
pub(crate) use placement::Placement;
pub(crate) use shape::Shape;
