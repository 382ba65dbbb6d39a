//! Reads rows of several files by position, as if they were one file.

use std::ops::Range;

use crate::error::Result;

use super::row_file::{Access, RowBuffer, RowFile, Stage};

/// The files of one handle, opened to read separate rows; most counts are in one file.
pub struct RowFiles {
    files: Vec<RowFile>,
    /// The number of each file's first document, followed by the number after the last document.
    starts: Vec<usize>,
    /// The file that was read last.
    last: usize,
}

impl RowFiles {
    /// `files` has at least one file; all have the same terms, layout and dtype.
    pub fn new(files: Vec<RowFile>) -> Self {
        let mut starts = vec![0];
        for file in &files {
            let before = starts.last().copied().unwrap_or_default();
            starts.push(before + file.documents());
        }
        Self {
            files,
            starts,
            last: 0,
        }
    }

    /// The same files, numbered as if `first` other documents came before them.
    pub fn numbered_from(mut self, first: usize) -> Self {
        self.starts.iter_mut().for_each(|start| *start += first);
        self
    }

    /// The files without their checksums: what is read was checked in another way.
    pub fn without_checksums(mut self) -> Self {
        self.files.iter_mut().for_each(RowFile::forget_checksums);
        self
    }

    pub fn documents(&self) -> usize {
        self.files.iter().map(RowFile::documents).sum()
    }

    /// Length of the files in bytes.
    pub fn length(&self) -> u64 {
        self.files.iter().map(RowFile::length).sum()
    }

    /// Mean bytes of a row in the files, at least 1.
    pub fn row_bytes(&self) -> u64 {
        let bytes = |file: &RowFile| file.row_bytes() * file.documents() as u64;
        let all: u64 = self.files.iter().map(bytes).sum();
        (all / self.documents().max(1) as u64).max(1)
    }

    /// An empty buffer for rows of these files.
    pub fn buffer(&self) -> RowBuffer {
        self.files[0].buffer()
    }

    /// Reserves capacity for `rows` rows, if their size is known.
    pub fn reserve(&self, buffer: &mut RowBuffer, rows: usize) {
        // The largest mean of any file: all rows may be in that file.
        if let Some(file) = self.files.iter().max_by_key(|file| file.mean_nonzeros()) {
            file.reserve(buffer, rows);
        }
    }

    /// Tells the OS in which order the files will be read.
    pub fn advise_access(&self, access: Access) {
        for file in &self.files {
            file.advise_access(access);
        }
    }

    /// Splits `rows` by file: the index of each file, and the rows within it.
    fn by_file(&self, rows: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let first = self.starts.partition_point(|&start| start <= rows.start) - 1;
        let starts: Vec<usize> = self.starts[first..]
            .iter()
            .copied()
            .take_while(|&start| start < rows.end)
            .chain([rows.end])
            .collect();
        starts
            .windows(2)
            .enumerate()
            .map(|(file, bounds)| {
                let start = bounds[0];
                (
                    first + file,
                    rows.start.max(start) - start..bounds[1] - start,
                )
            })
            .collect()
    }

    /// Asks the OS to start reading rows into the page cache (`POSIX_FADV_WILLNEED`).
    pub fn prefetch(&self, rows: Range<usize>) -> Result<()> {
        self.by_file(rows)
            .into_iter()
            .try_for_each(|(file, rows)| self.files[file].prefetch(rows))
    }

    /// Asks the OS to drop rows from the page cache (`POSIX_FADV_DONTNEED`).
    pub fn evict(&self, rows: Range<usize>) -> Result<()> {
        self.by_file(rows)
            .into_iter()
            .try_for_each(|(file, rows)| self.files[file].evict(rows))
    }

    /// Fails if a file was modified, truncated or replaced since the counts were opened.
    pub fn check_unchanged(&self) -> Result<()> {
        self.files.iter().try_for_each(RowFile::check_unchanged)
    }

    /// Reads rows and appends them to a buffer made by [`buffer`](Self::buffer).
    pub fn append(
        &mut self,
        rows: Range<usize>,
        buffer: &mut RowBuffer,
        stage: &mut Stage,
    ) -> Result<()> {
        for (file, rows) in self.by_file(rows) {
            if file != self.last {
                self.files[self.last].rest();
                self.last = file;
            }
            self.files[file].append(rows, buffer, stage)?;
        }
        Ok(())
    }
}
