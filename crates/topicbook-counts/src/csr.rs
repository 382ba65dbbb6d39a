//! Compressed sparse rows (CSR).

use std::ops::Range;
use std::path::Path;

use crate::View;
use crate::data::Matrix;
use crate::error::Error;
use crate::rows::{NonzeroBuffer, nonzeros_of_row};

/// A matrix in compressed sparse rows: row `i` has the values `values[indptr[i]..indptr[i + 1]]` in the columns
/// `indices[indptr[i]..indptr[i + 1]]`, which increase strictly within the row.
#[derive(Debug)]
pub struct Csr {
    pub indptr: Vec<u64>,
    pub indices: Vec<u32>,
    pub values: Vec<f32>,
}

/// A defect of sparse arrays; [`in_memory`](Self::in_memory) or [`in_file`](Self::in_file) makes an error from it.
pub(super) struct CsrDefect {
    what: String,
    place: String,
    fix: &'static str,
}

impl CsrDefect {
    pub(super) fn in_memory(self) -> Error {
        Error::shape(self.what).at(self.place).fix(self.fix)
    }

    pub(super) fn in_file(self, path: &Path) -> Error {
        Error::format(path, self.what).at(self.place).fix(self.fix)
    }
}

const INDPTR: &str = "indptr has documents + 1 entries: the first is 0, none is smaller than the one before, and the last is the number of values";
const INDICES: &str = "column indices go from 0 to terms - 1";
const DUPLICATE: &str = "add them up first: X.sum_duplicates() in SciPy, group_by([\"doc\", \"term\"]).sum() in a table";

/// Checks the columns of one row, and sorts the row by column if it is not sorted.
pub(super) fn check_row(
    row: usize,
    terms: usize,
    columns: &mut [u32],
    values: &mut [f32],
) -> Result<(), CsrDefect> {
    // Nearly all rows are sorted: the loop has no early exit, so that it uses vector registers.
    let increases = |all, pair: &[u32; 2]| all & (pair[0] < pair[1]);
    let increasing = columns.array_windows().fold(true, increases);
    if increasing && columns.last().is_none_or(|&last| (last as usize) < terms) {
        return Ok(());
    }
    let problem = |what: String, place: String, fix| Err(CsrDefect { what, place, fix });
    if let Some(&column) = columns.iter().find(|&&column| column as usize >= terms) {
        return problem(
            format!("column {column} of counts with {terms} terms"),
            format!("row {row}"),
            INDICES,
        );
    }
    if !columns.is_sorted() {
        let mut sorted: Vec<(u32, f32)> = columns
            .iter()
            .copied()
            .zip(values.iter().copied())
            .collect();
        sorted.sort_by_key(|pair| pair.0);
        for (position, (column, value)) in sorted.into_iter().enumerate() {
            columns[position] = column;
            values[position] = value;
        }
    }
    if let Some(pair) = columns.windows(2).find(|pair| pair[0] == pair[1]) {
        return problem(
            "two values for the same document and term".into(),
            format!("row {row}, column {}", pair[0]),
            DUPLICATE,
        );
    }
    Ok(())
}

