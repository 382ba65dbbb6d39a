//! Opens archives, and reads their counts into memory on first use.

use std::path::Path;

use crate::csr::{Csr, CsrDefect};
use crate::error::{Error, Result};
use crate::formats::csr_arrays::{CsrArrays, Numbers};
use crate::formats::file_rows::FileRows;
use crate::formats::invalid_value;
use crate::formats::lazy_csr::{CsrFile, LazyCsr};
use crate::system::OpenFile;
use crate::{Counts, Location, Store, View};

use super::archive::{
    Archive, SparseFormat, entry, length, open_archive, read_numbers, reserve, shape, sparse_format,
};
use super::stored::locate_array;

/// An archive whose headers have been read.
struct NpzFile {
    file: OpenFile,
    documents: usize,
    terms: usize,
    /// Number of stored counts.
    stored: u64,
    format: SparseFormat,
    /// The arrays in the file, if the format is CSR and the entries are not compressed.
    arrays: Option<CsrArrays>,
}

/// Opens an archive: reads the format, the shape and the headers of the arrays.
pub fn open(path: &Path) -> Result<Counts> {
    open_file(OpenFile::open(path)?)
}

/// [`open`] of a temporary file, whose name is removed.
pub fn open_unlinked(path: &Path) -> Result<Counts> {
    open_file(OpenFile::open_unlinked(path)?)
}

fn open_file(file: OpenFile) -> Result<Counts> {
    let path = &file.path.clone();
    let mut archive = open_archive(&file)?;
    let format = sparse_format(&file, &mut archive)?;
    let (documents, terms) = shape(&file, &mut archive)?;
    let (inner, outer, outer_length) = match format {
        SparseFormat::Csr => ("indices", "indptr", documents.checked_add(1)),
        SparseFormat::Csc => ("indices", "indptr", terms.checked_add(1)),
        SparseFormat::Coo => ("row", "col", None),
    };
    let stored = length(&file, &mut archive, "data")?;
    let expected = [
        (inner, stored),
        (outer, outer_length.map_or(stored, |n| n as u64)),
    ];
    for (name, expected) in expected {
        let found = length(&file, &mut archive, name)?;
        if found != expected {
            return Err(Error::format(
                path,
                format!(
                    "{name} has {found} entries where {documents} documents × {terms} terms with {stored} stored counts need {expected}"
                ),
            )
            .at(entry(name))
            .fix("write it again with scipy.sparse.save_npz"));
        }
    }
    let mut array = |name| locate_array(&file, &mut archive, name);
    let arrays = match format {
        SparseFormat::Csr => match (array("indptr")?, array("indices")?, array("data")?) {
            (Some(indptr), Some(indices), Some(data)) => {
                let arrays = [indptr, indices, data].map(Numbers::Npz);
                Some(CsrArrays::new(documents, stored, arrays))
            }
            _ => None,
        },
        _ => None,
    };
    drop(archive);
    let source = NpzFile {
        file,
        documents,
        terms,
        stored,
        format,
        arrays,
    };
    let store = Store::Csr(LazyCsr::in_file(source));
    Counts::new(
        documents,
        terms,
        store,
        Location::Loaded(path.to_path_buf()),
    )
}

impl CsrFile for NpzFile {
    fn file(&self) -> &OpenFile {
        &self.file
    }

    fn shape(&self) -> (usize, usize) {
        (self.documents, self.terms)
    }

    fn stored(&self) -> u64 {
        self.stored
    }

    fn rows(&self) -> Option<FileRows> {
        let arrays = self.arrays.clone()?;
        Some(FileRows::Arrays(Box::new(arrays)))
    }

    fn scratch_bytes(&self) -> u64 {
        match self.format {
            SparseFormat::Csr => 0,
            // The matrix by columns, before it is transposed, and the positions in the rows meanwhile.
            SparseFormat::Csc => 8 * (self.stored + self.terms as u64 + self.documents as u64 + 1),
            // Row (4 bytes), column (4), count (4) and sorted position (8) of every entry.
            SparseFormat::Coo => 20 * self.stored,
        }
    }

