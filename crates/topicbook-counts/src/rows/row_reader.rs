//! Copies of consecutive documents, read by position.

use std::ops::Range;

use crate::error::Result;
use crate::formats::LazyCsr;
use crate::{Counts, Location, Store};

use super::row_file::{RowBuffer, Stage};
use super::row_files::RowFiles;

/// Copies ranges of documents into memory. A file that is streamed is read by position, so that the other documents need no
/// memory.
pub struct RowReader<'a> {
    counts: &'a Counts,
    files: Option<(RowFiles, Stage)>,
}

impl<'a> RowReader<'a> {
    /// With `streamed`, reads the counts' file by position, if it allows that.
    pub fn new(counts: &'a Counts, streamed: bool) -> Result<Self> {
        let files = match streamed {
            true => counts.row_file(counts.is_buffered_as_csr()?)?,
            false => None,
        };
        Ok(Self {
            counts,
            files: files.map(|files| (files, Stage::new())),
        })
    }

    /// The documents `rows`, of which there is at least one, as counts in memory.
    pub fn copy(&mut self, rows: Range<usize>) -> Result<Counts> {
        let Some((files, stage)) = &mut self.files else {
            return self.counts.select(rows);
        };
        let documents = rows.len();
        let mut buffer = files.buffer();
        files.append(rows, &mut buffer, stage)?;
        files.check_unchanged()?;
        let store = match buffer {
            RowBuffer::Dense { values, .. } => Store::Dense(values),
            RowBuffer::Csr(csr) => Store::Csr(LazyCsr::ready(csr)),
        };
        Counts::new(documents, self.counts.terms(), store, Location::Memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_the_same_in_memory_and_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, terms) = (23, 6);
        // Mostly zeros, which are read as CSR, and no zeros, which are read as dense rows.
        for zeros in [10, 0] {
            let value = |at: usize| u8::from(at % 11 >= zeros) * (at % 200 + 1) as u8;
            let values = (0..documents * terms).map(value).collect::<Vec<u8>>();
            let memory = Counts::dense(documents, terms, values).unwrap();
            let sources = [
                memory.clone(),
                memory.write_npy(folder.path().join("X.npy")).unwrap(),
                memory.write_npz(folder.path().join("X.npz")).unwrap(),
            ];
            for (counts, streamed) in sources.iter().flat_map(|c| [(c, false), (c, true)]) {
                let mut reader = RowReader::new(counts, streamed).unwrap();
                for rows in [7..8, 0..23, 20..23, 0..1] {
                    let copy = reader.copy(rows.clone()).unwrap();
                    let mut found = vec![0.0; rows.len() * terms];
                    let mut expected = found.clone();
                    let all: Vec<usize> = (0..rows.len()).collect();
                    copy.fill_rows(&all, &mut found).unwrap();
                    memory
                        .fill_rows(&rows.clone().collect::<Vec<_>>(), &mut expected)
                        .unwrap();
                    assert_eq!(found, expected, "{counts}, {streamed}, {rows:?}");
                    assert_eq!(copy.location(), Location::Memory);
                }
            }
        }
    }
}
