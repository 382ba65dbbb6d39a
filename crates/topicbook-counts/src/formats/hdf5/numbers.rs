//! Arrays of numbers in HDF5, read in windows.

use std::ops::Range;

use hdf5_pure::{DType, Dataset, Datatype};

use crate::error::{Error, Result};

use super::file::Hdf;

/// Numbers read at once: with the chunks that they lie in, about 2 MiB.
const WINDOW: u64 = 1 << 17;

/// An array of one dimension. Cheap to clone.
#[derive(Clone)]
pub struct NumberArray {
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
        let kind = hdf.guard(&path, || dataset.dtype())?;
        let width = match kind {
            DType::F32 | DType::F64 if integers => None,
            _ => width_of(&kind),
        };
        match width {
            Some(width) => Self::new(hdf, dataset, path, width),
            None => Err(other_type(hdf, &path, &kind)),
        }
    }

    /// Opens an array of numbers or of truth values, which are 0 and 1; `None` if its values are others.
    pub(super) fn any(hdf: &Hdf, path: &str) -> Result<Option<Self>> {
        let dataset = hdf.expect(path)?;
        let kind = hdf.guard(path, || dataset.dtype())?;
        width_of(&kind)
            .map(|width| Self::new(hdf, dataset, path.into(), width))
            .transpose()
    }

    fn new(hdf: &Hdf, dataset: Dataset, path: String, width: usize) -> Result<Self> {
        Ok(Self {
            hdf: hdf.clone(),
            length: hdf.length(&path, &dataset)?,
            dataset,
            path,
            width,
        })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// The numbers as texts where they are whole numbers of 64 bits, of which `f64` rounds some above 2^53.
    pub(super) fn texts(&self) -> Result<Option<Vec<String>>> {
        let dataset = &self.dataset;
        self.hdf.guard(&self.path, || {
            Ok(match dataset.dtype()? {
                DType::I64 => Some(dataset.read_i64()?.iter().map(i64::to_string).collect()),
                DType::U64 => Some(dataset.read_u64()?.iter().map(u64::to_string).collect()),
                _ => None,
            })
        })
    }

    /// Calls `visit` with runs of the numbers `range`, in order.
    pub fn read(
        &self,
        range: Range<u64>,
        mut visit: impl FnMut(&[f64]) -> Result<()>,
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
            visit(&values)?;
            start += number;
        }
        Ok(())
    }
}

/// The error for values that are no numbers of a type that is read.
pub(super) fn other_type(hdf: &Hdf, path: &str, kind: &DType) -> Error {
    let kind = match kind {
        DType::Other(kind) if matches!(**kind, Datatype::FloatingPoint { size: 2, .. }) => {
            "float16".into()
        }
        kind => kind.to_string(),
    };
    let what = format!("has values of type {kind}, which is not read");
    let fix = "write it again with numbers of 32 or 64 bits, in Python: adata.X = adata.X.astype(\"float32\"); adata.write_h5ad(\"new.h5ad\")";
    Error::format(hdf.path(), what).at(path).fix(fix)
}

/// Bytes of a number; `None` for values that are no numbers.
pub(super) fn width_of(kind: &DType) -> Option<usize> {
    match kind {
        DType::I8 | DType::U8 => Some(1),
        // h5py writes truth values so.
        DType::Enum(names) if names == &["FALSE", "TRUE"] => Some(1),
        DType::I16 | DType::U16 => Some(2),
        DType::I32 | DType::U32 | DType::F32 => Some(4),
        DType::I64 | DType::U64 | DType::F64 => Some(8),
        _ => None,
    }
}
