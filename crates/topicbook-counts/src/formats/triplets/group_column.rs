//! The values of a column of a Parquet or Arrow file by their position, decoded by row groups.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use polars::prelude::Column;

use crate::error::{Error, Result};
use crate::formats::number_runs::visit_values;

use super::row_groups::{DAMAGED, TripletGroups};

/// A column of numbers, or of lists of numbers.
#[derive(Clone)]
pub struct GroupColumn {
    source: Arc<TripletGroups>,
    name: &'static str,
    /// For each row group the number of values before it, followed by the number of all.
    starts: Arc<[u64]>,
    last: LastGroup,
}

/// The row group that was decoded last: the next read often begins in it. A clone, which reads other rows, begins without one.
#[derive(Default)]
struct LastGroup(Mutex<Option<(usize, Column)>>);

impl Clone for LastGroup {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl GroupColumn {
    /// Bytes of a value in a buffer of rows.
    pub const WIDTH: u64 = size_of::<u32>() as u64;

    pub(super) fn new(
        source: &Arc<TripletGroups>,
        name: &'static str,
        starts: &Arc<[u64]>,
    ) -> Self {
        Self {
            source: Arc::clone(source),
            name,
            starts: Arc::clone(starts),
            last: LastGroup::default(),
        }
    }

    /// The row group with the value of this position.
    fn group_of(&self, position: u64) -> usize {
        self.starts.partition_point(|&start| start <= position) - 1
    }

    /// The bytes of the row groups with the values `range`.
    pub fn byte_range(&self, range: &Range<u64>) -> Range<u64> {
        if range.is_empty() {
            return 0..0;
        }
        let (first, last) = (self.group_of(range.start), self.group_of(range.end - 1));
        let start = self.source.bytes_of(first, self.name).start;
        start..self.source.bytes_of(last, self.name).end
    }

    /// Calls `visit` with runs of the values `range`, in order.
    pub fn read(
        &self,
        range: Range<u64>,
        mut visit: impl FnMut(&[f64]) -> Result<()>,
    ) -> Result<()> {
        let mut position = range.start;
        while position < range.end {
            let group = self.group_of(position);
            let (first, end) = (self.starts[group], self.starts[group + 1].min(range.end));
            let values = self.decode(group)?;
            let run = values.slice((position - first) as i64, (end - position) as usize);
            self.visit(&run, &mut visit)?;
            position = end;
        }
        Ok(())
    }

    /// Frees the row group that was decoded last.
    pub fn rest(&self) {
        *self.last.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn changed(&self, group: usize, what: String) -> Error {
        Error::format(self.source.path(), what)
            .at(format!("column {}, row group {group}", self.name))
            .fix(DAMAGED)
    }

    fn decode(&self, group: usize) -> Result<Column> {
        let mut last = self.last.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, values)) = last.as_ref()
            && *of == group
        {
            return Ok(values.clone());
        }
        // Freed before the next is decoded.
        *last = None;
        let values = self.source.read_column(group, self.name)?;
        let (found, expected) = (
            values.len() as u64,
            self.starts[group + 1] - self.starts[group],
        );
        if found != expected || values.null_count() > 0 {
            let nulls = values.null_count();
            let what = format!("has {found} values, {nulls} of them empty, and had {expected}");
            return Err(self.changed(group, what));
        }
        *last = Some((group, values.clone()));
        Ok(values)
    }

    fn visit(&self, values: &Column, visit: &mut impl FnMut(&[f64]) -> Result<()>) -> Result<()> {
        macro_rules! numbers {
            ($($of:ident)*) => {
                $(if let Ok(values) = values.$of() {
                    let mut chunks = values.downcast_iter();
                    return chunks.try_for_each(|chunk| {
                        visit_values(chunk.values(), |value| value as f64, &mut *visit)
                    });
                })*
            };
        }
        numbers!(u32 i64 i32 u64 f32 f64);
        let what = format!("has values of type {}", values.dtype());
        Err(Error::format(self.source.path(), what).fix(DAMAGED))
    }
}
