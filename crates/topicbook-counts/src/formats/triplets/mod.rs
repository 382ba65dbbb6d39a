//! Counts in tables with one row per nonzero count (document, term, count): Parquet, Arrow and CSV, read with Polars. Tables
//! of Parquet and Arrow may have lists of terms and counts instead, one row per document.

mod columns;
mod group_column;
mod in_place;
mod lists;
mod named;
mod row_groups;
mod runs;
mod write;

use std::ops::Range;
use std::path::{Path, PathBuf};

use polars::prelude::{DataFrame, DataType};
use rayon::prelude::*;

use crate::csr::{Csr, CsrDefect};
use crate::data::{CsvFile, IN_MEMORY, Table, TableFile};
use crate::error::{Error, Result};
use crate::system::memory::free_memory;
use crate::system::{Claim, OpenFile};
use crate::text::counted;
use crate::{Counts, Location};

pub use group_column::GroupColumn;
pub use named::NamedTriplets;
pub use runs::folder_of;
pub use write::write;

use columns::{Ids, Values, counts, ids};
use in_place::{GroupRows, InOrder};
use lists::RowNumbers;
use row_groups::TripletGroups;
use runs::Runs;

/// Required columns: row and column in the matrix, both counted from 0, and the count.
const COLUMNS: [&str; 3] = ["doc", "term", "count"];

/// Most bytes of a row while the table is converted: three columns of 8, a column that is cast, two ids and a count of 4.
const ROW_BYTES: u64 = 3 * 8 + 8 + 3 * 4;

/// Most bytes of a row while tables are joined: the rows of one table, and of all, which may be copied while they grow.
const JOINED_BYTES: u64 = 3 * 8;

/// Share of the free memory that a file with groups of rows may take while it is read whole.
const MEMORY_SHARE: u64 = 2;

/// The remedy for a pair of document and term that comes twice.
const DUPLICATE_REMEDY: &str = "add the counts up first: group_by([\"doc\", \"term\"]).sum()";

/// Opens a table as counts of `shape` (documents, terms). Without one, the largest ids determine the shape.
pub fn open(path: &Path, shape: Option<(usize, usize)>) -> Result<Counts> {
    open_within(path, shape, free_memory() / MEMORY_SHARE)
}

/// Opens files with groups of rows that stay on disk, if all together would take too much memory.
pub fn open_in_files(paths: &[PathBuf]) -> Result<Option<Vec<Counts>>> {
    open_in_files_beyond(paths, free_memory() / MEMORY_SHARE)
}

/// [`open_in_files`] if together they would take more than `limit` bytes.
fn open_in_files_beyond(paths: &[PathBuf], limit: u64) -> Result<Option<Vec<Counts>>> {
    let mut triplets = 0u64;
    for path in paths {
        let TableFile::Groups(file) = TableFile::open(path)? else {
            return Ok(None);
        };
        let source = row_groups::guarded(path, || TripletGroups::open(file))?;
        triplets = triplets.saturating_add(source.triplets());
    }
    if triplets.saturating_mul(JOINED_BYTES) <= limit {
        return Ok(None);
    }
    let in_file = |source| in_file(source, None, limit, 0);
    let files = paths.iter().map(|path| open_by(path, None, in_file));
    files.collect::<Result<_>>().map(Some)
}

/// [`open`] with about `limit` bytes of memory: a larger file is read by groups of rows, if it has them.
fn open_within(path: &Path, shape: Option<(usize, usize)>, limit: u64) -> Result<Counts> {
    open_by(path, shape, |source| from_groups(source, shape, limit))
}

/// Opens a file: one with groups of rows by `read`, others whole.
fn open_by(
    path: &Path,
    shape: Option<(usize, usize)>,
    read: impl FnOnce(TripletGroups) -> Result<Counts>,
) -> Result<Counts> {
    match TableFile::open(path)? {
        TableFile::Csv(file) => from_csv(path, &file, shape),
        TableFile::Groups(file) => row_groups::guarded(path, || read(TripletGroups::open(file)?)),
        TableFile::Whole(_, table) => {
            check_columns(path, &table.column_names(), &COLUMNS)?;
            let table = table.select(COLUMNS)?.into_inner();
            from_table(path, table, shape, false, Location::Loaded(path.into()))
        }
        TableFile::Memory(table) => in_memory(&table, shape, false),
    }
}

