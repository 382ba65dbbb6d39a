//! Memory at this moment: what is in use, what holds it, and what can be given back.

use std::fmt;

use polars::prelude::Column;

use crate::backend::{gpus_now, release_gpus};
use crate::data::Table;
use crate::system::held;
use crate::system::memory::{free_memory, group_memory, process_memory, release_freed};
use crate::text::{Card, bytes};

/// Memory in use at one moment, in bytes. Made by [`memory`].
///
/// ```
/// let now = topicbook::memory();
/// assert!(now.anonymous > 0 && now.free > 0);
/// println!("{now}");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryNow {
    /// Anonymous memory of this process: what it has allocated and written. A memory limit cannot reclaim it.
    pub anonymous: u64,
    /// Pages of mapped files in this process, which the system reclaims when memory is short.
    pub file_pages: u64,
    /// What a fit could still allocate: what the system has available, or less if a limit leaves less.
    pub free: u64,
    /// What the tightest control group of this process has in use, with page cache, and its limit; `None` without a limit.
    pub group: Option<(u64, u64)>,
    /// The GPUs, by number; none without CUDA.
    pub gpus: Vec<GpuNow>,
}

/// Memory of a GPU at one moment, in bytes: an element of [`MemoryNow::gpus`].
///
/// ```
/// for gpu in topicbook::memory().gpus {
///     assert!(gpu.in_use <= gpu.reserved);
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct GpuNow {
    /// What this process's tensors use (PyTorch's `memory_allocated`).
    #[doc(alias = "memory_allocated")]
    pub in_use: u64,
    /// What this process's allocator has taken from the driver (PyTorch's `memory_reserved`).
    #[doc(alias = "memory_reserved")]
    pub reserved: u64,
    /// What all processes leave free; `None` if NVML does not say.
    pub free: Option<u64>,
}

/// Memory in use now: of this process by kind, of its control group and of each GPU, and what is free. A cell shows it.
///
/// ```
/// use topicbook::memory;
/// let before = memory().anonymous;
/// let counts = vec![1u8; 64 << 20];
/// assert!(memory().anonymous > before + (32 << 20));
/// # drop(counts);
/// ```
#[doc(alias = "memory_summary")]
pub fn memory() -> MemoryNow {
    let process = process_memory();
    let gpus = gpus_now()
        .into_iter()
        .map(|(in_use, reserved, free)| GpuNow {
            in_use,
            reserved,
            free,
        });
    MemoryNow {
        anonymous: process.anonymous,
        file_pages: process.file_backed,
        free: free_memory(),
        group: group_memory(),
        gpus: gpus.collect(),
    }
}

/// Gives freed memory back to the system, from the heap (`malloc_trim`) and from every GPU that this process has used. Returns
/// how much that was.
///
/// A value that a variable still holds is not freed: [`live`] lists them, and `drop(variable)` frees one.
///
/// ```
/// let given_back = topicbook::release();
/// println!("{given_back}");
/// ```
#[doc(alias = "empty_cache")]
#[doc(alias = "gc_collect")]
pub fn release() -> Released {
    let before = memory();
    release_freed();
    release_gpus();
    let after = memory();
    let reserved = |now: &MemoryNow| now.gpus.iter().map(|gpu| gpu.reserved).sum::<u64>();
    Released {
        ram: before.anonymous.saturating_sub(after.anonymous),
        vram: reserved(&before).saturating_sub(reserved(&after)),
    }
}

/// What [`release`] gave back, in bytes.
///
/// ```
/// let given_back = topicbook::release();
/// assert_eq!(given_back.vram, 0); // without a GPU
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Released {
    /// Anonymous memory of the process.
    pub ram: u64,
    /// Memory of all GPUs.
    pub vram: u64,
}

/// The values of this crate that the notebook still holds, the largest first: `kind` (counts, fit, matrix, plan), `what`,
/// `bytes` of anonymous memory, and `handles`, the number of variables and other values that share it.
///
/// What leaks in a notebook is a forgotten variable. Counts that are read in place from a file keep no bytes; a matrix that
/// belongs to a fit is part of its row.
///
/// ```
/// use topicbook::{Counts, live};
/// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
/// let again = counts.clone(); // a handle, not a copy
/// let table = live();
/// let whats: Vec<_> = table.column("what")?.str()?.iter().flatten().map(String::from).collect();
/// assert!(whats.iter().any(|what| what.starts_with("2 × 3")));
/// # drop(again);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "find_memory_leaks")]
pub fn live() -> Table {
    let values = held();
    Table::from_columns(vec![
        Column::new(
            "kind".into(),
            values.iter().map(|value| value.kind).collect::<Vec<_>>(),
        ),
        Column::new(
            "what".into(),
            values
                .iter()
                .map(|value| value.what.clone())
                .collect::<Vec<_>>(),
        ),
        Column::new(
            "bytes".into(),
            values.iter().map(|value| value.bytes).collect::<Vec<_>>(),
        ),
        Column::new(
            "handles".into(),
            values
                .iter()
                .map(|value| value.handles as u64)
                .collect::<Vec<_>>(),
        ),
    ])
}

impl MemoryNow {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn card(&self) -> Card {
        let mut card = Card::new("Memory now")
            .row("anonymous, of this process", bytes(self.anonymous))
            .row("pages of files, of this process", bytes(self.file_pages))
            .row("free", bytes(self.free));
        if let Some((used, limit)) = self.group {
            let text = format!("{} of {}, with page cache", bytes(used), bytes(limit));
            card = card.row("control group", text);
        }
        for (number, gpu) in self.gpus.iter().enumerate() {
            let free = gpu
                .free
                .map_or(String::new(), |free| format!(", {} free", bytes(free)));
            card = card.row(
                format!("GPU {number}"),
                format!(
                    "{} in use, {} reserved{free}",
                    bytes(gpu.in_use),
                    bytes(gpu.reserved)
                ),
            );
        }
        card
    }
}

impl fmt::Display for MemoryNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.card().text().trim_end())
    }
}

impl Released {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let text = self.to_string();
        crate::evcxr::show(&text, &text);
    }
}

impl fmt::Display for Released {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of RAM", bytes(self.ram))?;
        match self.vram {
            0 => write!(f, " given back"),
            vram => write!(f, " and {} of VRAM given back", bytes(vram)),
        }
    }
}
