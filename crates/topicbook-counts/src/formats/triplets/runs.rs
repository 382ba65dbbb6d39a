//! Triplets of a table that does not fit memory, put into the order of the documents: an external merge sort.
//!
//! Triplets that arrive in order are appended as they are. Others are sorted in memory, up to a limit, and their documents are
//! appended to a *run*, which goes into temporary files if it is large. A table that is sorted by document gives one run. Any
//! other table gives a new run wherever an earlier document follows; at the end the runs are merged, some documents at a time.

use std::path::Path;

use crate::error::{Error, Result};
use crate::formats::invalid_value;
use crate::rows::{RowBuffer, RowFiles, Stage};
use crate::spool::Spool;
use crate::{Counts, Csr, Location, View};

use super::DUPLICATE_REMEDY;
use super::in_place::{are_in_order, check_documents};

/// Documents of all runs that are merged at once.
const DOCUMENTS_AT_ONCE: usize = 1 << 10;

/// Bytes of a triplet in memory.
const TRIPLET_BYTES: u64 = size_of::<Triplet>() as u64;

struct Triplet {
    document: u32,
    term: u32,
    count: f32,
}

/// Triplets that arrive in any order.
pub(super) struct Runs<'a> {
    path: &'a Path,
    /// Bytes of triplets that are sorted at once.
    limit: u64,
    /// Most bytes of a run in memory.
    held: u64,
    /// Triplets that are in no run yet.
    pending: Vec<Triplet>,
    /// Whether these are in order and of one document, of which more may come.
    in_order: bool,
    runs: Vec<Spool>,
    /// Number of documents and terms so far.
    documents: usize,
    terms: usize,
}

impl<'a> Runs<'a> {
    pub(super) fn new(path: &'a Path, limit: u64, held: u64) -> Self {
        Self {
            path,
            limit,
            held,
            pending: Vec::new(),
            in_order: true,
            runs: Vec::new(),
            documents: 0,
            terms: 0,
        }
    }

    pub(super) fn add(&mut self, documents: &[u32], terms: &[u32], counts: &[f32]) -> Result<()> {
        let largest = |ids: &[u32]| ids.iter().max().map_or(0, |&id| id as usize + 1);
        self.documents = self.documents.max(largest(documents));
        self.terms = self.terms.max(largest(terms));
        check_documents(self.path, self.documents)?;
        if self.continues(documents, terms) {
            return self.append_in_order(documents, terms, counts);
        }
        self.in_order = false;
        self.push(documents, terms, counts);
        match self.pending.len() as u64 * TRIPLET_BYTES > self.limit {
            true => self.sort(false),
            false => Ok(()),
        }
    }

    fn push(&mut self, documents: &[u32], terms: &[u32], counts: &[f32]) {
        self.pending.reserve(documents.len());
        for ((&document, &term), &count) in documents.iter().zip(terms).zip(counts) {
            self.pending.push(Triplet {
                document,
                term,
                count,
            });
        }
    }

    /// Whether these triplets are in order, without duplicates, and follow all that came before.
    fn continues(&self, documents: &[u32], terms: &[u32]) -> bool {
        let key = |document: u32, term: u32| u64::from(document) << 32 | u64::from(term);
        let (Some(&document), Some(&term)) = (documents.first(), terms.first()) else {
            return true;
        };
        let run_ended = || {
            self.runs
                .last()
                .is_some_and(|run| (document as usize) < run.documents())
        };
        let follows = match self.pending.last() {
            Some(last) => key(last.document, last.term) < key(document, term),
            None => !run_ended(),
        };
        self.in_order && follows && are_in_order(documents, terms)
    }

    /// Appends triplets that are in order; the last document's triplets wait, since more may come.
    fn append_in_order(&mut self, documents: &[u32], terms: &[u32], counts: &[f32]) -> Result<()> {
        let Some(&last) = documents.last() else {
            return Ok(());
        };
        let waiting = self.pending.first().map(|triplet| triplet.document);
        let start = match waiting {
            Some(waiting) => documents.partition_point(|&document| document == waiting),
            None => 0,
        };
        self.push(&documents[..start], &terms[..start], &counts[..start]);
        if waiting == Some(last) {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.pending);
        let end = start + documents[start..].partition_point(|&document| document < last);
        let held = self.held;
        if self.runs.is_empty() {
            self.runs.push(Spool::new(folder_of(self.path), held));
        }
        if let Some(run) = self.runs.last_mut() {
            if let Some(first) = waiting.first() {
                skip_to(run, first.document)?;
                run.push(waiting.iter().map(|triplet| (triplet.term, triplet.count)))?;
            }
            let mut at = start;
            for document in documents[start..end].chunk_by(|a, b| a == b) {
                skip_to(run, document[0])?;
                let row = at..at + document.len();
                at = row.end;
                run.push_slices(&terms[row.clone()], &counts[row])?;
            }
        }
        self.push(&documents[end..], &terms[end..], &counts[end..]);
        Ok(())
    }