    fn read(&self) -> Result<Csr> {
        self.file.check_unchanged()?;
        let path = &self.file.path;
        let (documents, terms) = (self.documents, self.terms);
        let mut archive = open_archive(&self.file)?;
        let in_file = |problem: CsrDefect| problem.in_file(path);
        match self.format {
            SparseFormat::Csr => {
                let indptr = offsets(&self.file, &mut archive)?;
                let indices = indices(&self.file, &mut archive, "indices", terms)?;
                let values = self.values(&mut archive, |entry| {
                    (owner(&indptr, entry), indices[entry] as usize)
                })?;
                Csr::new(documents, terms, indptr, indices, values).map_err(in_file)
            }
            SparseFormat::Csc => {
                let indptr = offsets(&self.file, &mut archive)?;
                let rows = indices(&self.file, &mut archive, "indices", documents)?;
                let values = self.values(&mut archive, |entry| {
                    (rows[entry] as usize, owner(&indptr, entry))
                })?;
                // A CSC matrix is the CSR matrix of its transpose, so the checks are the same.
                let columns = Csr::new(terms, documents, indptr, rows, values).map_err(in_file)?;
                Ok(Csr::transposed(&View::Csr(&columns), terms, documents))
            }
            SparseFormat::Coo => {
                let rows = indices(&self.file, &mut archive, "row", documents)?;
                let columns = indices(&self.file, &mut archive, "col", terms)?;
                let values = self.values(&mut archive, |entry| {
                    (rows[entry] as usize, columns[entry] as usize)
                })?;
                Csr::from_triplets(documents, &rows, &columns, &values, |entry| {
                    format!("entry {entry}")
                })
                .map_err(in_file)
            }
        }
    }
}

impl NpzFile {
    /// Reads the values as `f32`. Fails on the first value (by row, then column) that is not a count or not exact in
    /// `f32`. `place` gives the row and column of an entry.
    fn values(
        &self,
        archive: &mut Archive<'_>,
        place: impl Fn(usize) -> (usize, usize),
    ) -> Result<Vec<f32>> {
        let path = &self.file.path;
        let mut values = reserve(path, self.stored)?;
        let mut bad: Option<((usize, usize), f64)> = None;
        read_numbers(&self.file, archive, "data", |entry, value| {
            if !invalid_value::is_sparse_count(value) {
                let place = place(entry);
                if bad.is_none_or(|(first, _)| place < first) {
                    bad = Some((place, value));
                }
            }
            values.push(value as f32);
        })?;
        match bad {
            None => Ok(values),
            Some(((row, column), value)) => Err(invalid_value::no_sparse_count(
                value,
                row,
                column,
                Some(path),
            )),
        }
    }
}

/// The row (or column) of an entry. Not meaningful if `indptr` is invalid, which is reported later.
fn owner(indptr: &[u64], entry: usize) -> usize {
    indptr
        .partition_point(|&start| start <= entry as u64)
        .saturating_sub(1)
}

/// Reads row or column numbers, and checks that each is below `bound`.
fn indices(
    file: &OpenFile,
    archive: &mut Archive<'_>,
    name: &str,
    bound: usize,
) -> Result<Vec<u32>> {
    let path = &file.path;
    let mut indices = reserve(path, length(file, archive, name)?)?;
    let mut bad = None;
    read_numbers(file, archive, name, |position, index| {
        if !(index >= 0.0 && index < bound as f64) {
            bad.get_or_insert((position, index));
        }
        indices.push(index as u32);
    })?;
    match bad {
        None => Ok(indices),
        Some((position, index)) => Err(Error::format(
            path,
            format!(
                "index {index} is out of range: from 0 to {}",
                bound.saturating_sub(1)
            ),
        )
        .at(format!("{name}[{position}]"))
        .fix("write it again with scipy.sparse.save_npz")),
    }
}

/// Reads `indptr`, and checks that no value is negative.
fn offsets(file: &OpenFile, archive: &mut Archive<'_>) -> Result<Vec<u64>> {
    let path = &file.path;
    let mut offsets = reserve(path, length(file, archive, "indptr")?)?;
    let mut bad = None;
    read_numbers(file, archive, "indptr", |position, offset| {
        if offset < 0.0 {
            bad.get_or_insert((position, offset));
        }
        offsets.push(offset as u64);
    })?;
    match bad {
        None => Ok(offsets),
        Some((position, offset)) => Err(Error::format(
            path,
            format!("indptr has the negative value {offset}"),
        )
        .at(format!("indptr[{position}]"))
        .fix("write it again with scipy.sparse.save_npz")),
    }
}