/// Reads a CSV file whole. Values that are not numbers become nulls, which `first_null` reports with their row and column.
fn from_csv(path: &Path, file: &CsvFile, shape: Option<(usize, usize)>) -> Result<Counts> {
    check_columns(path, &file.header.names, &COLUMNS)?;
    let [document, term, count] = COLUMNS;
    let types = [
        (document, DataType::Int64),
        (term, DataType::Int64),
        (count, DataType::Float64),
    ];
    let table = file.read_as(&types, ROW_BYTES)?;
    from_table(path, table, shape, false, Location::Loaded(path.into()))
}

/// Counts of a table in memory that has the columns of a file with triplets of numbers, and no others; `None` if it has not.
pub fn of_frame(table: &Table) -> Option<Result<Counts>> {
    let has = |name: &str, fits: fn(&DataType) -> bool| {
        table.column(name).is_ok_and(|column| fits(column.dtype()))
    };
    let lists = COLUMNS[1..]
        .iter()
        .all(|name| has(name, |dtype| dtype.inner_dtype().is_some()));
    let numbers = COLUMNS
        .iter()
        .all(|name| has(name, DataType::is_primitive_numeric));
    let fits = lists || numbers && table.width() == COLUMNS.len();
    fits.then(|| in_memory(table, None, lists))
}

fn in_memory(table: &Table, shape: Option<(usize, usize)>, lists: bool) -> Result<Counts> {
    let frame = DataFrame::clone(table);
    from_table(Path::new(IN_MEMORY), frame, shape, lists, Location::Memory)
}

/// Reads a file with groups of rows whole, if it takes no more than `limit` in memory.
fn from_groups(source: TripletGroups, shape: Option<(usize, usize)>, limit: u64) -> Result<Counts> {
    let path = &source.path().to_path_buf();
    if source.triplets().saturating_mul(ROW_BYTES) <= limit || source.rows() == 0 {
        let lists = source.has_lists();
        let table = source.read(0..source.rows() as usize)?;
        return from_table(path, table, shape, lists, Location::Loaded(path.clone()));
    }
    in_file(source, shape, limit, limit / 4)
}

/// Leaves triplets in their file if they are in order; others are sorted into temporary files, or into memory if they take no
/// more than `held` bytes there. Uses about `limit` bytes.
fn in_file(
    source: TripletGroups,
    shape: Option<(usize, usize)>,
    limit: u64,
    held: u64,
) -> Result<Counts> {
    let path = &source.path().to_path_buf();
    if source.largest_group() <= in_place::MAX_GROUP {
        let mut in_order = InOrder::new(path);
        let groups = rayon::current_num_threads();
        if for_each_group(&source, shape, limit, groups, GroupRows::of, |rows| {
            in_order.add(rows)
        })? {
            return in_order.finish(source, shape);
        }
    }
    let mut runs = Runs::new(path, limit / 4, held);
    for_each_group(&source, shape, limit, 1, Ok, |found: Triplets| {
        runs.add(&found.documents, &found.terms, &found.counts.into_f32())?;
        runs.extend(found.numbered);
        Ok(true)
    })?;
    runs.finish(shape, Location::Loaded(path.clone()))
}

