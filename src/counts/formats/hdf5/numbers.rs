//! Arrays of numbers in HDF5, read in windows.

use std::ops::Range;

use hdf5_pure::{DType, Dataset};

use crate::error::Result;

use super::file::Hdf;

/// Numbers read at once: with the chunks that they lie in, about 2 MiB.
const WINDOW: u64 = 1 << 17;

/// An array of one dimension. Cheap to clone.
#[derive(Clone)]
pub(crate) struct NumberArray {
    hdf: Hdf,
    dataset: Dataset,
    path: String,
    length: u64,
    /// Bytes of a number.
    width: usize,
}

impl NumberArray {
    /// Opens an array. Indices and row starts are integers, counts any numbers.
    pub(super) fn open(hdf: &Hdf, path: String, integers: bool) -> Result<Self> {
        let dataset = hdf.expect(&path)?;
        let length = hdf.length(&path, &dataset)?;
        let kind = hdf.guard(&path, || dataset.dtype())?;
        let width = match kind {
            DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 => 2,
            DType::I32 | DType::U32 => 4,
            DType::I64 | DType::U64 => 8,
            DType::F32 if !integers => 4,
            DType::F64 if !integers => 8,
            _ => return Err(hdf.wrong(&path, format!("has values of type {kind}"))),
        };
        Ok(Self {
            hdf: hdf.clone(),
            dataset,
            path,
            length,
            width,
        })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Calls `visit` with the numbers `range`, in order.
    pub(crate) fn read(
        &self,
        range: Range<u64>,
        mut visit: impl FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let mut start = range.start;
        while start < range.end {
            let number = (range.end - start).min(WINDOW);
            let values = self
                .hdf
                .guard(&self.path, || self.dataset.read_f64_rows(start, number))?;
            if values.len() as u64 != number {
                let what = format!("ends after {} numbers", start + values.len() as u64);
                return Err(self.hdf.wrong(&self.path, what));
            }
            for value in values {
                visit(value)?;
            }
            start += number;
        }
        Ok(())
    }
}