impl Csr {
    /// A matrix without rows.
    pub(super) fn empty() -> Self {
        Self {
            indptr: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Appends a row of counts by increasing column. Zeros are not stored.
    pub(super) fn push_row(&mut self, row: impl Iterator<Item = (u32, f64)>) {
        for (column, count) in row.filter(|entry| entry.1 != 0.0) {
            self.indices.push(column);
            self.values.push(count as f32);
        }
        self.indptr.push(self.indices.len() as u64);
    }

    /// Appends the rows of another matrix.
    pub(super) fn append(&mut self, other: &Self) {
        self.append_rows(other, 0..other.indptr.len() - 1);
    }

    /// Appends some rows of another matrix.
    pub(super) fn append_rows(&mut self, other: &Self, rows: Range<usize>) {
        let (before, bounds) = (
            self.indices.len() as u64,
            &other.indptr[rows.start..=rows.end],
        );
        let entries = bounds[0] as usize..bounds[rows.len()] as usize;
        self.indptr
            .extend(bounds[1..].iter().map(|end| before + end - bounds[0]));
        self.indices
            .extend_from_slice(&other.indices[entries.clone()]);
        self.values.extend_from_slice(&other.values[entries]);
    }

    /// Removes all rows and keeps the allocations.
    pub(super) fn clear(&mut self) {
        self.indptr.truncate(1);
        self.indices.clear();
        self.values.clear();
    }

    /// Checks all invariants of the format, and sorts the rows by column where they are not sorted.
    pub(super) fn new(
        documents: usize,
        terms: usize,
        indptr: Vec<u64>,
        mut indices: Vec<u32>,
        mut values: Vec<f32>,
    ) -> Result<Self, CsrDefect> {
        let problem = |what: String, place: &str, fix| CsrDefect {
            what,
            place: place.into(),
            fix,
        };
        if indices.len() != values.len() {
            return Err(problem(
                format!("{} indices and {} values", indices.len(), values.len()),
                "the lengths of indices and data",
                "pass one column index per value",
            ));
        }
        if documents.checked_add(1) != Some(indptr.len()) {
            return Err(problem(
                format!(
                    "indptr has {} entries for {documents} documents",
                    indptr.len()
                ),
                "the length of indptr",
                INDPTR,
            ));
        }
        if indptr[0] != 0 {
            return Err(problem(
                format!("indptr starts with {}", indptr[0]),
                "indptr[0]",
                INDPTR,
            ));
        }
        if let Some(row) = indptr.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(problem(
                format!("indptr falls from {} to {}", indptr[row], indptr[row + 1]),
                &format!("indptr[{}]", row + 1),
                INDPTR,
            ));
        }
        if indptr[documents] != values.len() as u64 {
            return Err(problem(
                format!(
                    "indptr ends with {} and there are {} values",
                    indptr[documents],
                    values.len()
                ),
                &format!("indptr[{documents}]"),
                INDPTR,
            ));
        }
        for row in 0..documents {
            let range = indptr[row] as usize..indptr[row + 1] as usize;
            check_row(row, terms, &mut indices[range.clone()], &mut values[range])?;
        }
        Ok(Self {
            indptr,
            indices,
            values,
        })
    }

    /// Builds rows from triplets in any order. The caller has checked the indices against the shape.
    ///
    /// Fails if a pair of row and column occurs twice; the message names both entries by `name`.
    pub(super) fn from_triplets(
        documents: usize,
        rows: &[u32],
        columns: &[u32],
        counts: &[f32],
        name: impl Fn(usize) -> String,
    ) -> Result<Self, CsrDefect> {
        // Counting sort of the entries by row. The entries of row `i` are counted at `i + 2`. So place `i + 1` is first the
        // start of the row, and its end once its entries have their positions.
        let mut indptr = vec![0u64; documents + 2];
        for &row in rows {
            indptr[row as usize + 2] += 1;
        }
        for row in 0..documents {
            indptr[row + 2] += indptr[row + 1];
        }
        let mut order = vec![0usize; rows.len()];
        for (entry, &row) in rows.iter().enumerate() {
            let position = &mut indptr[row as usize + 1];
            order[*position as usize] = entry;
            *position += 1;
        }
        indptr.pop();
        for row in 0..documents {
            let entries = &mut order[indptr[row] as usize..indptr[row + 1] as usize];
            entries.sort_by_key(|&entry| columns[entry]);
            if let Some(pair) = entries
                .windows(2)
                .find(|pair| columns[pair[0]] == columns[pair[1]])
            {
                return Err(CsrDefect {
                    what: format!("document {row} and term {} come twice", columns[pair[0]]),
                    place: format!("{} and {}", name(pair[0]), name(pair[1])),
                    fix: DUPLICATE,
                });
            }
        }
        Ok(Self {
            indptr,
            indices: order.iter().map(|&entry| columns[entry]).collect(),
            values: order.iter().map(|&entry| counts[entry]).collect(),
        })
    }

    /// Transposes a matrix of `rows` x `columns`: row `j` of the result has the rows of `view` with a nonzero count in
    /// column `j`, in increasing order.
    ///
    /// A counting sort: two passes over the counts, O(nonzeros + columns), and 8 bytes per nonzero count in the result.
    pub fn transposed(view: &View<'_>, rows: usize, columns: usize) -> Self {
        let mut buffer = NonzeroBuffer::default();
        let mut indptr = vec![0u64; columns + 1];
        for row in 0..rows {
            for &column in nonzeros_of_row(view, columns, row, &mut buffer).0 {
                indptr[column as usize + 1] += 1;
            }
        }
        for column in 0..columns {
            indptr[column + 1] += indptr[column];
        }
        let mut next = indptr.clone();
        let mut indices = vec![0; indptr[columns] as usize];
        let mut values = vec![0.0; indptr[columns] as usize];
        for row in 0..rows {
            let (row_columns, row_values) = nonzeros_of_row(view, columns, row, &mut buffer);
            for (&column, &value) in row_columns.iter().zip(row_values) {
                let position = &mut next[column as usize];
                indices[*position as usize] = row as u32;
                values[*position as usize] = value;
                *position += 1;
            }
        }
        Self {
            indptr,
            indices,
            values,
        }
    }

    /// The columns and values of one row.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.indptr[row] as usize..self.indptr[row + 1] as usize;
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Writes rows to `out` as dense `f32`, one after the other. The caller has checked the row numbers and that `out`
    /// has `rows.len() * terms` values.
    pub(super) fn fill(&self, terms: usize, rows: &[usize], out: &mut [f32]) {
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(terms)) {
            out.fill(0.0);
            let (columns, values) = self.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                out[column as usize] = value;
            }
        }
    }

    /// All rows as a dense matrix.
    pub(super) fn to_dense(&self, terms: usize) -> Matrix {
        let rows: Vec<usize> = (0..self.indptr.len() - 1).collect();
        let mut values = vec![0.0; rows.len() * terms];
        self.fill(terms, &rows, &mut values);
        Matrix::from_parts(rows.len(), terms, values)
    }

    /// Copies rows, in the order given.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let mut indptr = Vec::with_capacity(rows.len() + 1);
        let mut indices = Vec::new();
        let mut values = Vec::new();
        indptr.push(0);
        for &row in rows {
            let (columns, row_values) = self.row(row);
            indices.extend_from_slice(columns);
            values.extend_from_slice(row_values);
            indptr.push(indices.len() as u64);
        }
        Self {
            indptr,
            indices,
            values,
        }
    }
}
