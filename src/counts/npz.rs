//! Sparse counts in `.npz` archives, as `scipy.sparse.save_npz` writes and reads them.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use npyz::TypeChar;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::csr::{Csr, Problem, check_row};
use super::dense::{DenseRows, as_bytes};
use super::dtype::{CountValue, Element, with_values};
use super::file::KeptFile;
use super::npy::{self, Header};
use super::rows::Pick;
use super::write::progress;
use super::{Counts, Location, Store, View, values};
use crate::beside::write_beside_sized;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Progress;

/// Sparse counts in memory, or in a file until they are first asked for.
pub(super) enum LazyCsr {
    Ready(Csr),
    File {
        source: Box<Source>,
        csr: OnceLock<Csr>,
        /// Held while reading, so that two threads do not both read.
        reading: Mutex<()>,
    },
}

impl LazyCsr {
    pub(super) fn ready(csr: Csr) -> Self {
        LazyCsr::Ready(csr)
    }

    /// Number of stored counts, known without reading them.
    pub(super) fn stored(&self) -> u64 {
        match self {
            LazyCsr::Ready(csr) => csr.values.len() as u64,
            LazyCsr::File { source, .. } => source.stored,
        }
    }

    /// The file and where its arrays lie in it, when rows can be read from there.
    pub(super) fn parts(&self) -> Option<(&KeptFile, Parts)> {
        match self {
            LazyCsr::Ready(_) => None,
            LazyCsr::File { source, .. } => source.parts.map(|parts| (&source.kept, parts)),
        }
    }

    /// Whether the counts are still only in their file.
    pub(super) fn waits(&self) -> bool {
        matches!(self, LazyCsr::File { csr, .. } if csr.get().is_none())
    }

    /// Bytes that reading takes beside the rows that it leaves.
    pub(super) fn reading_bytes(&self) -> u64 {
        match self {
            LazyCsr::Ready(_) => 0,
            LazyCsr::File { source, .. } => match source.arrangement {
                Arrangement::Csr => 0,
                // The columns that are turned into rows.
                Arrangement::Csc => 8 * source.stored,
                // Row, column and count of every entry, and their order.
                Arrangement::Coo => 20 * source.stored,
            },
        }
    }

    pub(super) fn get(&self) -> Result<&Csr> {
        match self {
            LazyCsr::Ready(csr) => Ok(csr),
            LazyCsr::File {
                source,
                csr,
                reading,
            } => {
                if let Some(csr) = csr.get() {
                    return Ok(csr);
                }
                let _reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(csr) = csr.get() {
                    return Ok(csr);
                }
                let read = source.read()?;
                Ok(csr.get_or_init(|| read))
            }
        }
    }
}

/// An archive whose headers have been read.
pub(super) struct Source {
    kept: KeptFile,
    documents: usize,
    terms: usize,
    stored: u64,
    arrangement: Arrangement,
    /// Where the arrays lie, when they are compressed sparse rows and not deflated.
    parts: Option<Parts>,
}

/// Compressed sparse rows whose parts can be read where they lie.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    stored: u64,
    indptr: Numbers,
    indices: Numbers,
    data: Numbers,
}

/// An array of an archive that is not deflated.
#[derive(Clone, Copy)]
struct Numbers {
    /// Its first byte in the file.
    start: u64,
    /// Bytes of a number.
    width: usize,
    decode: Decode,
}

#[derive(Clone, Copy, PartialEq)]
enum Arrangement {
    Csr,
    Csc,
    Coo,
}

/// An archive read through its own buffer: the file handle is shared, so one reader at a time.
type Archive<'a> = ZipArchive<BufReader<&'a File>>;

