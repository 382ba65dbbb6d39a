//! Writing counts that arrive in blocks of documents.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::data::OrRef;
use crate::error::{Error, Result};
use crate::system::memory::free_memory;
use crate::text::shown_path;

use super::dense::DenseRows;
use super::dtype::{CountValue, Element, with_values};
use super::formats::{self, invalid_value};
use super::rows::{Pick, find_nonzeros};
use super::spool::Spool;
use super::{Counts, Location, View};

/// Most bytes of rows in memory.
const MOST_BYTES: u64 = 256 << 20;

/// Writes counts that arrive in blocks of documents to a file, in bounded memory. [`Counts::writer`] makes it.
///
/// ```
/// use topicbook::{Counts, CountsWriter};
/// # let _folder = topicbook::example_folder()?;
/// let mut writer: CountsWriter = Counts::writer("X.npz", 3)?;
/// writer.append(Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?)?;
/// writer.append_document(&[2, 0], &[5.0, 1.0])?;
/// assert_eq!(writer.documents(), 3);
/// let counts = writer.finish()?;
/// assert_eq!(counts.summary()?.document_lengths(), [3.0, 4.0, 6.0]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[must_use = "call finish: without it no file is written"]
pub struct CountsWriter {
    path: PathBuf,
    terms: usize,
    spool: Spool,
}

impl Counts {
    /// Begins a file of counts (`.npz`, `.tbc` or `.npy`) of this number of terms, to which documents are appended: preprocessing
    /// whose result does not fit into memory writes its documents as it makes them.
    ///
    /// The file appears as `path` only with [`finish`](CountsWriter::finish): until then documents are in memory (up to
    /// 256 MB) and in unnamed temporary files in the same folder.
    ///
    /// ```
    /// use topicbook::Counts;
    /// # let _folder = topicbook::example_folder()?;
    /// let mut writer = Counts::writer("X.npy", 4)?;
    /// for document in 0..10u32 {
    ///     writer.append_document(&[document % 4], &[300.0])?;
    /// }
    /// assert_eq!(writer.finish()?.shape(), (10, 4));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the path has another extension, or its folder does not exist.
    pub fn writer(path: impl AsRef<Path>, terms: usize) -> Result<CountsWriter> {
        CountsWriter::new(path.as_ref(), terms)
    }
}

impl CountsWriter {
    fn new(path: &Path, terms: usize) -> Result<Self> {
        if !["npz", "tbc", "npy"].contains(&formats::extension(path).as_str()) {
            return Err(Error::setting(format!(
                "{}: documents are appended to .npz, .tbc and .npy files",
                shown_path(path)
            ))
            .fix("name a file that ends in .npz, .tbc or .npy"));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        std::fs::metadata(folder)
            .map_err(|source| Error::io("write to the folder", folder, source))?;
        let limit = MOST_BYTES.min(free_memory() / 16);
        Ok(Self {
            path: path.to_path_buf(),
            terms,
            spool: Spool::new(folder, limit),
        })
    }

    /// The file that `finish` writes.
    #[doc(hidden)]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of terms.
    #[doc(hidden)]
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// Number of documents so far.
    pub fn documents(&self) -> usize {
        self.spool.documents()
    }

    /// Appends the documents of counts.
    ///
    /// # Errors
    /// If the counts have another number of terms, or a value is no count or not exact as the `f32` of sparse counts. If
    /// their file cannot be read, or a temporary file cannot be written.
    ///
    /// # Cost
    /// One pass over the counts, in blocks of up to 64 MB.
    pub fn append(&mut self, counts: impl OrRef<Counts>) -> Result<()> {
        self.append_counts(counts.value())
    }

    fn append_counts(&mut self, counts: &Counts) -> Result<()> {
        let terms = self.terms;
        if counts.terms() != terms {
            let what = format!("counts of {} terms for a file of {terms}", counts.terms());
            return Err(
                Error::shape(what).fix("append counts of the same terms, in the same order")
            );
        }
        each_sparse_row(counts, Pick::All, &mut |_, columns, values| {
            let row = columns.iter().copied().zip(values.iter().copied());
            self.spool.push(row)
        })
    }

    /// Appends one document: its terms (columns, in any order, each at most once) and their counts.
    ///
    /// # Errors
    /// If the two differ in length, a term is out of range or comes twice, or a value is no count; if a temporary file cannot
    /// be written.
    pub fn append_document(&mut self, terms: &[u32], counts: &[f32]) -> Result<()> {
        let document = self.documents();
        let place = || format!("document {document} (counted from 0)");
        if terms.len() != counts.len() {
            let what = format!("{} terms and {} counts", terms.len(), counts.len());
            return Err(Error::shape(what).at(place()).fix("pass one count a term"));
        }
        let mut row: Vec<(u32, f32)> = terms.iter().copied().zip(counts.iter().copied()).collect();
        row.sort_unstable_by_key(|entry| entry.0);
        if let Some(&(term, _)) = row.last()
            && term as usize >= self.terms
        {
            let what = format!("term {term} of a file of {} terms", self.terms);
            return Err(Error::shape(what)
                .at(place())
                .fix("terms are counted from 0"));
        }
        if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let what = format!("term {} comes twice", pair[0].0);
            return Err(Error::shape(what)
                .at(place())
                .fix("add its counts up first"));
        }
        check(counts, terms, document, None)?;
        self.spool.push(row.into_iter())
    }

