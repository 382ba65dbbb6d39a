//! Triplets in the order of documents and terms: they stay in their Parquet or Arrow file, and row groups are decoded when
//! their rows are needed.
//!
//! One pass over the file checks all values and finds where the rows of the documents begin. Later reads decode the columns of
//! terms and counts alone.

use std::path::Path;
use std::sync::Arc;

use crate::csr::Csr;
use crate::error::Result;
use crate::formats::csr_arrays::{CsrArrays, Numbers};
use crate::formats::file_rows::FileRows;
use crate::formats::lazy_csr::{CsrFile, LazyCsr};
use crate::system::{Claim, OpenFile};
use crate::text::counted;
use crate::{Counts, Location, Store};

use super::group_column::GroupColumn;
use super::row_groups::TripletGroups;
use super::{COLUMNS, Triplets};

/// Most triplets of a row group that is decoded for any of its rows.
pub(super) const MAX_GROUP: u64 = 1 << 22;

/// What the pass over a file has found.
pub(super) struct InOrder<'a> {
    path: &'a Path,
    /// For each document the number of triplets before it.
    starts: Vec<u64>,
    /// For each row group the number of triplets before it.
    groups: Vec<u64>,
    stored: u64,
    /// The last document and term.
    last: Option<u64>,
    /// Number of documents and terms so far.
    documents: usize,
    terms: usize,
}

pub(super) struct GroupRows {
    /// Whether its triplets are in order.
    in_order: bool,
    /// The first and the last document and term.
    keys: Option<(u64, u64)>,
    /// The documents, and the numbers of their triplets.
    rows: Vec<(u32, u32)>,
    /// Number of documents and terms, up to the last.
    documents: usize,
    terms: usize,
}

impl GroupRows {
    pub(super) fn of(found: Triplets) -> Result<Self> {
        let (documents, terms): (&[u32], &[u32]) = (&found.documents, &found.terms);
        let in_order = are_in_order(documents, terms);
        let ends = documents.first().zip(documents.last());
        let ends = ends.zip(terms.first().zip(terms.last()));
        let rows = documents.chunk_by(|a, b| a == b);
        let size = |ids: Option<&u32>| ids.map_or(0, |&id| id as usize + 1);
        Ok(Self {
            in_order,
            keys: ends.map(|((&d, &last_d), (&t, &last_t))| (key(d, t), key(last_d, last_t))),
            rows: match in_order {
                true => rows.map(|row| (row[0], row.len() as u32)).collect(),
                false => Vec::new(),
            },
            documents: size(documents.last()).max(found.numbered),
            terms: size(terms.iter().max()),
        })
    }
}

/// Sparse counts in a Parquet or Arrow file.
struct TripletFile {
    source: Arc<TripletGroups>,
    documents: usize,
    terms: usize,
    stored: u64,
    arrays: CsrArrays,
}

/// Document and term as a number that is larger for later ones.
fn key(document: u32, term: u32) -> u64 {
    u64::from(document) << 32 | u64::from(term)
}

/// Whether triplets are in order, and no pair of document and term comes twice.
pub(super) fn are_in_order(documents: &[u32], terms: &[u32]) -> bool {
    let next = documents.iter().zip(terms).skip(1);
    // No early exit: the compiler vectorises a loop that always runs to the end.
    documents
        .iter()
        .zip(terms)
        .zip(next)
        .fold(true, |sorted, ((&d, &t), (&next_d, &next_t))| {
            sorted & (key(d, t) < key(next_d, next_t))
        })
}

impl<'a> InOrder<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        Self {
            path,
            starts: Vec::new(),
            groups: vec![0],
            stored: 0,
            last: None,
            documents: 0,
            terms: 0,
        }
    }

    /// Adds the rows of the next row group; `false` if they are not in order.
    pub(super) fn add(&mut self, found: GroupRows) -> Result<bool> {
        let follows = match (self.last, found.keys) {
            (Some(last), Some((first, _))) => last < first,
            _ => true,
        };
        if !found.in_order || !follows {
            return Ok(false);
        }
        self.last = found.keys.map(|(_, last)| last).or(self.last);
        self.documents = self.documents.max(found.documents);
        self.terms = self.terms.max(found.terms);
        check_documents(self.path, self.documents)?;
        for (document, triplets) in found.rows {
            // Documents before this one that have no triplets begin here, too.
            let begun = self.starts.len().max(document as usize + 1);
            self.starts.resize(begun, self.stored);
            self.stored += u64::from(triplets);
        }
        self.groups.push(self.stored);
        Ok(true)
    }

    /// The counts, of this shape or of the shape that the largest ids give.
    pub(super) fn finish(
        mut self,
        source: TripletGroups,
        shape: Option<(usize, usize)>,
    ) -> Result<Counts> {
        let (documents, terms) = shape.unwrap_or((self.documents, self.terms));
        check_documents(self.path, documents)?;
        self.starts.resize(documents + 1, self.stored);
        let source = Arc::new(source);
        let [_, term, count] = COLUMNS;
        let groups: Arc<[u64]> = self.groups.into();
        let column = |name| Numbers::Groups(GroupColumn::new(&source, name, &groups));
        let arrays = [
            Numbers::Memory(self.starts.into()),
            column(term),
            column(count),
        ];
        let file = TripletFile {
            documents,
            terms,
            stored: self.stored,
            arrays: CsrArrays::new(documents, self.stored, arrays),
            source,
        };
        let store = Store::Csr(LazyCsr::in_file(file));
        Counts::new(documents, terms, store, Location::Loaded(self.path.into()))
    }
}

