//! Entries of a `.npz` archive: headers, shapes and numbers.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use npyz::TypeChar;
use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use crate::error::{Error, Result};
use crate::formats::npy::Header;
use crate::formats::number_runs::{Decode, visit_bytes};
use crate::system::OpenFile;
use crate::text::{bytes, shown_path};

/// Sparse formats of SciPy that are read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SparseFormat {
    Csr,
    Csc,
    Coo,
}

/// An archive with its own read buffer. The file handle and its position are shared, so only one archive of a file may
/// be in use at a time.
pub(in crate::formats) type Archive<'a> = ZipArchive<BufReader<&'a File>>;

pub(super) fn open_archive(file: &OpenFile) -> Result<Archive<'_>> {
    let path = &file.path;
    if file.length == 0 {
        return Err(
            Error::format(path, "is empty").fix("write it again with scipy.sparse.save_npz")
        );
    }
    ZipArchive::new(BufReader::new(&file.handle)).map_err(|source| {
        Error::format(path, format!("is not a complete zip archive: {source}"))
            .fix("the file was truncated, or is not a .npz: write it again with scipy.sparse.save_npz")
            .because(source)
    })
}

/// The entry's name, for messages.
pub(super) fn entry(name: &str) -> String {
    format!("entry {name}.npy")
}

/// Most bytes that a byte of a deflated entry expands to: the shortest code, of 2 bits, repeats 258 bytes.
const MAX_INFLATION: u64 = 1032;

/// Finds an entry, and checks the place and the sizes that the directory of the archive states against the file.
pub(super) fn find_entry<'a, 'f>(
    file: &OpenFile,
    archive: &'a mut Archive<'f>,
    name: &str,
) -> Result<ZipFile<'a, BufReader<&'f File>>> {
    let found = archive.by_name(&format!("{name}.npy")).map_err(|source| {
        damaged(&file.path, name, std::io::Error::other(source.to_string())).because(source)
    })?;
    let start = found.data_start().unwrap_or_default();
    let (stored, size) = (found.compressed_size(), found.size());
    let most = match found.compression() {
        CompressionMethod::Stored => stored,
        _ => stored.saturating_mul(MAX_INFLATION),
    };
    let claim = |size: u64| {
        let what = format!("{} from byte {start} on", bytes(size));
        file.claim(format!("its directory states {what}"))
            .at(entry(name))
    };
    claim(stored).check_held(stored, file.length.saturating_sub(start))?;
    claim(size).check_held(size, most)?;
    Ok(found)
}

/// Opens an entry and reads its header. Returns the header, the size of the entry in bytes, header included, and a
/// reader of its values.
pub(super) fn open_entry(
    file: &OpenFile,
    archive: &mut Archive<'_>,
    name: &str,
) -> Result<(Header, u64, impl Read)> {
    let found = find_entry(file, archive, name)?;
    let size = found.size();
    let mut reader = BufReader::with_capacity(1 << 16, found);
    let header =
        Header::read(&file.path, &mut reader, size).map_err(|error| error.at(entry(name)))?;
    Ok((header, size, reader))
}

pub(super) fn damaged(path: &Path, name: &str, source: std::io::Error) -> Error {
    Error::format(path, format!("is damaged: {source}"))
        .at(entry(name))
        .fix("copy it again, or write it again with scipy.sparse.save_npz")
}

/// Reads the entry `format`.
pub(super) fn sparse_format(file: &OpenFile, archive: &mut Archive<'_>) -> Result<SparseFormat> {
    let path = &file.path;
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
            format!("has no sparse matrix of SciPy (no entry named format); it has {found}"),
        )
        .fix(
            "sparse counts: scipy.sparse.save_npz(path, X); a dense array: np.save(\"X.npy\", X)",
        ));
    }
    let (header, size, mut reader) = open_entry(file, archive, "format")?;
    let (kind, _) = header
        .scalar(path)
        .map_err(|error| error.at(entry("format")))?;
    let mut bytes = Vec::new();
    reader
        .by_ref()
        .take(size.min(1 << 10))
        .read_to_end(&mut bytes)
        .map_err(|source| damaged(path, "format", source))?;
    // A byte string, or UTF-32 from old versions of SciPy. Dropping zero bytes removes the padding of both and leaves
    // the ASCII bytes of UTF-32.
    bytes.retain(|&byte| byte != 0);
    let name = String::from_utf8_lossy(&bytes).into_owned();
    let text = matches!(kind, TypeChar::ByteStr | TypeChar::UnicodeStr);
    match name.as_str() {
        "csr" if text => Ok(SparseFormat::Csr),
        "csc" if text => Ok(SparseFormat::Csc),
        "coo" if text => Ok(SparseFormat::Coo),
        _ => Err(Error::format(
            path,
            format!("its sparse format is {name:?}; supported are csr, csc and coo"),
        )
        .at(entry("format"))
        .fix("convert it: scipy.sparse.save_npz(path, scipy.sparse.csr_array(X))")),
    }
}

/// Largest number of documents or terms, because indices have 32 bits.
pub(super) const MAX_SIZE: u32 = u32::MAX;

