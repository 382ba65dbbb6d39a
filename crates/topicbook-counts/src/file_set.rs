//! Counts of several files in one handle: the documents are numbered consecutively, file after file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::{Error, ErrorKind, Result};
use crate::system::Claim;
use crate::text::shown_path;

use super::copy::{Columns, Copy};
use super::formats;
use super::rows::{RowBuffer, RowFile, RowFiles, Stage};
use super::{Counts, Csr, Layout, Location, Store, View};

/// Rows that are read at once while all are read into memory.
const ROWS_AT_ONCE: usize = 1 << 10;

/// Files of counts of one layout and dtype. Rows are read from the file they are in, or all files are read into memory on
/// first use.
pub struct FileSet {
    files: Vec<Counts>,
    /// For each file the number of documents before it, followed by the number of all.
    starts: Vec<usize>,
    joined: OnceLock<RowBuffer>,
    /// Locked while reading, so that only one thread reads.
    reading: Mutex<()>,
}

/// Opens the files that `pattern` matches, in the order of their paths.
pub fn open_pattern(pattern: &Path) -> Result<Counts> {
    let shown = shown_path(pattern);
    let invalid = |what: String| {
        Error::new(ErrorKind::Setting, format!("{shown}: {what}"))
            .fix("* stands for any characters of a name, ? for one, [ab] for one of these")
    };
    let text = pattern
        .to_str()
        .ok_or_else(|| invalid("a pattern must be UTF-8".into()))?;
    let paths = glob::glob(text).map_err(|source| invalid(format!("is no pattern: {source}")))?;
    let mut files = Vec::new();
    for path in paths {
        let path = path.map_err(|source| {
            let path = source.path().to_path_buf();
            Error::io("read", &path, source.into())
        })?;
        files.push(path);
    }
    if files.is_empty() {
        return Err(
            Error::new(ErrorKind::Io, format!("no file matches {shown}"))
                .fix("look at the folder and the extension: shards/*.parquet"),
        );
    }
    files.sort();
    open_paths(files)
}

/// Opens these files, in this order.
pub fn open_paths(paths: Vec<PathBuf>) -> Result<Counts> {
    let Some(first) = paths.first() else {
        return Err(Error::setting("no file of counts is named").fix("pass at least one path"));
    };
    if paths.len() == 1 {
        return formats::open(first);
    }
    let extension = |path: &Path| {
        path.extension()
            .map(|extension| extension.to_string_lossy().to_lowercase())
    };
    if let Some(other) = paths
        .iter()
        .find(|path| extension(path) != extension(first))
    {
        return Err(differ(first, other, "are files of two formats")
            .fix("convert them to one format: Counts::write_npz, Counts::write_npy"));
    }
    #[cfg(feature = "polars")]
    if formats::is_table(first) {
        return join_tables(&paths);
    }
    let mut files: Vec<Counts> = Vec::with_capacity(paths.len());
    for path in &paths {
        let file = formats::open(path)?;
        if let Some(one) = files.first() {
            if one.terms() != file.terms() {
                let what = format!("have {} and {} terms", one.terms(), file.terms());
                return Err(differ(first, path, &what)
                    .fix("write all files with the same terms, in the same order"));
            }
            if one.dtype() != file.dtype() {
                let what = format!("have counts of {} and of {}", one.dtype(), file.dtype());
                return Err(differ(first, path, &what)
                    .fix("write them with one dtype: Counts::write_npy_as"));
            }
        }
        files.push(file);
    }
    let terms = files.first().map_or(0, Counts::terms);
    FileSet::counts(files, terms, Location::Files(paths))
}

fn differ(first: &Path, other: &Path, what: &str) -> Error {
    Error::shape(format!(
        "{} and {} {what}",
        shown_path(first),
        shown_path(other)
    ))
}

/// Appends tables one after the other, or leaves them in their files where all together would take too much memory. A table
/// has the terms up to its largest id, and the tables together up to the largest id of all.
#[cfg(feature = "polars")]
fn join_tables(paths: &[PathBuf]) -> Result<Counts> {
    if let Some(files) = formats::triplets::open_in_files(paths)? {
        let terms = files.iter().map(Counts::terms).max().unwrap_or_default();
        return FileSet::counts(files, terms, Location::Files(paths.to_vec()));
    }
    append_files(paths.to_vec(), formats::open)
}

/// Opens files, and appends their rows in memory. There are as many terms as the file with the most terms has.
pub fn append_files(paths: Vec<PathBuf>, open: impl Fn(&Path) -> Result<Counts>) -> Result<Counts> {
    let (mut all, mut terms) = (Csr::empty(), 0);
    for path in &paths {
        let file = open(path)?;
        let more = file.stored_counts().unwrap_or_default() as usize;
        // The vectors may be copied while they grow.
        let needed = 16 * (all.values.len() + more) as u64;
        file.claim().check_memory(needed)?;
        terms = terms.max(file.terms());
        if let View::Csr(csr) = file.view()? {
            all.append(csr);
        }
    }
    let documents = all.indptr.len() - 1;
    Counts::from_csr(documents, terms, all, Location::Files(paths))
}

