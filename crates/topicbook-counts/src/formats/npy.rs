//! `.npy` files: parsing and writing headers, and opening dense counts.

use std::io::{ErrorKind as IoKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, WriterBuilder};

use crate::Counts;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::system::{MappedFile, OpenFile};
use crate::text::shown_path;

use super::widen::{MappedMatrix, Stored};

/// NumPy itself rejects headers above 10,000 bytes; a plain array needs about 100.
const MAX_HEADER: usize = 10_000;

/// A parsed header.
pub struct Header {
    npyz: NpyHeader,
    /// Bytes of the header, which is the offset of the first value.
    pub length: usize,
}

impl Header {
    /// Reads a header. `available` is the size of the file or archive entry in bytes, header included.
    pub fn read(path: &Path, mut reader: impl Read, available: u64) -> Result<Self> {
        let mut head = vec![0; 8];
        let found = read_up_to(path, &mut reader, &mut head)?;
        if found < 8 || &head[..6] != b"\x93NUMPY" {
            return Err(not_npy(path, &head[..found]));
        }
        let width = match head[6] {
            1 => 2,
            2 | 3 => 4,
            other => {
                return Err(Error::format(
                    path,
                    format!("version {other}.{} of the .npy format is unknown", head[7]),
                )
                .fix("save it with np.save, which writes versions 1 to 3"));
            }
        };
        head.resize(8 + width, 0);
        if read_up_to(path, &mut reader, &mut head[8..])? < width {
            return Err(truncated(path, available));
        }
        let mut size = [0; 4];
        size[..width].copy_from_slice(&head[8..]);
        let size = u32::from_le_bytes(size) as usize;
        let length = head.len() + size;
        if length as u64 > available {
            return Err(Error::format(
                path,
                format!("its header should have {length} bytes, and the file has {available}"),
            )
            .fix("the file was truncated or damaged: copy or save it again"));
        }
        if size > MAX_HEADER {
            return Err(Error::format(
                path,
                format!("its header has {size} bytes; a plain array needs about 100"),
            )
            .fix("save a plain numeric array with np.save"));
        }
        let start = head.len();
        head.resize(length, 0);
        if read_up_to(path, &mut reader, &mut head[start..])? < size {
            return Err(truncated(path, available));
        }
        check_before_parsing(path, &head[start..])?;
        let npyz = NpyHeader::from_reader(head.as_slice()).map_err(|source| {
            Error::format(path, format!("its header cannot be read: {source}"))
                .fix("save it again with np.save")
                .because(source)
        })?;
        Ok(Self { npyz, length })
    }

    pub fn shape(&self) -> &[u64] {
        self.npyz.shape()
    }

    /// Kind and size in bytes of the scalar type. Fails for types that are not plain little-endian values.
    pub fn scalar(&self, path: &Path) -> Result<(TypeChar, u64)> {
        let scalar = match self.npyz.dtype() {
            DType::Plain(scalar) => scalar,
            other => {
                return Err(Error::format(
                    path,
                    format!(
                        "its dtype {} is structured; counts are plain numbers",
                        other.descr()
                    ),
                )
                .fix("save one numeric field: np.save(path, X[\"field\"])"));
            }
        };
        let kind = scalar.type_char();
        if kind == TypeChar::Object {
            return Err(Error::format(
                path,
                "contains Python objects (dtype object), not numbers",
            )
            .fix("save numbers: np.save(path, X.astype(np.float32)); a sparse matrix with scipy.sparse.save_npz"));
        }
        if scalar.endianness() == Endianness::Big {
            return Err(Error::format(
                path,
                format!(
                    "its dtype {scalar} is big-endian; counts are read in place as little-endian"
                ),
            )
            .fix("convert it: np.save(path, X.astype(X.dtype.newbyteorder(\"<\")))"));
        }
        Ok((kind, scalar.size_field()))
    }

    /// The dtype. Fails for dtypes that counts cannot be read from.
    fn dtype(&self, path: &Path) -> Result<Stored> {
        let (kind, size) = self.scalar(path)?;
        let name = match kind {
            TypeChar::Bool => "bool".to_string(),
            TypeChar::Int => format!("int{}", size * 8),
            TypeChar::Uint => format!("uint{}", size * 8),
            TypeChar::Float => format!("float{}", size * 8),
            other => format!("{}{size}", other.to_str()),
        };
        match (kind, size) {
            (TypeChar::Uint, 1) => Ok(Stored::As(Dtype::U8)),
            (TypeChar::Uint, 2) => Ok(Stored::As(Dtype::U16)),
            (TypeChar::Uint, 4) => Ok(Stored::As(Dtype::U32)),
            (TypeChar::Int, 4) => Ok(Stored::As(Dtype::I32)),
            (TypeChar::Int, 8) => Ok(Stored::As(Dtype::I64)),
            (TypeChar::Float, 4) => Ok(Stored::As(Dtype::F32)),
            (TypeChar::Float, 8) => Ok(Stored::As(Dtype::F64)),
            (TypeChar::Bool, 1) => Ok(Stored::Bool),
            (TypeChar::Int, 1) => Ok(Stored::I8),
            (TypeChar::Int, 2) => Ok(Stored::I16),
            (TypeChar::Uint, 8) => Ok(Stored::U64),
            (TypeChar::Float, 2) => Ok(Stored::F16),
            _ => Err(Error::format(path, format!("counts cannot be read from dtype {name}"))
                .fix("save integers, bool, float16, float32 or float64: np.save(path, X.astype(np.uint16))")),
        }
    }

