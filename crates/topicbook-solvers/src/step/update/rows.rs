//! Storage of L's logits and their optimizer state: a row of each document, in `f32` or in `bf16`.

use std::ops::Range;

use crate::config::{Precision, TableStorage};
use crate::error::Result;
use crate::system::{Team, Values, from_bf16, to_bf16};

/// The key of the random bits for a change of a row at a step. `number` identifies the change: no two changes of a step may have
/// the same one.
pub fn rounding_key(number: u64, step: u64) -> u64 {
    // Odd multipliers (of the 64-bit Weyl sequence and of PCG) spread the numbers of rows and steps over all bits.
    let row = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (row ^ (row >> 29)).wrapping_add(step.wrapping_mul(0x5851_F42D_4C95_7F2D))
}

/// Bytes that a pass over all rows prefetches: several requests of the size that disks serve fastest.
const READ_AHEAD: usize = 4 << 20;

/// Rows that [`StoredRows::change_all`] gives to all threads at once, and to a task.
const ROWS_OF_PASS: usize = 1 << 14;
const ROWS_OF_TASK: usize = 1 << 8;

/// Rows of `width` values. Changes are computed in `f32`; rows in `bf16` are widened before and rounded afterwards.
pub(super) struct StoredRows {
    width: usize,
    values: Stored,
    /// A row in `f32`, while it is changed.
    row: Vec<f32>,
}

enum Stored {
    F32(Values),
    Bf16(Values<u16>),
}

impl StoredRows {
    pub(super) fn zeros(
        rows: usize,
        width: usize,
        storage: &TableStorage,
        precision: Precision,
    ) -> Result<Self> {
        Ok(Self {
            width,
            values: match precision {
                Precision::F32 => Stored::F32(storage.zeros(rows * width)?),
                Precision::Bf16 => Stored::Bf16(storage.zeros(rows * width)?),
            },
            row: vec![0.0; width],
        })
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        let values = match &self.values {
            Stored::F32(values) => values.len(),
            Stored::Bf16(values) => values.len(),
        };
        values / self.width
    }

    /// Copies a range of a row's values.
    pub(super) fn copy(&self, row: usize, range: Range<usize>, out: &mut [f32]) {
        let first = row * self.width;
        let range = first + range.start..first + range.end;
        match &self.values {
            Stored::F32(values) => out.copy_from_slice(&values[range]),
            Stored::Bf16(values) => from_bf16(&values[range], out),
        }
    }

    /// Changes a row. In `bf16` its new values are rounded stochastically with random bits that depend on `key` alone, or
    /// to the nearest value without a key.
    pub(super) fn change(&mut self, row: usize, key: Option<u64>, change: impl FnOnce(&mut [f32])) {
        let range = row * self.width..(row + 1) * self.width;
        match &mut self.values {
            Stored::F32(values) => change(&mut values[range]),
            Stored::Bf16(values) => {
                let stored = &mut values[range];
                from_bf16(stored, &mut self.row);
                change(&mut self.row);
                to_bf16(&self.row, key, stored);
            }
        }
    }

    /// Changes every row, on all threads. In `bf16` rows are rounded with the random bits of their key, as by
    /// [`change`](Self::change).
    pub(super) fn change_all(
        &mut self,
        team: &mut Team,
        key: impl Fn(usize) -> Option<u64> + Sync,
        change: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let width = self.width;
        for first in (0..self.len()).step_by(ROWS_OF_PASS) {
            let rows = first..self.len().min(first + ROWS_OF_PASS);
            rows.clone().for_each(|row| self.read_ahead(row));
            let range = rows.start * width..rows.end * width;
            let first_of = |task: usize| first + task * ROWS_OF_TASK;
            match &mut self.values {
                Stored::F32(values) => {
                    let tasks = values[range].chunks_mut(ROWS_OF_TASK * width);
                    let mut tasks: Vec<_> = tasks.enumerate().collect();
                    team.for_each(&mut tasks, |(task, values)| {
                        let rows = values.chunks_exact_mut(width);
                        for (row, values) in (first_of(*task)..).zip(rows) {
                            change(row, values);
                        }
                    });
                }
                Stored::Bf16(values) => {
                    let tasks = values[range].chunks_mut(ROWS_OF_TASK * width);
                    let mut tasks: Vec<_> = tasks.enumerate().collect();
                    team.for_each(&mut tasks, |(task, stored)| {
                        let mut values = vec![0.0; width];
                        let rows = stored.chunks_exact_mut(width);
                        for (row, stored) in (first_of(*task)..).zip(rows) {
                            from_bf16(stored, &mut values);
                            change(row, &mut values);
                            to_bf16(&values, key(row), stored);
                        }
                    });
                }
            }
        }
    }

    /// Tells the system that access is random, so that it does not read ahead in a file (`MADV_RANDOM`).
    pub(super) fn advise_random(&self) {
        match &self.values {
            Stored::F32(values) => values.advise_random(),
            Stored::Bf16(values) => values.advise_random(),
        }
    }

    /// Prefetches a row, if it is in a file (`MADV_WILLNEED`).
    pub(super) fn prefetch(&self, row: usize) {
        self.prefetch_rows(row..row + 1);
    }

    /// To be called for each row of a pass over all rows in order. Prefetches later rows, if they are in a file: after
    /// [`advise_random`](Self::advise_random) the system would read a page at a time.
    pub(super) fn read_ahead(&self, row: usize) {
        let (in_file, bytes) = match &self.values {
            Stored::F32(values) => (values.is_in_file(), 4 * self.width),
            Stored::Bf16(values) => (values.is_in_file(), 2 * self.width),
        };
        let rows = (READ_AHEAD / bytes).max(1);
        if in_file && row.is_multiple_of(rows) {
            let first = if row == 0 { 0 } else { row + rows };
            let end = self.len().min(row + 2 * rows);
            self.prefetch_rows(first.min(end)..end);
        }
    }

    fn prefetch_rows(&self, rows: Range<usize>) {
        let range = rows.start * self.width..rows.end * self.width;
        match &self.values {
            Stored::F32(values) => values.prefetch(range),
            Stored::Bf16(values) => values.prefetch(range),
        }
    }

    /// Fails if values in a file were lost, because its disk failed.
    pub(super) fn check_kept(&self) -> Result<()> {
        match &self.values {
            Stored::F32(values) => values.check_kept(),
            Stored::Bf16(values) => values.check_kept(),
        }
    }
}