/// Opens an archive: reads the format, the shape and the headers of the arrays.
pub(super) fn open(path: &Path) -> Result<Counts> {
    let kept = KeptFile::open(path)?;
    let mut archive = archive(&kept)?;
    let arrangement = arrangement(path, &mut archive)?;
    let (documents, terms) = shape(path, &mut archive)?;
    let (inner, outer, outer_length) = match arrangement {
        Arrangement::Csr => ("indices", "indptr", documents.checked_add(1)),
        Arrangement::Csc => ("indices", "indptr", terms.checked_add(1)),
        Arrangement::Coo => ("row", "col", None),
    };
    let stored = length(path, &mut archive, "data")?;
    let expected = [
        (inner, stored),
        (outer, outer_length.map_or(stored, |n| n as u64)),
    ];
    for (name, expected) in expected {
        let found = length(path, &mut archive, name)?;
        if found != expected {
            return Err(Error::format(
                path,
                format!(
                    "{name} has {found} entries where {documents} documents x {terms} terms with {stored} stored counts need {expected}"
                ),
            )
            .at(entry(name))
            .fix("write it again with scipy.sparse.save_npz"));
        }
    }
    let mut part = |name| numbers(path, &mut archive, name);
    let parts = match arrangement {
        Arrangement::Csr => match (part("indptr")?, part("indices")?, part("data")?) {
            (Some(indptr), Some(indices), Some(data)) => Some(Parts {
                stored,
                indptr,
                indices,
                data,
            }),
            _ => None,
        },
        _ => None,
    };
    drop(archive);
    let source = Box::new(Source {
        kept,
        documents,
        terms,
        stored,
        arrangement,
        parts,
    });
    let store = Store::Csr(LazyCsr::File {
        source,
        csr: OnceLock::new(),
        reading: Mutex::new(()),
    });
    Counts::new(
        documents,
        terms,
        store,
        Location::Loaded(path.to_path_buf()),
    )
}

