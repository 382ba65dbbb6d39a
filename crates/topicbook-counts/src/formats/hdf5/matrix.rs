//! Matrices in HDF5: sparse ones stay in the file where their rows are documents; others are read into memory.

use hdf5_pure::{Dataset, Layout};

use crate::csr::Csr;
use crate::dtype::Element;
use crate::error::Result;
use crate::formats::csr_arrays::{CsrArrays, Numbers};
use crate::formats::file_rows::FileRows;
use crate::formats::invalid_value;
use crate::formats::lazy_csr::{CsrFile, LazyCsr};
use crate::system::OpenFile;
use crate::text::counted;
use crate::{Counts, Location, Store, View};

use super::file::Hdf;
use super::numbers::{NumberArray, other_type, width_of};

/// Values that are examined to tell counts from other numbers.
const LOOK: u64 = 1 << 12;
/// Stored counts that are read at once into memory.
const READ: u64 = 1 << 18;

/// How a matrix is stored in the file.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Encoding {
    /// Compressed sparse rows; the rows are documents.
    Csr,
    /// Compressed sparse columns; the columns are terms.
    Csc,
    Dense,
}

/// A matrix whose sizes have been read.
pub(super) struct HdfMatrix {
    pub(super) hdf: Hdf,
    /// The path of its group, or of its dataset.
    pub(super) path: String,
    pub(super) encoding: Encoding,
    pub(super) documents: u64,
    pub(super) terms: u64,
    /// A note for users of the matrix.
    pub(super) note: Option<String>,
}

/// Sparse counts whose arrays have been found.
struct HdfFile {
    hdf: Hdf,
    documents: usize,
    terms: usize,
    stored: u64,
    encoding: Encoding,
    arrays: CsrArrays,
    note: Option<String>,
}

impl HdfMatrix {
    /// The counts. CSR stays in the file, CSC is read on first use, dense values are read now.
    pub(super) fn counts(&self) -> Result<Counts> {
        let most = u64::from(u32::MAX);
        if self.documents >= most || self.terms >= most {
            let (n, m) = (self.documents, self.terms);
            let what = format!("a shape of {n} × {m} is out of range: below {most} each");
            return Err(self.hdf.wrong(&self.path, what));
        }
        let (documents, terms) = (self.documents as usize, self.terms as usize);
        let location = Location::Loaded(self.hdf.path().to_path_buf());
        let store = match self.encoding {
            // `Counts::new` refuses them.
            _ if documents == 0 || terms == 0 => LazyCsr::ready(Csr::empty()),
            Encoding::Dense => LazyCsr::ready(self.dense()?),
            Encoding::Csr | Encoding::Csc => LazyCsr::in_file(self.sparse()?),
        };
        self.hdf.opened().check_unchanged()?;
        Counts::new(documents, terms, Store::Csr(store), location)
    }

    fn array(&self, name: &str, integers: bool) -> Result<NumberArray> {
        NumberArray::open(&self.hdf, format!("{}/{name}", self.path), integers)
    }

    /// Opens the three arrays, and compares their lengths with the shape.
    fn sparse(&self) -> Result<HdfFile> {
        let indptr = self.array("indptr", true)?;
        let indices = self.array("indices", true)?;
        let data = self.array("data", false)?;
        let rows = match self.encoding {
            Encoding::Csc => self.terms,
            _ => self.documents,
        };
        let stored = data.length();
        for (name, found, expected) in [
            ("indptr", indptr.length(), rows + 1),
            ("indices", indices.length(), stored),
        ] {
            if found != expected {
                let what = format!(
                    "{name} has {found} entries where {} documents × {} terms with {stored} stored counts need {expected}",
                    self.documents, self.terms
                );
                return Err(self.hdf.wrong(&format!("{}/{name}", self.path), what));
            }
        }
        let arrays = [indptr, indices, data].map(Numbers::Hdf5);
        let arrays = CsrArrays::new(rows as usize, stored, arrays);
        Ok(HdfFile {
            hdf: self.hdf.clone(),
            documents: self.documents as usize,
            terms: self.terms as usize,
            stored,
            encoding: self.encoding,
            note: self.note.clone(),
            arrays: match self.encoding {
                Encoding::Csc => arrays.by_terms(),
                _ => arrays,
            },
        })
    }