/// Calls `visit` with what `convert` makes of each row group, in order, until `visit` returns `false`. Returns its last
/// result. Reads `at_once` row groups side by side, or one where about `limit` bytes do not hold more.
fn for_each_group<T: Send>(
    source: &TripletGroups,
    shape: Option<(usize, usize)>,
    limit: u64,
    at_once: usize,
    convert: impl Fn(Triplets) -> Result<T> + Sync,
    mut visit: impl FnMut(T) -> Result<bool> + Send,
) -> Result<bool> {
    let lists = source.has_lists();
    let read = |rows: &Range<usize>| {
        let table = source.read(rows.clone())?;
        convert(Triplets::of(
            source.path(),
            table,
            shape,
            rows.start,
            lists,
        )?)
    };
    let group = source.largest_group().saturating_mul(ROW_BYTES).max(1);
    let groups: Vec<Range<usize>> = source.row_groups().collect();
    // The next row groups are decoded while these are visited, where both have room.
    let at_once = at_once.min((limit / group / 2) as usize).max(1);
    let overlap = group.saturating_mul(2) <= limit / 2;
    let mut chunks = groups.chunks(at_once);
    let mut decode = || match chunks.next() {
        Some(chunk) => chunk.par_iter().map(read).collect::<Result<Vec<T>>>(),
        None => Ok(Vec::new()),
    };
    let mut next = decode()?;
    while !next.is_empty() {
        let found = std::mem::take(&mut next);
        let visit = || -> Result<bool> {
            for group in found {
                if !visit(group)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let (proceed, decoded) = match overlap {
            true => rayon::join(visit, &mut decode),
            false => (visit(), decode()),
        };
        if !proceed? {
            return Ok(false);
        }
        next = decoded?;
    }
    Ok(true)
}

/// Triplets in memory.
struct Triplets {
    documents: Ids,
    terms: Ids,
    counts: Values,
    rows: RowNumbers,
    /// Number of documents up to these, where the rows number them; 0 where a column does.
    numbered: usize,
}

impl Triplets {
    /// Converts a table whose first row is the row `first` of its file.
    fn of(
        path: &Path,
        table: DataFrame,
        shape: Option<(usize, usize)>,
        first: usize,
        lists: bool,
    ) -> Result<Self> {
        let (n, m) = (shape.map(|shape| shape.0), shape.map(|shape| shape.1));
        let has_ids = !lists || table.column(COLUMNS[0]).is_ok();
        let numbered = if has_ids { 0 } else { first + table.height() };
        let bound = n.unwrap_or(u32::MAX as usize).min(u32::MAX as usize);
        if numbered > bound {
            let (rows, most) = (counted(numbered, "row"), counted(bound, "document"));
            return Err(
                Error::format(path, format!("has at least {rows} for {most}"))
                    .fix("pass the number of rows as the number of documents"),
            );
        }
        let mut rows = RowNumbers::from(first);
        let mut documents = match has_ids {
            true => ids(path, &table, COLUMNS[0], n, &rows)?,
            false => Ids::Converted((first as u32..numbered as u32).collect()),
        };
        let mut table = table;
        if lists {
            (table, rows) = lists::flatten(path, &table, first)?;
            documents = Ids::Converted(rows.of_triplets().map(|row| documents[row]).collect());
        }
        let terms = ids(path, &table, COLUMNS[1], m, &rows)?;
        let counts = counts(path, &table, &documents, &terms, &rows)?;
        Ok(Self {
            documents,
            terms,
            counts,
            rows,
            numbered,
        })
    }
}

/// Converts a table in memory, which was read from `location`.
fn from_table(
    path: &Path,
    table: DataFrame,
    shape: Option<(usize, usize)>,
    lists: bool,
    location: Location,
) -> Result<Counts> {
    if table.height() == 0 {
        return Err(Error::format(path, "has no rows").fix("write one row per nonzero count"));
    }
    let Triplets {
        documents,
        terms,
        counts,
        rows,
        numbered,
    } = Triplets::of(path, table, shape, 0, lists)?;
    let counts = counts.into_f32();
    if counts.is_empty() && shape.is_none() {
        return Err(
            Error::format(path, "has no counts: all its lists are empty")
                .fix("write the terms and counts of at least one document"),
        );
    }
    let largest = |ids: &[u32]| {
        ids.iter()
            .enumerate()
            .max_by_key(|(_, id)| **id)
            .map(|(row, &id)| (row, id as usize + 1))
            .unwrap_or_default()
    };
    let (last_row, size) = largest(&documents);
    let (n, m) = shape.unwrap_or_else(|| (size.max(numbered), largest(&terms).1));
    // The row starts, and the order and the arrays of the counts. A single wrong id can make the matrix arbitrarily large.
    let needed = (n as u64 + 2).saturating_mul(size_of::<u64>() as u64) + 16 * counts.len() as u64;
    Claim::new(
        path,
        counted(n, "document"),
        counted(counts.len(), "data row"),
    )
    .at(match shape {
        Some(_) => "the requested shape".into(),
        None => format!("the largest id, in {}", rows.name(last_row)),
    })
    .check_memory(needed)?;
    let csr = Csr::from_triplets(n, &documents, &terms, &counts, |triplet| rows.name(triplet))
        .map_err(|problem: CsrDefect| problem.in_file(path))?;
    Counts::from_csr(n, m, csr, location)
}

/// Checks the memory for a table of `rows` rows.
fn check_rows(file: &OpenFile, rows: u64) -> Result<()> {
    file.claim(counted(rows as usize, "row"))
        .check_memory(rows.saturating_mul(ROW_BYTES))
}

/// Fails if one of these columns is missing.
fn check_columns<T: AsRef<str>>(path: &Path, found: &[T], expected: &[&str]) -> Result<()> {
    let found: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
    let mut missing = expected.to_vec();
    missing.retain(|name| !found.contains(name));
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::format(
        path,
        format!("has no column named {}", missing.join(" or ")),
    )
    .at(format!("its columns are: {}", found.join(", ")))
    .fix(
        "name the columns doc, term and count; doc and term are whole numbers from 0. A Parquet or Arrow table with one row \
         per document has lists in term and count, and needs no doc. CountTable::open reads tables with a column per term, and \
         tables with the names of documents and terms",
    ))
}
