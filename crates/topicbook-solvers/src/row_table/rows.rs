//! The rows of a table in shared memory, each protected by one of many locks.

use std::sync::{PoisonError, RwLock};

use crate::config::Precision;
use crate::system::memory::free_memory;
use crate::system::{SharedMap, from_bf16, to_bf16};

/// Number of locks. A row's lock is its number modulo this one, so that neighbouring rows have different locks.
const STRIPES: usize = 256;

/// Size and dtype of a table.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Layout {
    pub(super) rows: usize,
    pub(super) width: usize,
    /// Tables of rows x width: the values, then one for each value of the optimizer's state.
    pub(super) tables: usize,
    pub(super) precision: Precision,
}

impl Layout {
    /// Bytes of one table; `None` if they cannot be addressed.
    pub(super) fn bytes_of_table(&self) -> Option<usize> {
        let bytes = self.precision.bytes() as usize;
        let table = self.rows.checked_mul(self.width)?.checked_mul(bytes)?;
        // All tables and the header of a file have to be addressable, too.
        let all = table.checked_mul(self.tables)?.checked_add(1 << 20)?;
        isize::try_from(all).is_ok().then_some(table)
    }

    /// Bytes of all tables.
    pub(super) fn bytes(&self) -> u64 {
        let rows = self.rows as u64 * self.width as u64;
        rows * self.tables as u64 * self.precision.bytes()
    }
}

/// Rows in memory or in a mapped file: `tables` tables of rows x width, one after the other.
pub(super) struct SharedRows {
    layout: Layout,
    map: SharedMap,
    /// The byte of the map where the first table starts.
    start: usize,
    stripes: Vec<RwLock<()>>,
    /// Whether the rows are in a file that does not fit into memory: prefetching rows that are in memory takes longer than
    /// copying them.
    prefetches: bool,
}

/// Buffers of a thread for one row.
pub(super) struct RowBuffers {
    /// The row's values and their state, in `f32`.
    wide: Vec<f32>,
    /// The same in `bf16`; empty for tables in `f32`.
    narrow: Vec<u16>,
}

impl SharedRows {
    /// Rows in a map, which has to hold the bytes of the layout from `start` on.
    pub(super) fn new(layout: Layout, map: SharedMap, start: usize) -> Self {
        Self {
            layout,
            prefetches: map.is_in_file() && layout.bytes() > free_memory() / 2,
            map,
            start,
            stripes: (0..STRIPES).map(|_| RwLock::new(())).collect(),
        }
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn map(&self) -> &SharedMap {
        &self.map
    }

    pub(super) fn scratch(&self) -> RowBuffers {
        let values = self.layout.width * self.layout.tables;
        RowBuffers {
            wide: vec![0.0; values],
            narrow: match self.layout.precision {
                Precision::F32 => Vec::new(),
                Precision::Bf16 => vec![0; values],
            },
        }
    }

    /// Prefetches these rows of the first `tables` tables (`MADV_WILLNEED`), if they are in a file that does not fit into memory: a
    /// disk serves many requests in the time of a few.
    pub(super) fn prefetch(&self, rows: impl Iterator<Item = usize>, tables: usize) {
        if !self.prefetches {
            return;
        }
        let bytes = self.layout.width * self.layout.precision.bytes() as usize;
        for row in rows {
            for table in 0..tables {
                self.map.prefetch(self.byte(table, row), bytes);
            }
        }
    }

    /// Copies the values of a row, without their state. The row has to exist, here and below.
    pub(super) fn copy(&self, row: usize, out: &mut [f32], scratch: &mut RowBuffers) {
        let stripe = self.stripes[row % STRIPES].read();
        let _locked = stripe.unwrap_or_else(PoisonError::into_inner);
        self.load(row, 1, out, &mut scratch.narrow);
    }

    /// Replaces the values of a row, rounded to the nearest value of the dtype; their state stays.
    pub(super) fn replace(&self, row: usize, values: &[f32], scratch: &mut RowBuffers) {
        let stripe = self.stripes[row % STRIPES].write();
        let _locked = stripe.unwrap_or_else(PoisonError::into_inner);
        self.store(row, 1, values, None, &mut scratch.narrow);
    }

    /// Changes the values of a row and their state, which `change` gets one after the other. In `bf16` they are rounded
    /// stochastically with random bits that depend on `key` alone.
    pub(super) fn change(
        &self,
        row: usize,
        key: u64,
        scratch: &mut RowBuffers,
        change: impl FnOnce(&mut [f32]),
    ) {
        let tables = self.layout.tables;
        let RowBuffers { wide, narrow } = scratch;
        let stripe = self.stripes[row % STRIPES].write();
        let _locked = stripe.unwrap_or_else(PoisonError::into_inner);
        self.load(row, tables, wide, narrow);
        change(wide);
        self.store(row, tables, wide, Some(key), narrow);
    }

    /// Copies a row of the first `tables` tables. The caller holds the lock of the row.
    fn load(&self, row: usize, tables: usize, out: &mut [f32], narrow: &mut [u16]) {
        let width = self.layout.width;
        match self.layout.precision {
            Precision::F32 => {
                for (table, out) in out.chunks_exact_mut(width).take(tables).enumerate() {
                    // SAFETY: the row is inside the map, and its lock is held.
                    unsafe { self.map.load(self.byte(table, row), out) };
                }
            }
            Precision::Bf16 => {
                let narrow = &mut narrow[..tables * width];
                for (table, narrow) in narrow.chunks_exact_mut(width).enumerate() {
                    // SAFETY: as above.
                    unsafe { self.map.load(self.byte(table, row), narrow) };
                }
                from_bf16(narrow, out);
            }
        }
    }

    /// Writes a row of the first `tables` tables. The caller holds the lock of the row to write.
    fn store(
        &self,
        row: usize,
        tables: usize,
        values: &[f32],
        key: Option<u64>,
        narrow: &mut [u16],
    ) {
        let width = self.layout.width;
        match self.layout.precision {
            Precision::F32 => {
                for (table, values) in values.chunks_exact(width).take(tables).enumerate() {
                    // SAFETY: the row is inside the map, and its lock is held to write.
                    unsafe { self.map.store(self.byte(table, row), values) };
                }
            }
            Precision::Bf16 => {
                let narrow = &mut narrow[..tables * width];
                to_bf16(values, key, narrow);
                for (table, narrow) in narrow.chunks_exact(width).enumerate() {
                    // SAFETY: as above.
                    unsafe { self.map.store(self.byte(table, row), narrow) };
                }
            }
        }
    }

    /// The first byte of a row in a table.
    fn byte(&self, table: usize, row: usize) -> usize {
        debug_assert!(table < self.layout.tables && row < self.layout.rows);
        let values = (table * self.layout.rows + row) * self.layout.width;
        self.start + values * self.layout.precision.bytes() as usize
    }
}