    /// Fails for arrays in Fortran order, in which a row is not contiguous.
    pub fn check_order(&self, path: &Path) -> Result<()> {
        if self.npyz.order() == Order::Fortran && self.shape().len() > 1 {
            return Err(Error::format(
                path,
                "is in Fortran order (column by column); counts are read row by row",
            )
            .fix("convert it: np.save(path, np.ascontiguousarray(X))"));
        }
        Ok(())
    }
}

/// Opens a `.npy` file: reads the header and maps the file.
pub fn open(path: &Path) -> Result<Counts> {
    let file = OpenFile::open(path)?;
    let length = file.length;
    let header = Header::read(path, &file.handle, length)?;
    let dtype = header.dtype(path)?;
    let shape = header.shape();
    let &[documents, terms] = shape else {
        return Err(Error::format(
            path,
            format!(
                "has {} dimensions {shape:?}; counts have two, documents × terms",
                shape.len()
            ),
        )
        .fix("reshape it: np.save(path, X.reshape(documents, terms))"));
    };
    header.check_order(path)?;
    let expected = documents
        .checked_mul(terms)
        .and_then(|values| values.checked_mul(dtype.bytes() as u64))
        .and_then(|size| size.checked_add(header.length as u64))
        .ok_or_else(|| too_large(path, shape))?;
    if expected != length {
        return Err(Error::format(
            path,
            format!("{documents} × {terms} counts of {} need {expected} bytes with the header, and the file has {length}", dtype.name()),
        )
        .fix(if length < expected {
            "the file was truncated: copy or write it again"
        } else {
            "the file has more bytes than its header says: write it again with np.save"
        }));
    }
    let too_large = |_| too_large(path, shape);
    let documents = usize::try_from(documents).map_err(too_large)?;
    let terms = usize::try_from(terms).map_err(too_large)?;
    let map = Arc::new(MappedFile::new(file)?);
    dtype.counts(MappedMatrix {
        map,
        start: header.length,
        documents,
        terms,
    })
}

/// Writes the header of an array in C order: version 1.0, padded to a multiple of 64 bytes.
pub fn write_header(out: impl Write, dtype: &str, shape: &[u64]) -> std::io::Result<()> {
    let dtype = dtype.parse().map_err(std::io::Error::other)?;
    npyz::WriteOptions::new_header_only()
        .dtype(DType::Plain(dtype))
        .shape(shape)
        .writer(out)
        .write_header_only()
        .map(drop)
}

/// Reads until `buffer` is full or the input ends. Returns the number of bytes read.
fn read_up_to(path: &Path, reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut found = 0;
    while found < buffer.len() {
        match reader.read(&mut buffer[found..]) {
            Ok(0) => break,
            Ok(more) => found += more,
            Err(error) if error.kind() == IoKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", path, error)),
        }
    }
    Ok(found)
}

fn not_npy(path: &Path, start: &[u8]) -> Error {
    if start.is_empty() {
        return Error::format(path, "is empty").fix("write it again with np.save");
    }
    let error = Error::format(path, "does not start like a .npy file");
    if start.starts_with(b"PK") {
        error.fix("it looks like a zip archive: rename it to .npz")
    } else {
        error.fix("save the counts with np.save, or rename the file to the extension of its format")
    }
}

fn truncated(path: &Path, available: u64) -> Error {
    Error::format(
        path,
        format!("ends inside its header, after {available} bytes"),
    )
    .fix("the file was truncated: copy or write it again")
}

fn too_large(path: &Path, shape: &[u64]) -> Error {
    Error::format(
        path,
        format!("an array of shape {shape:?} is too large for any file"),
    )
    .fix("the header is damaged: write the file again with np.save")
}

/// Rejects headers that `npyz` does not parse safely: deeply nested brackets overflow its stack, and it multiplies the
/// shape without a check for overflow.
fn check_before_parsing(path: &Path, text: &[u8]) -> Result<()> {
    const MAX_DEPTH: usize = 16;
    let mut depth = 0usize;
    for &byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(Error::format(
                path,
                "its header cannot be read: brackets are nested too deeply",
            )
            .fix("save it again with np.save"));
        }
    }
    let text = String::from_utf8_lossy(text);
    let shape = text.split("shape").nth(1).unwrap_or_default();
    let shape = shape.split([')', ']', '}']).next().unwrap_or_default();
    let sizes: Vec<u64> = shape
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap_or(u64::MAX))
        .collect();
    sizes
        .iter()
        .try_fold(1u64, |product, &size| product.checked_mul(size.max(1)))
        .map(drop)
        .ok_or_else(|| too_large(path, &sizes))
}

/// Fails if an output path does not have the extension of its format: [`Counts::open`] could not open it again.
pub fn check_extension(path: &Path, extension: &str) -> Result<()> {
    if path
        .extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(extension))
    {
        return Ok(());
    }
    Err(
        Error::setting(format!("{} does not end in .{extension}", shown_path(path))).fix(format!(
            "name it {}",
            shown_path(&path.with_extension(extension))
        )),
    )
}
