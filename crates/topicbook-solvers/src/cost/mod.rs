//! The memory model of fits: items with memory and phase, the shape from which formulas compute them, and the decisions
//! of a plan.

mod item;
mod limit;
mod placement;
mod shape;

pub use item::at_peak;
pub use item::{Consumer, Item, Memory, Phase, in_part, peak, room};
pub use limit::Limit;
pub use placement::Placement;
pub use shape::Shape;