    /// Sets the number of documents to `documents` or more; the last may have no triplets.
    pub(super) fn extend(&mut self, documents: usize) {
        self.documents = self.documents.max(documents);
    }

    /// Sorts the triplets and appends their documents to a run. The last document stays, unless this is the `end`: more of it
    /// may come.
    fn sort(&mut self, end: bool) -> Result<()> {
        let mut triplets = std::mem::take(&mut self.pending);
        triplets.sort_unstable_by_key(|triplet| (triplet.document, triplet.term));
        let last = triplets.last().map(|triplet| triplet.document);
        let complete = match end {
            true => triplets.len(),
            false => triplets.partition_point(|triplet| Some(triplet.document) < last),
        };
        let Some(first) = triplets.first().map(|triplet| triplet.document as usize) else {
            return Ok(());
        };
        if self.runs.last().is_none_or(|run| first < run.documents()) {
            let run = Spool::new(folder_of(self.path), self.held);
            self.runs.push(run);
        }
        if let Some(run) = self.runs.last_mut() {
            let mut row = Vec::new();
            for document in triplets[..complete].chunk_by(|a, b| a.document == b.document) {
                skip_to(run, document[0].document)?;
                row.extend(document.iter().map(|triplet| (triplet.term, triplet.count)));
                append(run, self.path, &mut row)?;
            }
        }
        triplets.drain(..complete);
        self.pending = triplets;
        self.in_order = true;
        Ok(())
    }

    /// The counts, read from `location`, of this shape or of the shape that the largest ids give.
    pub(super) fn finish(
        mut self,
        shape: Option<(usize, usize)>,
        location: Location,
    ) -> Result<Counts> {
        self.sort(true)?;
        let (documents, terms) = shape.unwrap_or((self.documents, self.terms));
        if self.runs.len() == 1
            && let Some(mut run) = self.runs.pop()
        {
            while run.documents() < documents {
                run.push(std::iter::empty())?;
            }
            return run.finish(Some(terms), location);
        }
        let mut runs = Vec::with_capacity(self.runs.len());
        for run in self.runs {
            runs.push(Run::new(run.finish(Some(terms), Location::Memory)?)?);
        }
        let mut merged = Spool::new(folder_of(self.path), self.held);
        let mut row = Vec::new();
        for first in (0..documents).step_by(DOCUMENTS_AT_ONCE) {
            let last = documents.min(first + DOCUMENTS_AT_ONCE);
            for run in &mut runs {
                run.read(first, last)?;
            }
            for document in first..last {
                for run in &runs {
                    run.append_row(document, &mut row)?;
                }
                row.sort_unstable_by_key(|entry: &(u32, f32)| entry.0);
                append(&mut merged, self.path, &mut row)?;
            }
        }
        merged.finish(Some(terms), location)
    }
}

/// Appends empty rows up to a document.
fn skip_to(run: &mut Spool, document: u32) -> Result<()> {
    while run.documents() < document as usize {
        run.push(std::iter::empty())?;
    }
    Ok(())
}

/// Appends a row sorted by term, and clears it. Fails if a term comes twice.
fn append(run: &mut Spool, path: &Path, row: &mut Vec<(u32, f32)>) -> Result<()> {
    if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (document, term) = (run.documents(), pair[0].0);
        let what = format!("document {document} and term {term} come twice");
        return Err(Error::format(path, what)
            .at(invalid_value::place(document, term as usize))
            .fix(DUPLICATE_REMEDY));
    }
    run.push(row.drain(..))
}

/// A sorted run of triplets, read some documents at a time.
struct Run {
    counts: Counts,
    /// `None` for a run in memory.
    files: Option<(RowFiles, RowBuffer, Stage)>,
    /// The first document of the buffer.
    first: usize,
}

impl Run {
    fn new(counts: Counts) -> Result<Self> {
        let files = counts.row_file(false)?.map(|files| {
            let buffer = files.buffer();
            (files, buffer, Stage::new())
        });
        Ok(Self {
            counts,
            files,
            first: 0,
        })
    }

    fn read(&mut self, first: usize, last: usize) -> Result<()> {
        let Some((files, buffer, stage)) = &mut self.files else {
            return Ok(());
        };
        self.first = first;
        buffer.clear();
        let last = last.min(files.documents());
        match first < last {
            true => files.append(first..last, buffer, stage),
            false => Ok(()),
        }
    }