impl FileSet {
    /// One handle over files of the same terms, layout and dtype.
    pub(super) fn counts(files: Vec<Counts>, terms: usize, location: Location) -> Result<Counts> {
        // Sorted triplets may be in several files themselves.
        let files = files.into_iter().flat_map(|file| match &file.inner.store {
            Store::Files(set) => set.files.clone(),
            _ => vec![file],
        });
        let files: Vec<Counts> = files.collect();
        let mut starts = vec![0];
        for file in &files {
            let before = starts.last().copied().unwrap_or_default();
            starts.push(before + file.documents());
        }
        let documents = starts.last().copied().unwrap_or_default();
        let set = Self {
            files,
            starts,
            joined: OnceLock::new(),
            reading: Mutex::new(()),
        };
        Counts::new(documents, terms, Store::Files(Box::new(set)), location)
    }

    /// The number of documents of each file.
    pub(super) fn documents_of_files(&self) -> Vec<usize> {
        self.files.iter().map(Counts::documents).collect()
    }

    /// A file, for the properties that all files share.
    pub(super) fn one(&self) -> &Counts {
        &self.files[0]
    }

    /// The sum of a number over all files, if it is known of each.
    pub(super) fn sum(&self, number: impl Fn(&Counts) -> Option<u64>) -> Option<u64> {
        self.files.iter().map(number).sum()
    }

    /// Bytes in memory while the counts are in their files.
    pub(super) fn held_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.in_memory().loaded).sum()
    }

    /// Memory of reading all files, besides the rows: one file at a time is unpacked, by pieces where it has rows, or whole.
    pub(super) fn scratch_bytes(&self) -> u64 {
        if self.have_rows() {
            return self.piece_bytes();
        }
        let whole = self.files.iter().map(|file| {
            let memory = file.in_memory();
            memory.to_read + memory.while_reading
        });
        whole.max().unwrap_or(0)
    }

    /// The largest piece of a file that is unpacked at once.
    pub(super) fn piece_bytes(&self) -> u64 {
        self.files
            .iter()
            .map(Counts::piece_bytes)
            .max()
            .unwrap_or(0)
    }

    /// Whether the files have not been read into memory.
    pub(super) fn is_unread(&self) -> bool {
        self.joined.get().is_none()
    }

    /// Whether rows can be read from each file separately.
    pub(super) fn have_rows(&self) -> bool {
        self.files.iter().all(Counts::has_row_file)
    }

    /// The file that a document is in, and its row there.
    pub(super) fn find(&self, document: usize) -> (&Counts, usize) {
        let file = self.starts.partition_point(|&start| start <= document) - 1;
        (&self.files[file], document - self.starts[file])
    }

    /// Opens the files for reading separate rows; `None` if one of them does not allow it.
    pub(super) fn row_files(&self, to_csr: bool) -> Result<Option<RowFiles>> {
        let mut files: Vec<RowFile> = Vec::with_capacity(self.files.len());
        for file in &self.files {
            match file.open_rows(to_csr)? {
                Some(rows) => files.push(rows),
                None => return Ok(None),
            }
        }
        Ok(Some(RowFiles::new(files)))
    }

    /// All rows in memory; reads the files on the first call.
    pub(super) fn get(&self, claim: &Claim<'_>, needed: u64) -> Result<&RowBuffer> {
        if let Some(joined) = self.joined.get() {
            return Ok(joined);
        }
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(joined) = self.joined.get() {
            return Ok(joined);
        }
        claim.check_memory(needed)?;
        let read = self.read()?;
        Ok(self.joined.get_or_init(|| read))
    }

    fn read(&self) -> Result<RowBuffer> {
        if let Some(mut rows) = self.row_files(false)? {
            let documents = rows.documents();
            let mut buffer = rows.buffer();
            let mut stage = Stage::new();
            rows.reserve(&mut buffer, documents);
            for first in (0..documents).step_by(ROWS_AT_ONCE) {
                let range = first..documents.min(first + ROWS_AT_ONCE);
                rows.append(range, &mut buffer, &mut stage)?;
            }
            rows.check_unchanged()?;
            return Ok(buffer);
        }
        let mut all = Csr::empty();
        for file in &self.files {
            // Opened again, so that the rows of one file only are in memory twice.
            if let Some(path) = file.path()
                && let View::Csr(csr) = formats::open(path)?.view()?
            {
                all.append(csr);
            }
        }
        Ok(RowBuffer::Csr(all))
    }

    /// Copies rows of dense files as `f32` to `out`, one after the other.
    pub(super) fn fill(&self, terms: usize, rows: &[usize], out: &mut [f32]) -> Result<()> {
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(terms)) {
            let (file, row) = self.find(row);
            file.fill_rows(&[row], out)?;
        }
        Ok(())
    }

    /// Copies rows of dense files.
    pub(super) fn select(&self, rows: &[usize]) -> Result<Counts> {
        let mut copy = Copy::of(self.one());
        for &row in rows {
            let (file, row) = self.find(row);
            file.with_view(|view| {
                copy.append(&view, row, &Columns::All);
                Ok(())
            })?;
        }
        copy.finish(&Columns::All)
    }
}

impl Counts {
    /// The files, if their rows are dense and have not been read into memory.
    pub(super) fn dense_files(&self) -> Option<&FileSet> {
        match &self.inner.store {
            Store::Files(files) if files.is_unread() && self.layout() == Layout::Dense => {
                Some(files)
            }
            _ => None,
        }
    }

    /// The path of the file that a document is in, and its row there, for messages.
    pub(super) fn origin(&self, document: usize) -> (Option<&Path>, usize) {
        match &self.inner.store {
            Store::Files(files) => {
                let (file, row) = files.find(document);
                (file.path(), row)
            }
            _ => (self.path(), document),
        }
    }
}