    /// Reads dense values in windows of rows, and keeps those that are not zero.
    fn dense(&self) -> Result<Csr> {
        let dataset = self.hdf.expect(&self.path)?;
        let (documents, terms) = (self.documents, self.terms);
        let rows = self.window(&dataset)?;
        let claim = self.hdf.opened().claim(format!(
            "{} × {}",
            counted(documents as usize, "document"),
            counted(terms as usize, "term")
        ));
        // The values as they are stored, unpacked, and as numbers.
        let window = rows.saturating_mul(terms).saturating_mul(24);
        claim.check_memory(window.saturating_add(8 * documents))?;
        let mut csr = Csr::empty();
        let mut weighed = 0;
        for first in (0..documents).step_by(rows as usize) {
            let number = rows.min(documents - first);
            let values = self.values(&dataset, first, number)?;
            for (row, values) in values.chunks_exact(terms as usize).enumerate() {
                let row = first as usize + row;
                for (column, &value) in values.iter().enumerate() {
                    check_count(value, row, column, self.hdf.path())?;
                }
                let columns = 0..terms as u32;
                csr.push_row(columns.zip(values.iter().copied()));
            }
            let held = 8 * csr.indices.len() as u64;
            if held > 2 * weighed {
                // A vector that grows is copied.
                weighed = held;
                claim.check_memory(2 * held + window)?;
            }
        }
        Ok(csr)
    }

    /// Rows that are read at once: whole chunks, so that each is unpacked once.
    fn window(&self, dataset: &Dataset) -> Result<u64> {
        let rows = (READ / self.terms.max(1)).max(1);
        let layout = self.hdf.guard(&self.path, || dataset.layout())?;
        Ok(match layout {
            Layout::Chunked { chunk_shape, .. } => {
                let chunk = chunk_shape.first().copied().unwrap_or(1).max(1);
                rows.checked_next_multiple_of(chunk)
                    .unwrap_or(u64::MAX)
                    .min(self.documents)
            }
            _ => rows,
        })
    }

    fn values(&self, dataset: &Dataset, first: u64, rows: u64) -> Result<Vec<f64>> {
        let kind = self.hdf.guard(&self.path, || dataset.dtype())?;
        if width_of(&kind).is_none() {
            return Err(other_type(&self.hdf, &self.path, &kind));
        }
        let values = self
            .hdf
            .guard(&self.path, || dataset.read_f64_rows(first, rows))?;
        match values.len() as u64 == rows.saturating_mul(self.terms) {
            true => Ok(values),
            false => {
                let what = format!("has {} values in {rows} rows", values.len());
                Err(self.hdf.wrong(&self.path, what))
            }
        }
    }

    /// The first value, of the first few thousand, that is no count: below zero, or no whole number.
    pub(super) fn first_other_number(&self) -> Result<Option<f64>> {
        let other = |value: f64| (!value.is_count()).then_some(value);
        if self.encoding == Encoding::Dense {
            let dataset = self.hdf.expect(&self.path)?;
            if self.terms == 0 || self.documents == 0 {
                return Ok(None);
            }
            let claim = self
                .hdf
                .opened()
                .claim(counted(self.terms as usize, "term"));
            claim.check_memory(self.terms.saturating_mul(24))?;
            let rows = (LOOK / self.terms).max(1).min(self.documents);
            let values = self.values(&dataset, 0, rows)?;
            return Ok(values.into_iter().find_map(other));
        }
        let data = self.array("data", false)?;
        let mut found = None;
        data.read(0..data.length().min(LOOK), |values| {
            found = found.or_else(|| values.iter().copied().find_map(other));
            Ok(())
        })?;
        Ok(found)
    }
}

/// Fails unless a value is a count that the `f32` of sparse counts represents exactly.
fn check_count(value: f64, row: usize, column: usize, path: &std::path::Path) -> Result<()> {
    match invalid_value::is_sparse_count(value) {
        true => Ok(()),
        false => Err(invalid_value::no_sparse_count(
            value,
            row,
            column,
            Some(path),
        )),
    }
}

impl CsrFile for HdfFile {
    fn file(&self) -> &OpenFile {
        self.hdf.opened()
    }

    fn shape(&self) -> (usize, usize) {
        (self.documents, self.terms)
    }

    fn stored(&self) -> u64 {
        self.stored
    }

    fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Rows are documents in CSR alone.
    fn rows(&self) -> Option<FileRows> {
        let is_csr = self.encoding == Encoding::Csr;
        is_csr.then(|| FileRows::Arrays(Box::new(self.arrays.clone())))
    }

    fn scratch_bytes(&self) -> u64 {
        match self.encoding {
            Encoding::Csc => 8 * (self.stored + self.terms as u64 + self.documents as u64 + 1),
            _ => 0,
        }
    }

    fn read(&self) -> Result<Csr> {
        let file = self.hdf.opened();
        file.check_unchanged()?;
        let (rows, columns) = match self.encoding {
            Encoding::Csc => (self.terms, self.documents),
            _ => (self.documents, self.terms),
        };
        let csr = self.arrays.read_all(file, columns)?;
        Ok(match self.encoding {
            Encoding::Csc => Csr::transposed(&View::Csr(&csr), rows, columns),
            _ => csr,
        })
    }
}