    /// Appends the terms and counts of a document that was read.
    fn append_row(&self, document: usize, row: &mut Vec<(u32, f32)>) -> Result<()> {
        if document >= self.counts.documents() {
            return Ok(());
        }
        let mut extend = |csr: &Csr, number: usize| {
            let (columns, counts) = csr.row(number);
            row.extend(columns.iter().copied().zip(counts.iter().copied()));
        };
        let view = match &self.files {
            Some((_, buffer, _)) => buffer.view()?,
            None => self.counts.view()?,
        };
        if let View::Csr(csr) = view {
            extend(csr, document - self.first);
        }
        Ok(())
    }
}

/// The folder of a file, for temporary files.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::triplets;
    use polars::prelude::{Column, DataFrame, ParquetWriter};
    use rand::{RngExt, SeedableRng, seq::SliceRandom};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Writes a table in row groups of 100 rows.
    fn write(path: &Path, triplets: &[(u32, u32, f32)]) {
        let mut frame = DataFrame::new_infer_height(vec![
            Column::new(
                "doc".into(),
                triplets.iter().map(|row| row.0).collect::<Vec<_>>(),
            ),
            Column::new(
                "term".into(),
                triplets.iter().map(|row| row.1).collect::<Vec<_>>(),
            ),
            Column::new(
                "count".into(),
                triplets.iter().map(|row| row.2).collect::<Vec<_>>(),
            ),
        ])
        .unwrap();
        ParquetWriter::new(std::fs::File::create(path).unwrap())
            .with_row_group_size(Some(100))
            .finish(&mut frame)
            .unwrap();
    }

    fn sorted() -> Vec<(u32, u32, f32)> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut triplets = Vec::new();
        for document in (0..400u32).filter(|document| document % 9 != 4) {
            for term in 0..50 {
                if random.random::<f64>() < 0.1 {
                    triplets.push((document, term, random.random_range(1..90) as f32));
                }
            }
        }
        triplets
    }

    #[test]
    fn a_table_in_any_order_gives_the_counts_of_one_that_is_read_whole() {
        let (folder, path) = testkit::temp_path("X.parquet");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        let sorted = sorted();
        let mut shuffled = sorted.clone();
        shuffled.shuffle(&mut random);
        let mut in_two = sorted[900..].to_vec();
        in_two.extend_from_slice(&sorted[..900]);
        let mut half = sorted.clone();
        half[800..].shuffle(&mut random);
        for triplets in [sorted, shuffled, in_two, half] {
            write(&path, &triplets);
            for shape in [None, Some((450, 60))] {
                let whole = triplets::open(&path, shape).unwrap();
                for limit in [8_000, 40_000, 1 << 20] {
                    let parts = triplets::open_within(&path, shape, limit).unwrap();
                    assert_eq!(parts.shape(), whole.shape());
                    assert_eq!(parts.summary().unwrap(), whole.summary().unwrap());
                    let (documents, terms) = whole.shape();
                    let order: Vec<usize> = (0..documents).collect();
                    let rows = [&parts, &whole].map(|counts| {
                        let mut rows = vec![0.0; documents * terms];
                        counts.fill_rows(&order, &mut rows).unwrap();
                        rows
                    });
                    assert!(rows[0] == rows[1], "{limit}");
                }
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pair_that_comes_twice_is_found_in_one_part_and_in_two() {
        let (_folder, path) = testkit::temp_path("X.parquet");
        let sorted = sorted();
        let mut adjacent = sorted.clone();
        adjacent.insert(700, sorted[700]);
        let mut apart = sorted.clone();
        apart.push(sorted[700]);
        let (document, term, _) = sorted[700];
        let place = format!("row {document}, column {term} (counted from 0)");
        for triplets in [adjacent, apart] {
            write(&path, &triplets);
            let error = triplets::open_within(&path, None, 8_000).unwrap_err();
            assert_eq!(error.place(), Some(place.as_str()), "{error}");
            assert!(error.to_string().contains("come twice"), "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_in_a_later_row_group_is_located() {
        let (folder, path) = testkit::temp_path("X.parquet");
        let mut triplets = sorted();
        triplets[750].2 = -1.0;
        write(&path, &triplets);
        testkit::refused! { triplets::open_within(&path, None, 8_000), "data row 751"; }
        triplets[750].2 = 1.0;
        triplets[650].1 = 70;
        write(&path, &triplets);
        let error = triplets::open_within(&path, Some((400, 60)), 8_000).unwrap_err();
        assert_eq!(error.place(), Some("data row 651"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
