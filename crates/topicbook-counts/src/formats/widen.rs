//! Dtypes of files for which there are no kernels: their values are read as another dtype, which has kernels.
//!
//! Values that are not negative have the same bits as signed and unsigned integers. So signed bytes are mapped as unsigned
//! ones after a check of the sign bit, and half-precision numbers, of which counts are below 2^16, become `u16`.

use std::path::Path;
use std::sync::Arc;

use half::f16;
use rayon::prelude::*;

use crate::dense::{DenseStore, ValueStorage};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::system::{Claim, MappedFile};
use crate::text::counted;
use crate::{Counts, Location, Store};

use super::invalid_value;

/// How a file stores its values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stored {
    /// As one of the dtypes.
    As(Dtype),
    Bool,
    I8,
    I16,
    U64,
    F16,
    Bf16,
}

/// A matrix in a mapped file.
pub(super) struct MappedMatrix {
    pub(super) map: Arc<MappedFile>,
    /// Byte offset of the first value.
    pub(super) start: usize,
    pub(super) documents: usize,
    pub(super) terms: usize,
}

impl Stored {
    /// Bytes of a value in the file.
    pub(super) fn bytes(self) -> usize {
        match self {
            Stored::As(dtype) => dtype.bytes(),
            Stored::Bool | Stored::I8 => 1,
            Stored::I16 | Stored::F16 | Stored::Bf16 => 2,
            Stored::U64 => 8,
        }
    }

    /// Name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Stored::As(dtype) => dtype.name(),
            Stored::Bool => "bool",
            Stored::I8 => "i8",
            Stored::I16 => "i16",
            Stored::U64 => "u64",
            Stored::F16 => "f16",
            Stored::Bf16 => "bf16",
        }
    }

    /// The counts of a matrix. Reads its values once if they have none of the dtypes.
    pub(super) fn counts(self, matrix: MappedMatrix) -> Result<Counts> {
        let (documents, terms) = (matrix.documents, matrix.terms);
        let path = matrix.map.path().to_path_buf();
        let store = match self {
            Stored::As(dtype) => matrix.mapped(dtype)?,
            Stored::Bool => {
                matrix.checked::<u8>(Dtype::U8, |value| (value > 1).then_some(f64::from(value)))?
            }
            Stored::I8 => {
                matrix.checked::<u8>(Dtype::U8, |value| negative((value as i8).into()))?
            }
            Stored::I16 => {
                matrix.checked::<u16>(Dtype::U16, |value| negative((value as i16).into()))?
            }
            Stored::U64 => matrix.checked::<i64>(Dtype::I64, |value| {
                (value < 0).then_some(value as u64 as f64)
            })?,
            Stored::F16 => {
                matrix.converted(|bits| f16::from_bits(bits).to_f64(), |value| value as u16)?
            }
            Stored::Bf16 => matrix.converted(
                |bits| f64::from(f32::from_bits(u32::from(bits) << 16)),
                |value| value as f32,
            )?,
        };
        let location = match store.in_file() {
            Some(_) => Location::File(path),
            None => Location::Loaded(path),
        };
        Counts::new(documents, terms, Store::Dense(store), location)
    }
}

fn negative(value: f64) -> Option<f64> {
    (value < 0.0).then_some(value)
}

impl MappedMatrix {
    fn values(&self) -> usize {
        self.documents * self.terms
    }

    fn mapped(&self, dtype: Dtype) -> Result<DenseStore> {
        DenseStore::mapped(Arc::clone(&self.map), self.start, self.values(), dtype)
    }

    fn storage<T: Element>(&self) -> Result<ValueStorage<T>> {
        ValueStorage::of_map(Arc::clone(&self.map), self.start, self.values())
    }

    fn error(&self, at: usize, value: f64) -> Error {
        let (row, column) = (at / self.terms, at % self.terms);
        let path: &Path = self.map.path();
        match value >= 0.0 && value <= f64::from(f32::MAX) && value.trunc() == value {
            true => Error::format(path, format!("{value} is out of the range of its dtype"))
                .at(invalid_value::place(row, column))
                .fix("a bool is 0 or 1, and counts are below 2^63: write the file again"),
            false => invalid_value::not_a_count(value, row, column, Some(path)),
        }
    }

    /// The values as `dtype` (`T`). Fails at the first for which `wrong` gives the value that it stands for.
    fn checked<T: Element>(
        self,
        dtype: Dtype,
        wrong: impl Fn(T) -> Option<f64> + Sync,
    ) -> Result<DenseStore> {
        let storage = self.storage::<T>()?;
        let values = storage.values()?;
        let found = values
            .par_iter()
            .position_first(|&value| wrong(value).is_some());
        self.map.check_unchanged()?;
        match found.and_then(|at| Some((at, wrong(values[at])?))) {
            Some((at, value)) => Err(self.error(at, value)),
            None => self.mapped(dtype),
        }
    }

    /// The values in memory, decoded from 16 bits each and converted.
    fn converted<T: crate::CountValue>(
        self,
        decode: impl Fn(u16) -> f64 + Sync,
        convert: impl Fn(f64) -> T + Sync,
    ) -> Result<DenseStore> {
        let needed = self.values() as u64 * size_of::<T>() as u64;
        Claim::new(
            self.map.path(),
            format!(
                "{} × {}",
                counted(self.documents, "document"),
                counted(self.terms, "term")
            ),
            "half-precision numbers, which are read into memory",
        )
        .check_memory(needed)?;
        let storage = self.storage::<u16>()?;
        let values = storage.values()?;
        let found = values
            .par_iter()
            .position_first(|&bits| !decode(bits).is_count());
        let converted: Vec<T> = values
            .par_iter()
            .map(|&bits| convert(decode(bits)))
            .collect();
        self.map.check_unchanged()?;
        match found {
            Some(at) => Err(self.error(at, decode(values[at]))),
            None => Ok(DenseStore::from_vec(converted)),
        }
    }
}