impl Source {
    /// Reads all arrays into memory, as compressed sparse rows.
    fn read(&self) -> Result<Csr> {
        self.kept.check_unchanged()?;
        let path = &self.kept.path;
        let (documents, terms) = (self.documents, self.terms);
        let mut archive = archive(&self.kept)?;
        let in_file = |problem: Problem| problem.in_file(path);
        match self.arrangement {
            Arrangement::Csr => {
                let indptr = offsets(path, &mut archive)?;
                let indices = indices(path, &mut archive, "indices", terms)?;
                let values = self.values(&mut archive, |entry| {
                    (owner(&indptr, entry), indices[entry] as usize)
                })?;
                Csr::new(documents, terms, indptr, indices, values).map_err(in_file)
            }
            Arrangement::Csc => {
                let indptr = offsets(path, &mut archive)?;
                let rows = indices(path, &mut archive, "indices", documents)?;
                let values = self.values(&mut archive, |entry| {
                    (rows[entry] as usize, owner(&indptr, entry))
                })?;
                // By columns, the same checks apply as by rows; what is left is to turn it around.
                let columns = Csr::new(terms, documents, indptr, rows, values).map_err(in_file)?;
                Ok(columns.transpose(documents))
            }
            Arrangement::Coo => {
                let rows = indices(path, &mut archive, "row", documents)?;
                let columns = indices(path, &mut archive, "col", terms)?;
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

    /// The counts as `f32`; refuses the first one (by row, then column) that is none or does not fit.
    fn values(
        &self,
        archive: &mut Archive<'_>,
        place: impl Fn(usize) -> (usize, usize),
    ) -> Result<Vec<f32>> {
        let path = &self.kept.path;
        let mut values = reserve(path, self.stored)?;
        let mut bad: Option<((usize, usize), f64)> = None;
        read_numbers(path, archive, "data", |entry, value| {
            let exact = f64::from(value as f32) == value;
            if !exact || !value.is_count() {
                let place = place(entry);
                if bad.is_none_or(|(first, _)| place < first) {
                    bad = Some((place, value));
                }
            }
            values.push(value as f32);
        })?;
        match bad {
            None => Ok(values),
            Some(((row, column), value)) if value.is_count() => {
                Err(values::too_large_for_sparse(value, row, column, Some(path)))
            }
            Some(((row, column), value)) => {
                Err(values::not_a_count(value, row, column, Some(path)))
            }
        }
    }
}

/// The row (or column) that an entry belongs to; 0 where `indptr` makes no sense, which is reported later.
fn owner(indptr: &[u64], entry: usize) -> usize {
    indptr
        .partition_point(|&start| start <= entry as u64)
        .saturating_sub(1)
}

fn archive(kept: &KeptFile) -> Result<Archive<'_>> {
    let path = &kept.path;
    if kept.length == 0 {
        return Err(
            Error::format(path, "is empty").fix("write it again with scipy.sparse.save_npz")
        );
    }
    ZipArchive::new(BufReader::new(&kept.file)).map_err(|source| {
        Error::format(path, format!("is not a whole zip archive: {source}"))
            .fix("the file was cut, or is no .npz: write it again with scipy.sparse.save_npz")
            .because(source)
    })
}

fn entry(name: &str) -> String {
    format!("entry {name}.npy")
}

/// Opens an entry and reads its header.
fn open_entry(
    path: &Path,
    archive: &mut Archive<'_>,
    name: &str,
) -> Result<(Header, u64, impl Read)> {
    let file = archive.by_name(&format!("{name}.npy")).map_err(|source| {
        damaged(path, name, std::io::Error::other(source.to_string())).because(source)
    })?;
    let size = file.size();
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let header = Header::read(path, &mut reader, size).map_err(|error| error.at(entry(name)))?;
    Ok((header, size, reader))
}

fn damaged(path: &Path, name: &str, source: std::io::Error) -> Error {
    Error::format(path, format!("is damaged: {source}"))
        .at(entry(name))
        .fix("copy it again, or write it again with scipy.sparse.save_npz")
}

fn arrangement(path: &Path, archive: &mut Archive<'_>) -> Result<Arrangement> {
    if archive.index_for_name("format.npy").is_none() {
        let mut found: Vec<&str> = archive
            .file_names_raw()
            .filter_map(|name| std::str::from_utf8(name).ok())
            .map(|name| name.trim_end_matches(".npy"))
            .collect();
        found.sort_unstable();
        let found = if found.is_empty() {
            "nothing".to_string()
        } else {
            found.join(", ")
        };
        return Err(Error::format(
            path,
            format!("holds no sparse matrix of SciPy (no entry named format); it holds {found}"),
        )
        .fix(
            "sparse counts: scipy.sparse.save_npz(path, X); a dense array: np.save(\"X.npy\", X)",
        ));
    }
    let (header, size, mut reader) = open_entry(path, archive, "format")?;
    let (kind, _) = header
        .scalar(path)
        .map_err(|error| error.at(entry("format")))?;
    let mut bytes = Vec::new();
    reader
        .by_ref()
        .take(size.min(1 << 10))
        .read_to_end(&mut bytes)
        .map_err(|source| damaged(path, "format", source))?;
    // Byte strings, or (from old SciPy) UTF-32; both padded with zeros.
    bytes.retain(|&byte| byte != 0);
    let name = String::from_utf8_lossy(&bytes).into_owned();
    let text = matches!(kind, TypeChar::ByteStr | TypeChar::UnicodeStr);
    match name.as_str() {
        "csr" if text => Ok(Arrangement::Csr),
        "csc" if text => Ok(Arrangement::Csc),
        "coo" if text => Ok(Arrangement::Coo),
        _ => Err(Error::format(
            path,
            format!("its sparse format is {name:?}; csr, csc and coo are read"),
        )
        .at(entry("format"))
        .fix("convert it: scipy.sparse.save_npz(path, scipy.sparse.csr_array(X))")),
    }
}

/// Most documents, or terms: indices are held in 32 bits.
const LARGEST_SIZE: u32 = u32::MAX;

fn shape(path: &Path, archive: &mut Archive<'_>) -> Result<(usize, usize)> {
    let mut sizes = Vec::new();
    read_numbers(path, archive, "shape", |_, size| sizes.push(size))?;
    let wrong = |what: String| {
        Error::format(path, what)
            .at(entry("shape"))
            .fix("write it again with scipy.sparse.save_npz")
    };
    let &[documents, terms] = sizes.as_slice() else {
        return Err(wrong(format!(
            "its shape has {} numbers; counts have two, documents x terms",
            sizes.len()
        )));
    };
    let largest = f64::from(LARGEST_SIZE);
    for size in [documents, terms] {
        if !(0.0..=largest).contains(&size) || size.fract() != 0.0 {
            return Err(wrong(format!(
                "a shape of {documents} x {terms} is out of range: at most {largest} each"
            )));
        }
    }
    Ok((documents as usize, terms as usize))
}

/// Length of a one-dimensional entry, from its header and the archive's directory.
fn length(path: &Path, archive: &mut Archive<'_>, name: &str) -> Result<u64> {
    if archive.index_for_name(&format!("{name}.npy")).is_none() {
        return Err(Error::format(path, format!("has no entry named {name}"))
            .fix("write it again with scipy.sparse.save_npz"));
    }
    let (header, size, _) = open_entry(path, archive, name)?;
    check_numbers(path, name, &header, size).map(|(length, _)| length)
}

/// Where the numbers of an entry lie; `None` when it is deflated.
fn numbers(path: &Path, archive: &mut Archive<'_>, name: &str) -> Result<Option<Numbers>> {
    let file = archive.by_name(&format!("{name}.npy")).map_err(|source| {
        damaged(path, name, std::io::Error::other(source.to_string())).because(source)
    })?;
    let (start, stored) = (
        file.data_start(),
        file.compression() == CompressionMethod::Stored,
    );
    drop(file);
    let (header, size, _) = open_entry(path, archive, name)?;
    let (_, (width, decode)) = check_numbers(path, name, &header, size)?;
    Ok(start.filter(|_| stored).map(|start| Numbers {
        start: start + header.length as u64,
        width,
        decode,
    }))
}

impl Numbers {
    fn place(&self, numbers: &Range<u64>) -> Range<u64> {
        let width = self.width as u64;
        self.start + numbers.start * width..self.start + numbers.end * width
    }

    /// Reads some of the numbers, through `stage`, and hands them on in order.
    fn read(
        &self,
        file: &KeptFile,
        numbers: Range<u64>,
        stage: &mut [u8],
        mut each: impl FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let place = self.place(&numbers);
        let at_once = stage.len() / self.width * self.width;
        let mut offset = place.start;
        while offset < place.end {
            let length = (place.end - offset).min(at_once as u64);
            let bytes = &mut stage[..length as usize];
            file.read_exact_at(offset, bytes)?;
            for number in bytes.chunks_exact(self.width) {
                each((self.decode)(number))?;
            }
            offset += length;
        }
        Ok(())
    }
}

impl Parts {
    /// Bytes of all rows in the file.
    pub(super) fn bytes(&self) -> u64 {
        self.stored * (self.indices.width + self.data.width) as u64
    }

    /// Where the columns and the counts of some rows lie in the file.
    pub(super) fn places(&self, file: &KeptFile, rows: Range<usize>) -> Result<[Range<u64>; 2]> {
        let mut bounds = [0; 2];
        for (bound, row) in bounds.iter_mut().zip([rows.start, rows.end]) {
            let row = row as u64;
            self.indptr.read(file, row..row + 1, &mut [0; 8], |start| {
                *bound = start as u64;
                Ok(())
            })?;
        }
        // What makes no sense is found when it is read.
        let numbers = bounds[0].min(self.stored)..bounds[1].min(self.stored);
        Ok([self.indices.place(&numbers), self.data.place(&numbers)])
    }

    /// Reads some rows, checks them as if the whole archive were read, and adds them to `csr`.
    pub(super) fn append(
        &self,
        file: &KeptFile,
        terms: usize,
        rows: Range<usize>,
        csr: &mut Csr,
        stage: &mut [u8],
    ) -> Result<()> {
        let path = &file.path;
        let damaged = |what: String, place: String| {
            Err(Error::format(path, what)
                .at(place)
                .fix("write it again with scipy.sparse.save_npz"))
        };
        let first_row = csr.indptr.len() - 1;
        let first = csr.indices.len() as u64;
        let mut begin = None;
        let mut last = 0;
        let mut row = rows.start;
        let entries = rows.start as u64..rows.end as u64 + 1;
        self.indptr.read(file, entries, stage, |start| {
            if !(start >= last as f64 && start <= self.stored as f64) {
                return damaged(
                    format!(
                        "indptr holds {start} after {last}, with {} counts",
                        self.stored
                    ),
                    format!("indptr[{row}]"),
                );
            }
            last = start as u64;
            row += 1;
            match begin {
                None => begin = Some(last),
                Some(begin) => csr.indptr.push(first + last - begin),
            }
            Ok(())
        })?;
        let numbers = begin.unwrap_or_default()..last;
        let mut position = numbers.start;
        self.indices.read(file, numbers.clone(), stage, |index| {
            if !(index >= 0.0 && index < terms as f64) {
                return damaged(
                    format!("index {index} is out of range: from 0 to {}", terms - 1),
                    format!("indices[{position}]"),
                );
            }
            position += 1;
            csr.indices.push(index as u32);
            Ok(())
        })?;
        self.data.read(file, numbers, stage, |value| {
            let exact = f64::from(value as f32) == value;
            if !exact || !value.is_count() {
                let entry = csr.values.len();
                let row = csr.indptr[first_row..].partition_point(|&start| start <= entry as u64);
                let (row, column) = (rows.start + row - 1, csr.indices[entry] as usize);
                return Err(match value.is_count() {
                    true => values::too_large_for_sparse(value, row, column, Some(path)),
                    false => values::not_a_count(value, row, column, Some(path)),
                });
            }
            csr.values.push(value as f32);
            Ok(())
        })?;
        for (place, row) in rows.enumerate() {
            let starts = &csr.indptr[first_row + place..];
            let range = starts[0] as usize..starts[1] as usize;
            let (columns, values) = (&mut csr.indices[range.clone()], &mut csr.values[range]);
            check_row(row, terms, columns, values).map_err(|problem| problem.in_file(path))?;
        }
        Ok(())
    }
}

/// How bytes become a number.
type Decode = fn(&[u8]) -> f64;

/// Number of values, bytes of one, and how to read one.
fn check_numbers(
    path: &Path,
    name: &str,
    header: &Header,
    size: u64,
) -> Result<(u64, (usize, Decode))> {
    let (kind, bytes) = header.scalar(path).map_err(|error| error.at(entry(name)))?;
    macro_rules! number {
        ($T:ty) => {
            (size_of::<$T>(), |bytes| {
                let mut number = [0; size_of::<$T>()];
                number.copy_from_slice(bytes);
                <$T>::from_le_bytes(number) as f64
            })
        };
    }
    let decode: (usize, Decode) = match (kind, bytes) {
        (TypeChar::Bool | TypeChar::Uint, 1) => number!(u8),
        (TypeChar::Uint, 2) => number!(u16),
        (TypeChar::Uint, 4) => number!(u32),
        (TypeChar::Uint, 8) => number!(u64),
        (TypeChar::Int, 1) => number!(i8),
        (TypeChar::Int, 2) => number!(i16),
        (TypeChar::Int, 4) => number!(i32),
        (TypeChar::Int, 8) => number!(i64),
        (TypeChar::Float, 4) if name == "data" => number!(f32),
        (TypeChar::Float, 8) if name == "data" => number!(f64),
        _ => {
            return Err(Error::format(
                path,
                format!(
                    "{name} holds {}{bytes}, not numbers of a kind that is read",
                    kind.to_str()
                ),
            )
            .at(entry(name))
            .fix("write it again with scipy.sparse.save_npz, the counts as integers or float32"));
        }
    };
    let &[length] = header.shape() else {
        return Err(Error::format(
            path,
            format!("{name} has {} dimensions, not one", header.shape().len()),
        )
        .at(entry(name))
        .fix("write it again with scipy.sparse.save_npz"));
    };
    let expected = length
        .checked_mul(decode.0 as u64)
        .and_then(|bytes| bytes.checked_add(header.length as u64));
    if expected != Some(size) {
        return Err(Error::format(
            path,
            format!(
                "{name} should hold {length} numbers of {} bytes, and its entry has {size} bytes",
                decode.0
            ),
        )
        .at(entry(name))
        .fix("the file was cut or damaged: write it again with scipy.sparse.save_npz"));
    }
    Ok((length, decode))
}

/// Reads a one-dimensional entry and hands on its numbers, in order.
fn read_numbers(
    path: &Path,
    archive: &mut Archive<'_>,
    name: &str,
    mut each: impl FnMut(usize, f64),
) -> Result<()> {
    if archive.index_for_name(&format!("{name}.npy")).is_none() {
        return Err(Error::format(path, format!("has no entry named {name}"))
            .fix("write it again with scipy.sparse.save_npz"));
    }
    let (header, size, mut reader) = open_entry(path, archive, name)?;
    let (length, (width, decode)) = check_numbers(path, name, &header, size)?;
    let mut left = length as usize;
    let mut position = 0;
    let mut buffer = vec![0; width << 13];
    while left > 0 {
        let count = left.min(1 << 13);
        let bytes = &mut buffer[..count * width];
        reader
            .read_exact(bytes)
            .map_err(|source| damaged(path, name, source))?;
        for number in bytes.chunks_exact(width) {
            each(position, decode(number));
            position += 1;
        }
        left -= count;
    }
    // Reading to the end makes the archive check its checksum.
    let rest = reader
        .read(&mut [0])
        .map_err(|source| damaged(path, name, source))?;
    if rest > 0 {
        return Err(damaged(
            path,
            name,
            std::io::Error::other("data after its end"),
        ));
    }
    Ok(())
}

fn reserve<T>(path: &Path, length: u64) -> Result<Vec<T>> {
    let mut values = Vec::new();
    usize::try_from(length)
        .ok()
        .and_then(|length| values.try_reserve_exact(length).ok())
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Space,
                format!(
                    "{}: {length} stored counts do not fit in memory",
                    path.display()
                ),
            )
            .fix("read it on a machine with more memory, or write the counts as .npy")
        })?;
    Ok(values)
}

