//! Writes a `.npz` archive of rows that come one after the other, in memory that does not grow with their counts.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::formats::npy;
use crate::system::{DISK_FULL_REMEDY, unlinked_temp_file, write_atomic_sized};
use crate::text::count;
use crate::{Counts, Dtype};

use super::archive::MAX_SIZE;
use super::write::{MAX_HEADER_BYTES, Zip, index_dtype, is_wide, put_index};

/// Bytes that are copied at once.
const BUFFER: usize = 1 << 20;

/// The sizes of counts that are to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewCounts {
    pub documents: usize,
    pub terms: usize,
    pub nonzeros: u64,
    /// The largest count.
    pub largest: u32,
}

impl NewCounts {
    /// Fails if other counts were written.
    pub fn check(self, documents: usize, nonzeros: u64) -> Result<()> {
        if (documents, nonzeros) == (self.documents, self.nonzeros) {
            return Ok(());
        }
        let [first, second] = [(self.documents, self.nonzeros), (documents, nonzeros)]
            .map(|(documents, nonzeros)| (count(documents as u64), count(nonzeros)));
        let what = format!(
            "there were {} documents with {} nonzero counts in the first pass, and {} with {} in the second",
            first.0, first.1, second.0, second.1
        );
        Err(Error::new(ErrorKind::Io, what)
            .fix("count again when no program writes to the texts any more"))
    }
}

/// Takes rows of sparse counts, one after the other.
pub trait RowSink: Send {
    /// Appends the row of a document: its increasing columns, and their counts, none of which is 0.
    fn append(&mut self, columns: &[u32], counts: &[u32]) -> Result<()>;
}

struct ArchiveRows<'a, 'z> {
    zip: &'a mut Zip<'z>,
    path: &'a Path,
    wide: bool,
    dtype: Dtype,
    /// The values, which follow the columns in the archive, until all columns are written.
    values: BufWriter<File>,
    row_starts: Vec<u64>,
    bytes: Vec<u8>,
}

/// Writes the rows that `fill` appends as CSR, in the format of SciPy's `save_npz`, and opens the file. The values have the
/// narrowest unsigned dtype.
///
/// # Errors
/// When the disk is too small (checked before anything is written), there are other rows or counts than `new` says, or
/// `fill` fails: nothing is written then.
pub fn write_rows(
    path: &Path,
    new: NewCounts,
    fill: impl FnOnce(&mut dyn RowSink) -> Result<()>,
) -> Result<Counts> {
    npy::check_extension(path, "npz")?;
    if new.documents > MAX_SIZE as usize {
        return Err(Error::setting(format!(
            "{} documents are too many for one sparse file: at most {MAX_SIZE}",
            new.documents
        ))
        .fix("write several files"));
    }
    let dtype = match new.largest {
        0..=0xff => Dtype::U8,
        0x100..=0xffff => Dtype::U16,
        _ => Dtype::U32,
    };
    let wide = is_wide(new.nonzeros, new.terms);
    let (index, index_bytes) = index_dtype(wide);
    let value_bytes = new.nonzeros * dtype.bytes() as u64;
    let arrays = (new.nonzeros + new.documents as u64 + 1) * index_bytes + value_bytes;
    write_atomic_sized(path, arrays + MAX_HEADER_BYTES, DISK_FULL_REMEDY, |out| {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let values = unlinked_temp_file(folder, value_bytes, DISK_FULL_REMEDY)?;
        let mut zip = Zip::new(out, path);
        zip.start(
            "indices",
            index,
            &[new.nonzeros],
            new.nonzeros * index_bytes,
        )?;
        let mut rows = ArchiveRows {
            zip: &mut zip,
            path,
            wide,
            dtype,
            values: BufWriter::with_capacity(BUFFER, values),
            row_starts: vec![0],
            bytes: Vec::new(),
        };
        fill(&mut rows)?;
        let (values, row_starts) = rows.finish(new)?;
        zip.put_row_starts(&row_starts, wide)?;
        zip.put_shape(new.documents, new.terms)?;
        zip.start("data", dtype.npy(), &[new.nonzeros], value_bytes)?;
        copy_values(values, path, &mut zip)?;
        zip.finish()
    })?;
    Counts::open(path)
}

impl RowSink for ArchiveRows<'_, '_> {
    fn append(&mut self, columns: &[u32], counts: &[u32]) -> Result<()> {
        self.bytes.clear();
        for &column in columns {
            put_index(&mut self.bytes, u64::from(column), self.wide);
        }
        self.zip.put(&self.bytes)?;
        self.bytes.clear();
        let width = self.dtype.bytes();
        for value in counts {
            self.bytes.extend_from_slice(&value.to_le_bytes()[..width]);
        }
        self.values
            .write_all(&self.bytes)
            .map_err(|source| Error::io("write", self.path, source))?;
        let start = self.row_starts.last().copied().unwrap_or(0);
        self.row_starts.push(start + columns.len() as u64);
        Ok(())
    }
}

impl ArchiveRows<'_, '_> {
    /// The file of the values, from its start, and the row starts.
    fn finish(self, new: NewCounts) -> Result<(File, Vec<u64>)> {
        let written = self.row_starts.last().copied().unwrap_or(0);
        new.check(self.row_starts.len() - 1, written)?;
        let failed = |source| Error::io("write", self.path, source);
        let mut file = self
            .values
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        Ok((file, self.row_starts))
    }
}

fn copy_values(mut values: File, path: &Path, zip: &mut Zip<'_>) -> Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match values.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => zip.put(&buffer[..read])?,
            Err(source) => return Err(Error::io("read the values of", path, source)),
        }
    }
}
