//! Display of values below a notebook cell: the `evcxr_display` methods, and memory scopes.

mod consensus;
mod explorer;
mod fits;
mod interact;
mod judging;
mod memory_now;
mod memory_scope;
mod shown;
mod sweeps;
#[cfg(feature = "cuda")]
mod trained;
mod training;
mod values;

pub use interact::{Control, Interact, InteractOutput, interact};
pub use memory_now::{GpuNow, MemoryNow, Released, live, memory, release};
pub use memory_scope::{MemoryScope, memory_scope};
pub use shown::{Shown, html, markdown};