/// Row or column numbers, each below `bound`.
fn indices(path: &Path, archive: &mut Archive<'_>, name: &str, bound: usize) -> Result<Vec<u32>> {
    let mut indices = reserve(path, length(path, archive, name)?)?;
    let mut bad = None;
    read_numbers(path, archive, name, |position, index| {
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

fn offsets(path: &Path, archive: &mut Archive<'_>) -> Result<Vec<u64>> {
    let mut offsets = reserve(path, length(path, archive, "indptr")?)?;
    let mut bad = None;
    read_numbers(path, archive, "indptr", |position, offset| {
        if offset < 0.0 {
            bad.get_or_insert((position, offset));
        }
        offsets.push(offset as u64);
    })?;
    match bad {
        None => Ok(offsets),
        Some((position, offset)) => Err(Error::format(path, format!("indptr holds {offset}"))
            .at(format!("indptr[{position}]"))
            .fix("write it again with scipy.sparse.save_npz")),
    }
}

/// More than the headers of an archive of ours take.
const LARGEST_FRAME: u64 = 1 << 12;

/// Writes the nonzero counts of the picked rows as SciPy's `save_npz` does (compressed sparse rows), but stored and not
/// deflated: a part of an entry can be read where it lies, and the space the file takes is known before.
///
/// Counts are passed over three times (row lengths, columns, values), so that memory stays bounded.
pub(super) fn write(counts: &Counts, pick: Pick, path: &Path) -> Result<Counts> {
    npy::check_ending(path, "npz")?;
    let documents = pick.documents(counts);
    if documents > LARGEST_SIZE as usize {
        return Err(Error::setting(format!(
            "{documents} documents in one sparse file are more than the {LARGEST_SIZE} it can hold"
        ))
        .fix("write several files, or the counts as .npy"));
    }
    // Reading sparse counts refuses what is no count: then it must not be written either.
    let summary = counts.summary()?;
    let dtype = counts.dtype();
    let row_bytes = summary.density() * (counts.terms() * (4 + dtype.bytes())) as f64;
    let progress = progress(path, documents, 3, row_bytes);
    let indptr = row_starts(counts, pick, &progress)?;
    let stored = indptr[documents];
    let wide = stored > i32::MAX as u64 || counts.terms() > i32::MAX as usize;
    let index_dtype = if wide { "<i8" } else { "<i4" };
    let index_bytes = if wide { 8 } else { 4 };
    let arrays = stored * (index_bytes + dtype.bytes() as u64) + indptr.len() as u64 * index_bytes;

    write_beside_sized(path, arrays + LARGEST_FRAME, |out| {
        let mut zip = Zip {
            zip: ZipWriter::new(out),
            path,
        };
        zip.start("indices", index_dtype, &[stored], stored * index_bytes)?;
        let mut bytes = Vec::new();
        pick.each_block(counts, &mut |picked| {
            for &row in picked.rows {
                bytes.clear();
                each_stored(&picked.view, counts.terms(), row, |column, _, _| {
                    put(&mut bytes, column as u64, wide)
                });
                zip.put(&bytes)?;
            }
            progress.advance(picked.rows.len());
            Ok(())
        })?;
        let length = indptr.len() as u64;
        zip.start("indptr", index_dtype, &[length], length * index_bytes)?;
        for part in indptr.chunks(1 << 16) {
            bytes.clear();
            part.iter()
                .for_each(|&offset| put(&mut bytes, offset, wide));
            zip.put(&bytes)?;
        }
        zip.start("format", "|S3", &[], 3)?;
        zip.put(b"csr")?;
        zip.start("shape", "<i8", &[2], 16)?;
        for size in [documents, counts.terms()] {
            zip.put(&(size as i64).to_le_bytes())?;
        }
        zip.start(
            "data",
            dtype.npy(),
            &[stored],
            stored * dtype.bytes() as u64,
        )?;
        pick.each_block(counts, &mut |picked| {
            for &row in picked.rows {
                match &picked.view {
                    View::Csr(csr) => zip.put(as_bytes(csr.row(row).1))?,
                    View::Dense(rows) => with_values!(DenseRows, rows, values => {
                        zip.put(as_bytes(&nonzeros(values, counts.terms(), row)))?
                    }),
                }
            }
            progress.advance(picked.rows.len());
            Ok(())
        })?;
        zip.finish()
    })?;
    Counts::open(path)
}

/// An archive being written.
struct Zip<'a> {
    zip: ZipWriter<&'a mut BufWriter<File>>,
    path: &'a Path,
}

impl Zip<'_> {
    /// Starts an array of `bytes` bytes.
    fn start(&mut self, name: &str, dtype: &str, shape: &[u64], bytes: u64) -> Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes >= 1 << 31);
        self.zip
            .start_file(format!("{name}.npy"), options)
            .map_err(|error| self.failed(error.into()))?;
        npy::write_header(&mut self.zip, dtype, shape).map_err(|error| self.failed(error))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.zip
            .write_all(bytes)
            .map_err(|error| self.failed(error))
    }

    fn finish(self) -> Result<()> {
        let path = self.path;
        match self.zip.finish() {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::io("write", path, error.into())),
        }
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io("write", self.path, error)
    }
}