/// Reads the entry `shape`: documents and terms.
pub(super) fn shape(file: &OpenFile, archive: &mut Archive<'_>) -> Result<(usize, usize)> {
    let path = &file.path;
    let wrong = |what: String| {
        Error::format(path, what)
            .at(entry("shape"))
            .fix("write it again with scipy.sparse.save_npz")
    };
    let length = length(file, archive, "shape")?;
    let mut sizes = [0.0; 2];
    if length != sizes.len() as u64 {
        return Err(wrong(format!(
            "its shape has {length} numbers; counts have two, documents × terms"
        )));
    }
    read_numbers(file, archive, "shape", |position, size| {
        sizes[position] = size;
    })?;
    let [documents, terms] = sizes;
    let max = f64::from(MAX_SIZE);
    for size in [documents, terms] {
        if !(0.0..=max).contains(&size) || size.fract() != 0.0 {
            return Err(wrong(format!(
                "a shape of {documents} × {terms} is out of range: at most {max} each"
            )));
        }
    }
    Ok((documents as usize, terms as usize))
}

/// Returns the length of a one-dimensional entry. Reads its header, not its values.
pub(super) fn length(file: &OpenFile, archive: &mut Archive<'_>, name: &str) -> Result<u64> {
    let path = &file.path;
    if archive.index_for_name(&format!("{name}.npy")).is_none() {
        return Err(Error::format(path, format!("has no entry named {name}"))
            .fix("write it again with scipy.sparse.save_npz"));
    }
    let (header, size, _) = open_entry(file, archive, name)?;
    check_numbers(path, name, &header, size).map(|(length, _)| length)
}

/// Checks that an entry is a one-dimensional array of supported numbers, and that its size agrees with its header.
/// Returns the number of values, the bytes of one, and the function that decodes them.
pub(super) fn check_numbers(
    path: &Path,
    name: &str,
    header: &Header,
    size: u64,
) -> Result<(u64, (usize, Decode))> {
    let (kind, bytes) = header.scalar(path).map_err(|error| error.at(entry(name)))?;
    macro_rules! number {
        ($T:ty) => {
            (size_of::<$T>(), |bytes, numbers| {
                let (bytes, _) = bytes.as_chunks::<{ size_of::<$T>() }>();
                for (number, bytes) in numbers.iter_mut().zip(bytes) {
                    *number = <$T>::from_le_bytes(*bytes) as f64;
                }
            })
        };
    }
    let decode: (usize, Decode) = match (kind, bytes) {
        // NumPy takes any other byte than 0 as true.
        (TypeChar::Bool, 1) => (1, |bytes, numbers| {
            for (number, byte) in numbers.iter_mut().zip(bytes) {
                *number = f64::from(u8::from(*byte != 0));
            }
        }),
        (TypeChar::Uint, 1) => number!(u8),
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
                    "{name} has dtype {}{bytes}, which is not supported",
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
                "{name} should have {length} numbers of {} bytes, and its entry has {size} bytes",
                decode.0
            ),
        )
        .at(entry(name))
        .fix("the file was truncated or damaged: write it again with scipy.sparse.save_npz"));
    }
    Ok((length, decode))
}

/// Reads a one-dimensional entry and calls `visit` with the position and value of every number, in order.
pub(super) fn read_numbers(
    file: &OpenFile,
    archive: &mut Archive<'_>,
    name: &str,
    mut visit: impl FnMut(usize, f64),
) -> Result<()> {
    let path = &file.path;
    if archive.index_for_name(&format!("{name}.npy")).is_none() {
        return Err(Error::format(path, format!("has no entry named {name}"))
            .fix("write it again with scipy.sparse.save_npz"));
    }
    let (header, size, mut reader) = open_entry(file, archive, name)?;
    let (length, (width, decode)) = check_numbers(path, name, &header, size)?;
    /// Numbers read at once.
    const CHUNK: usize = 1 << 13;
    let mut left = length as usize;
    let mut position = 0;
    let mut buffer = vec![0; width * CHUNK];
    while left > 0 {
        let count = left.min(CHUNK);
        let bytes = &mut buffer[..count * width];
        reader
            .read_exact(bytes)
            .map_err(|source| damaged(path, name, source))?;
        visit_bytes(bytes, width, decode, |numbers| {
            for number in numbers {
                visit(position, *number);
                position += 1;
            }
            Ok(())
        })?;
        left -= count;
    }
    // The zip reader checks the CRC-32 when it reaches the end of the entry.
    let excess = reader
        .read(&mut [0])
        .map_err(|source| damaged(path, name, source))?;
    if excess > 0 {
        return Err(damaged(
            path,
            name,
            std::io::Error::other("data after its end"),
        ));
    }
    Ok(())
}

/// A vector with capacity for `length` values, or an error if they do not fit in memory.
pub(super) fn reserve<T>(path: &Path, length: u64) -> Result<Vec<T>> {
    let mut values = Vec::new();
    usize::try_from(length)
        .ok()
        .and_then(|length| values.try_reserve_exact(length).ok())
        .ok_or_else(|| {
            Error::space(format!(
                "{}: {length} stored counts do not fit in memory",
                shown_path(path)
            ))
            .fix("read it on a machine with more memory, or write the counts as .npy")
        })?;
    Ok(values)
}