/// Fails if the starts of the documents' rows do not fit memory: a single wrong id can make the matrix arbitrarily large.
pub(super) fn check_documents(path: &Path, documents: usize) -> Result<()> {
    let what = counted(documents, "document");
    Claim::new(path, what, "a table of triplets")
        .at("the largest id of a document")
        .check_memory(documents as u64 * size_of::<u64>() as u64)
}

impl CsrFile for TripletFile {
    fn file(&self) -> &OpenFile {
        self.source.file()
    }

    fn shape(&self) -> (usize, usize) {
        (self.documents, self.terms)
    }

    fn stored(&self) -> u64 {
        self.stored
    }

    fn rows(&self) -> Option<FileRows> {
        Some(FileRows::Arrays(Box::new(self.arrays.clone())))
    }

    /// Where the rows begin.
    fn held_bytes(&self) -> u64 {
        (self.documents as u64 + 1) * size_of::<u64>() as u64
    }

    /// The row group that was decoded last.
    fn scratch_bytes(&self) -> u64 {
        self.source.decoded_group()
    }

    fn piece_bytes(&self) -> u64 {
        self.scratch_bytes()
    }

    fn read(&self) -> Result<Csr> {
        self.arrays.read_all(self.source.file(), self.terms)
    }
}

#[cfg(test)]
// A list of ranges of rows may well have one entry.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use std::ops::Range;

    use polars::prelude::{
        Column, DataFrame, IpcWriter, NamedFrom, ParquetWriter, SerWriter, Series,
    };

    use super::super::{open_in_files_beyond, open_within};
    use super::*;
    use crate::View;
    use crate::file_set::FileSet;
    use crate::rows::Stage;

    /// 300 documents of 40 terms, of which some have none, also the last, as columns of triplets.
    fn triplets() -> (Vec<i64>, Vec<u32>, Vec<f64>) {
        let (mut documents, mut terms, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for document in (0..299i64).filter(|document| document % 7 != 3) {
            for term in (0..40).filter(|term| (document as u32 * 5 + term * term).is_multiple_of(6))
            {
                documents.push(document);
                terms.push(term);
                counts.push(f64::from(document as u32 % 9 + term % 4 + 1));
            }
        }
        (documents, terms, counts)
    }

    fn write(path: &Path, columns: Vec<Column>) {
        let mut frame = DataFrame::new_infer_height(columns).unwrap();
        let file = std::fs::File::create(path).unwrap();
        if path
            .extension()
            .is_some_and(|extension| extension == "arrow")
        {
            let writer = IpcWriter::new(file).with_record_batch_size(Some(97));
            { writer }.finish(&mut frame).unwrap();
            return;
        }
        ParquetWriter::new(file)
            .with_row_group_size(Some(97))
            .finish(&mut frame)
            .unwrap();
    }

    fn write_triplets(path: &Path) {
        let (documents, terms, counts) = triplets();
        write(
            path,
            vec![
                Column::new("count".into(), counts),
                Column::new("doc".into(), documents),
                Column::new("term".into(), terms),
            ],
        );
    }

    /// The rows of ranges as they are read from the file.
    fn read(counts: &Counts, ranges: &[Range<usize>]) -> Result<Vec<Vec<(u32, f32)>>> {
        let mut files = counts.row_file(false)?.expect("rows are read separately");
        let (mut buffer, mut stage) = (files.buffer(), Stage::new());
        for range in ranges {
            files.append(range.clone(), &mut buffer, &mut stage)?;
        }
        files.check_unchanged()?;
        let View::Csr(csr) = buffer.view()? else {
            panic!("triplets are sparse");
        };
        let rows = ranges.iter().map(ExactSizeIterator::len).sum();
        let row = |row| {
            let (terms, counts) = csr.row(row);
            terms.iter().copied().zip(counts.iter().copied()).collect()
        };
        Ok((0..rows).map(row).collect())
    }

    #[test]
    fn rows_are_read_from_the_file_in_any_order() {
        check_rows_in_any_order("X.parquet");
        check_rows_in_any_order("X.arrow");
    }

    fn check_rows_in_any_order(name: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write_triplets(&path);
        let (documents, terms, counts) = triplets();
        let mut expected = vec![Vec::new(); 310];
        for ((document, term), count) in documents.into_iter().zip(terms).zip(counts) {
            expected[document as usize].push((term, count as f32));
        }
        let found = open_within(&path, Some((310, 41)), 8_000).unwrap();
        assert!(found.location_text().contains("on first use"));
        assert_eq!(found.in_memory().loaded, 311 * 8);
        assert!(found.piece_bytes() > 0);
        let orders: [&[Range<usize>]; 4] = [
            &[0..310],
            &[250..310, 0..1, 1..90, 3..4, 90..250],
            &[309..310, 5..5, 40..41],
            &[100..160, 100..160],
        ];
        for ranges in orders {
            let rows: Vec<_> = ranges
                .iter()
                .cloned()
                .flatten()
                .map(|row| expected[row].clone())
                .collect();
            assert_eq!(read(&found, ranges).unwrap(), rows, "{ranges:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn lists_in_order_stay_in_their_file() {
        let (_folder, path) = testkit::temp_path("X.parquet");
        let list = |first: i64| Series::new("".into(), [first, first + 2, first + 5]);
        let none = || Series::new("".into(), Vec::<i64>::new());
        let lists: Vec<Series> = (0..200)
            .map(|row| if row % 5 == 4 { none() } else { list(row % 30) })
            .collect();
        write(
            &path,
            vec![
                Column::new("term".into(), lists.clone()),
                Column::new(
                    "count".into(),
                    lists.iter().map(|list| list + 1).collect::<Vec<_>>(),
                ),
            ],
        );
        let found = open_within(&path, None, 8_000).unwrap();
        assert_eq!(found.shape(), (200, 34));
        let rows = read(&found, &[150..200, 0..3]).unwrap();
        assert_eq!(rows[1], [(1, 2.0), (3, 4.0), (6, 7.0)]);
        assert_eq!(rows[4], []);
        assert_eq!(rows[52], [(2, 3.0), (4, 5.0), (7, 8.0)]);
    }

    #[test]
    fn files_that_are_too_large_together_stay_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [0, 1, 2].map(|file| folder.path().join(format!("{file}.parquet")));
        write_triplets(&paths[0]);
        // Out of order: sorted into a temporary file.
        let terms = Column::new("term".into(), [7u32, 3, 0]);
        let counts = || Column::new("count".into(), [1u32, 2, 3]);
        let documents = || Column::new("doc".into(), [1u32, 0, 1]);
        write(&paths[1], vec![documents(), terms, counts()]);
        let terms = Column::new("term".into(), [50u32, 3, 0]);
        write(
            &paths[2],
            vec![Column::new("doc".into(), [0u32, 1, 2]), terms, counts()],
        );
        assert!(open_in_files_beyond(&paths, 1 << 20).unwrap().is_none());
        let files = open_in_files_beyond(&paths, 8_000)
            .unwrap()
            .expect("they are large");
        let shapes: Vec<_> = files.iter().map(Counts::shape).collect();
        assert_eq!(shapes, [(299, 40), (2, 8), (3, 51)]);
        assert!(files.iter().all(Counts::has_row_file));
        let all = FileSet::counts(files, 51, Location::Files(paths.to_vec())).unwrap();
        assert_eq!(all.shape(), (304, 51));
        assert!(all.in_memory().loaded < 4_000 && all.piece_bytes() > 0);
        let rows = read(&all, &[298..302, 0..1]).unwrap();
        assert_eq!(rows[1], [(3, 2.0)]);
        assert_eq!(rows[2], [(0, 3.0), (7, 1.0)]);
        assert_eq!(rows[3], [(50, 1.0)]);
        assert_eq!(
            rows[4],
            read(&open_within(&paths[0], None, 8_000).unwrap(), &[0..1]).unwrap()[0]
        );
    }

    #[test]
    fn a_file_that_changes_is_an_error() {
        let (_folder, path) = testkit::temp_path("X.parquet");
        write_triplets(&path);
        let found = open_within(&path, None, 8_000).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        testkit::refused! { read(&found, &[0..299]), "X.parquet"; }
    }
}