/// Appends an index as 32 or 64 bits.
fn put(bytes: &mut Vec<u8>, index: u64, wide: bool) {
    if wide {
        bytes.extend_from_slice(&(index as i64).to_le_bytes());
    } else {
        bytes.extend_from_slice(&(index as i32).to_le_bytes());
    }
}

fn nonzeros<T: Element>(values: &[T], terms: usize, row: usize) -> Vec<T> {
    values[row * terms..(row + 1) * terms]
        .iter()
        .copied()
        .filter(|value| *value != T::default())
        .collect()
}

/// Hands on the column and value of each stored count of one row, and whether `f32` holds it exactly.
fn each_stored(view: &View<'_>, terms: usize, row: usize, mut each: impl FnMut(usize, f64, bool)) {
    match view {
        View::Csr(csr) => {
            let (columns, values) = csr.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                each(column as usize, f64::from(value), true);
            }
        }
        View::Dense(rows) => with_values!(DenseRows, rows, values => {
            dense_row(values, terms, row, &mut each);
        }),
    }
}

fn dense_row<T: CountValue>(
    values: &[T],
    terms: usize,
    row: usize,
    each: &mut impl FnMut(usize, f64, bool),
) {
    let values = &values[row * terms..(row + 1) * terms];
    for (column, value) in values.iter().enumerate() {
        if *value != T::default() {
            let exact = value
                .exact_f64()
                .is_some_and(|wide| f64::from(wide as f32) == wide);
            each(column, value.to_f64(), exact);
        }
    }
}

/// Where each row starts among the stored counts; refuses counts that reading would change.
fn row_starts(counts: &Counts, pick: Pick, progress: &Progress) -> Result<Vec<u64>> {
    let mut starts = Vec::with_capacity(pick.documents(counts) + 1);
    let mut stored = 0;
    starts.push(stored);
    pick.each_block(counts, &mut |picked| {
        for (&row, &document) in picked.rows.iter().zip(picked.documents) {
            let mut bad = None;
            each_stored(&picked.view, counts.terms(), row, |column, value, exact| {
                stored += 1;
                if !exact {
                    bad.get_or_insert((column, value));
                }
            });
            if let Some((column, value)) = bad {
                return Err(values::too_large_for_sparse(value, document, column, None));
            }
            starts.push(stored);
        }
        progress.advance(picked.rows.len());
        Ok(())
    })?;
    Ok(starts)
}
