//! Where the large tables of a fit live: in memory, or in a file without a name.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use memmap2::MmapMut;
use serde::{Deserialize, Serialize};

use crate::beside::nameless;
use crate::error::{Error, Result};

/// Where the table behind L lives during a fit, with what the optimizer remembers of it, and L itself afterwards.
///
/// In a file, a document's free values and its two moments lie side by side: a step reads and writes one or two pages for
/// each document of its batch, and the system keeps in memory what fits. Row-wise optimizers
/// ([`Optimizer`](crate::Optimizer)) suit it; dense AdamW passes through the whole file eight times an epoch. The files
/// take 20 bytes x k x documents during a fit. They have no name: they vanish with their last user, also after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum TablePlace {
    /// In memory, which is that of the card where the fit has one and its budget allows; the default.
    #[default]
    Memory,
    /// In mapped files in this folder, beside a card if there is one: on a disk, with 20 bytes x k x documents free.
    File(PathBuf),
}

impl TablePlace {
    /// Zeros.
    pub(crate) fn zeros(&self, length: usize) -> Result<Values> {
        let Self::File(folder) = self else {
            return Ok(untouched(length));
        };
        let bytes = length.saturating_mul(size_of::<f32>());
        let file = nameless(folder, bytes as u64)?;
        // SAFETY: nobody else can change a file that has no name; its space is set aside.
        let map = unsafe { MmapMut::map_mut(&file) }
            .map_err(|source| Error::io("map", folder, source))?;
        let file = true;
        Ok(Values::Mapped { map, length, file })
    }

    /// Shows the place below a cell.
    pub fn evcxr_display(&self) {
        let place = self.to_string();
        crate::display::show(&place, &place);
    }
}

impl std::fmt::Display for TablePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::File(folder) => write!(f, "mapped files in {}", folder.display()),
        }
    }
}

/// Zeros in memory that only take it where they are used: pages come from the system when they are first written, and go
/// back to it with the table. From the allocator they might be what an earlier fit has left, and stay with it.
pub(crate) fn untouched(length: usize) -> Values {
    match MmapMut::map_anon(length * size_of::<f32>()) {
        Ok(map) => {
            let file = false;
            Values::Mapped { map, length, file }
        }
        Err(_) => Values::Memory(vec![0.0; length]),
    }
}

/// The values of a table, wherever they live.
pub(crate) enum Values {
    Memory(Vec<f32>),
    Mapped {
        map: MmapMut,
        /// Number of values.
        length: usize,
        /// Whether they live in a file, and only as many in memory as fit.
        file: bool,
    },
}

impl Values {
    /// From here on, parts of the table are met in no order: reading ahead would fill memory with what nobody needs.
    pub(crate) fn in_no_order(&self) {
        #[cfg(unix)]
        if let Self::Mapped {
            map, file: true, ..
        } = self
        {
            // Advice: without it the table is slower, and no less right. The same below.
            let _ = map.advise(memmap2::Advice::Random);
        }
    }

    /// These values are needed next: where they have to come from a disk, let them come all at once.
    pub(crate) fn soon(&self, range: std::ops::Range<usize>) {
        #[cfg(unix)]
        if let Self::Mapped {
            map, file: true, ..
        } = self
        {
            let size = size_of::<f32>();
            let (start, length) = (range.start * size, range.len() * size);
            let _ = map.advise_range(memmap2::Advice::WillNeed, start, length);
        }
    }
}

impl Deref for Values {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Self::Memory(values) => values,
            // SAFETY: a map begins at a page and holds `length` values; every bit pattern is one.
            Self::Mapped { map, length, .. } => unsafe {
                std::slice::from_raw_parts(map.as_ptr().cast(), *length)
            },
        }
    }
}

impl DerefMut for Values {
    fn deref_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Memory(values) => values,
            // SAFETY: as above, and the map is borrowed mutably.
            Self::Mapped { map, length, .. } => unsafe {
                std::slice::from_raw_parts_mut(map.as_mut_ptr().cast(), *length)
            },
        }
    }
}