    /// Writes the file and opens it. A `.npz` has the nonzero counts (CSR), a `.tbc` has them packed, and a `.npy` all of them in
    /// the narrowest dtype.
    ///
    /// # Errors
    /// If no document was appended; if the disk is too small or writing fails. Then no file is created, and an existing one
    /// stays unchanged.
    ///
    /// # Cost
    /// As [`Counts::write_npz`], [`Counts::write_packed`] and [`Counts::write_npy_narrow`], from the temporary files, in bounded memory.
    pub fn finish(self) -> Result<Counts> {
        let Self { path, terms, spool } = self;
        if spool.documents() == 0 {
            return Err(
                Error::shape(format!("{}: no document was appended", shown_path(&path)))
                    .fix("append at least one document"),
            );
        }
        let counts = spool.finish(Some(terms), Location::Memory)?;
        match formats::extension(&path).as_str() {
            "npz" => counts.write_npz(&path),
            "tbc" => counts.write_packed(&path),
            _ => counts.write_npy_narrow(&path),
        }
    }
}

/// Takes the row of a document: columns and counts.
type VisitRow<'a> = dyn FnMut(usize, &[u32], &[f32]) -> Result<()> + 'a;

/// Calls `visit` with each picked row: its document, its increasing columns, and their counts, which are exact in `f32`.
pub(super) fn each_sparse_row(counts: &Counts, pick: Pick, visit: &mut VisitRow<'_>) -> Result<()> {
    let (terms, path) = (counts.terms(), counts.path());
    let mut columns = Vec::new();
    pick.each_block(counts, &mut |picked| {
        for (&row, &document) in picked.rows.iter().zip(picked.documents) {
            match &picked.view {
                View::Csr(csr) => {
                    let (columns, values) = csr.row(row);
                    check(values, columns, document, path)?;
                    visit(document, columns, values)?;
                }
                View::Dense(rows) => with_values!(DenseRows, rows, values => {
                    let values = &values[row * terms..(row + 1) * terms];
                    columns.clear();
                    find_nonzeros(values, 0, &mut columns);
                    let found: Vec<_> = columns.iter().map(|&at| values[at as usize]).collect();
                    check(&found, &columns, document, path)?;
                    let found: Vec<f32> = found.iter().map(|value| value.to_f32()).collect();
                    visit(document, &columns, &found)?;
                }),
            }
        }
        Ok(())
    })
}

/// Fails on the first value that is not a count, or not exact in `f32`.
fn check<T: CountValue>(
    values: &[T],
    columns: &[u32],
    document: usize,
    path: Option<&Path>,
) -> Result<()> {
    for (value, &column) in values.iter().zip(columns) {
        if !value
            .exact_f64()
            .is_some_and(invalid_value::is_sparse_count)
        {
            let (value, column) = (value.to_f64(), column as usize);
            return Err(invalid_value::no_sparse_count(
                value, document, column, path,
            ));
        }
    }
    Ok(())
}

impl fmt::Debug for CountsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountsWriter")
            .field("path", &self.path)
            .field("terms", &self.terms)
            .field("documents", &self.documents())
            .finish_non_exhaustive()
    }
}
