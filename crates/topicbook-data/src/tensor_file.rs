//! The file format of fits and checkpoints: safetensors with named matrices, metadata as JSON, and a checksum.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::system::memory::check_free;
use crate::system::{MappedFile, OpenFile, Values, check_regular, parsed_json, values_of_file};
use crate::text::{bytes, shown_path};

use super::matrix::Matrix;

/// A kind of file: fits or checkpoints.
pub struct FileKind {
    /// Key of the metadata in the header, which identifies the kind.
    pub key: &'static str,
    /// The writer of such files, as named in error messages.
    pub writer: &'static str,
    /// The version of the format of metadata and matrices. Files of another version are refused.
    pub format: u32,
}

/// Key of the format's version, which files of version 1 do not have.
const FORMAT: &str = "format";
/// Key of the checksum over metadata and matrices, which detects damage.
const CHECKSUM: &str = "checksum";
/// Bytes of the header length, a little-endian u64 at the start of the file; the header is padded to a multiple of it.
const LENGTH_BYTES: usize = 8;
/// The longest header, in bytes, that readers of the format accept.
const MAX_HEADER: u64 = 100_000_000;

/// A row-major matrix of a file, with its name.
pub struct NamedTable<'a> {
    pub name: &'static str,
    pub columns: usize,
    pub values: Cow<'a, [f32]>,
    /// The matrix that has these values, which may be in a mapped file.
    pub of: Option<&'a Matrix>,
}

impl<'a> NamedTable<'a> {
    pub fn of(name: &'static str, matrix: &'a Matrix) -> Self {
        Self {
            name,
            columns: matrix.columns(),
            values: Cow::Borrowed(matrix.values()),
            of: Some(matrix),
        }
    }

    /// The same matrix, borrowed from this one.
    pub fn borrowed(&self) -> NamedTable<'_> {
        NamedTable {
            name: self.name,
            columns: self.columns,
            values: Cow::Borrowed(&self.values),
            of: self.of,
        }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }
}

/// Bytes of these matrices in a file.
pub fn table_bytes(tables: &[NamedTable]) -> u64 {
    tables
        .iter()
        .map(|table| 4 * table.values.len() as u64)
        .sum()
}

/// Writes a whole file. Matrices are converted to bytes in small chunks, so none is in memory twice.
pub fn write(
    out: &mut impl Write,
    path: &Path,
    kind: &FileKind,
    metadata: &impl Serialize,
    tables: &[NamedTable],
) -> Result<()> {
    let failed =
        |what: &dyn std::fmt::Display| Error::format(path, format!("cannot be written: {what}"));
    let metadata = serde_json::to_string(metadata).map_err(|error| failed(&error))?;
    let sum = checksum(&metadata, tables.iter().map(|table| &*table.values));
    let mut end = 0;
    let infos = tables.iter().map(|table| {
        let begin = end;
        end += 4 * table.values.len();
        let info = TensorInfo {
            dtype: Dtype::F32,
            shape: vec![table.rows(), table.columns],
            data_offsets: (begin, end),
        };
        (table.name.to_string(), info)
    });
    let infos = infos.collect();
    let mut texts = HashMap::from([(kind.key.into(), metadata), (CHECKSUM.into(), sum)]);
    if kind.format > 1 {
        texts.insert(FORMAT.into(), kind.format.to_string());
    }
    let metadata = Metadata::new(Some(texts), infos).map_err(|error| failed(&error))?;
    let mut header = serde_json::to_string(&metadata).map_err(|error| failed(&error))?;
    while !header.len().is_multiple_of(LENGTH_BYTES) {
        header.push(' ');
    }
    if header.len() as u64 > MAX_HEADER {
        return Err(failed(
            &"its metadata (the names of terms and documents) is longer than 100 MB",
        ));
    }
    let put = |bytes: &[u8], out: &mut dyn Write| {
        out.write_all(bytes)
            .map_err(|error| Error::io("write", path, error))
    };
    put(&(header.len() as u64).to_le_bytes(), out)?;
    put(header.as_bytes(), out)?;
    for table in tables {
        for values in table.values.chunks(1 << 14) {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            put(&bytes, out)?;
        }
        table.of.map_or(Ok(()), Matrix::check_kept)?;
    }
    Ok(())
}

/// Reads the metadata, the matrices of these names, and the matrices that `more` names, given the metadata. The values of a
/// matrix for which `in_place` is true stay in the file, which is mapped; other values are copied to the heap.
///
/// # Errors
/// If the file cannot be read, is of another kind or format, or differs from what was written; if memory has no room for
/// the matrices.
pub fn read<N: DeserializeOwned, const T: usize>(
    path: &Path,
    kind: &FileKind,
    names: [&'static str; T],
    more: impl FnOnce(&N) -> Vec<&'static str>,
    in_place: impl Fn(&N, &str) -> bool,
) -> Result<(N, [Matrix; T], Vec<Matrix>)> {
    // The matrices are copied from a map, whose pages the system drops where memory is short.
    let mapped = Arc::new(MappedFile::new(OpenFile::open(path)?)?);
    let file = mapped.bytes()?;
    let damaged = |what: &dyn std::fmt::Display| invalid_file(path, kind, what);
    check_header(&mapped)?;
    let (header, tensors) = SafeTensors::read_metadata(file).map_err(|error| damaged(&error))?;
    let text = |key: &str| tensors.metadata().as_ref().and_then(|texts| texts.get(key));
    let Some(json) = text(kind.key) else {
        return Err(damaged(
            &"a safetensors file without the metadata of this kind of file",
        ));
    };
    let format = text(FORMAT).map_or("1", String::as_str);
    if *format != kind.format.to_string() {
        return Err(Error::format(
            path,
            format!(
                "it has format {format}, and this version of topicbook reads format {}",
                kind.format
            ),
        )
        .fix("read it with the version of topicbook that wrote it, or fit again"));
    }
    let metadata = serde_json::from_str(json)
        .map_err(|error| damaged(&format!("settings that cannot be read: {error}")))?;
    let mut found = Vec::new();
    let mut on_the_heap = 0;
    for name in names.into_iter().chain(more(&metadata)) {
        let Some(tensor) = tensors.info(name) else {
            return Err(damaged(&format!("it has no tensor {name}")));
        };
        // The range lies within the file: its offsets have been checked.
        let (start, end) = tensor.data_offsets;
        let start = LENGTH_BYTES + header + start;
        let data = &file[start..LENGTH_BYTES + header + end];
        let values = match in_place(&metadata, name) {
            true => values_of_file(&mapped, start, data.len() / 4)?,
            false => None,
        };
        if values.is_none() {
            on_the_heap += data.len() as u64;
        }
        found.push((name, tensor, data, values));
    }
    let what = format!("{}, read into memory,", shown_path(path));
    check_free(on_the_heap, &what).map_err(|error| {
        error
            .fix("look for a damaged file where the size surprises you; otherwise free some memory")
    })?;
    let mut tables = Vec::new();
    for (name, tensor, data, values) in found {
        tables.push(match (tensor.dtype, &tensor.shape[..]) {
            (Dtype::F32, &[rows, columns]) => {
                let values = values.unwrap_or_else(|| Values::Memory(from_bytes(data)));
                Matrix::of(rows, columns, values)
            }
            (dtype, shape) => {
                return Err(damaged(&format!(
                    "{name} is {dtype:?} of shape {shape:?}, expected F32 with two dimensions"
                )));
            }
        });
    }
    let sum = checksum(json, tables.iter().map(Matrix::values));
    mapped.check_unchanged()?;
    if text(CHECKSUM) != Some(&sum) {
        return Err(damaged(&"its contents are not what was written"));
    }
    let others = tables.split_off(T);
    let tables = tables
        .try_into()
        .map_err(|_| damaged(&"tables are missing"))?;
    Ok((metadata, tables, others))
}

/// Fails if memory does not hold the parsed header of a safetensors file, which takes more bytes than its text.
pub fn check_header(file: &MappedFile) -> Result<()> {
    let contents = file.bytes()?;
    let (length, rest) = contents.split_at(LENGTH_BYTES.min(contents.len()));
    let stated = u64::from_le_bytes(length.try_into().unwrap_or_default()).min(MAX_HEADER);
    let header = &rest[..rest.len().min(stated as usize)];
    let claim = file.file().claim(format!("a header of {}", bytes(stated)));
    claim.check_memory(parsed_json(header))
}

/// Whether the file is of this kind, judged by its header.
pub fn is(path: &Path, kind: &FileKind) -> bool {
    let header = || -> io::Result<Metadata> {
        let mut file = BufReader::new(File::open(path)?);
        let mut length = [0; LENGTH_BYTES];
        file.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length).min(MAX_HEADER);
        let mut header = Vec::new();
        file.take(length).read_to_end(&mut header)?;
        check_free(parsed_json(&header), "a header").map_err(io::Error::other)?;
        Ok(serde_json::from_slice(&header)?)
    };
    check_regular(path).is_ok()
        && header().is_ok_and(|header| {
            let texts = header.metadata().as_ref();
            texts.is_some_and(|texts| texts.contains_key(kind.key))
        })
}

/// The error for a file that is of another kind, or damaged.
pub fn invalid_file(path: &Path, kind: &FileKind, what: &dyn std::fmt::Display) -> Error {
    Error::format(path, what).fix(format!(
        "give the path of a file that {} wrote, complete and unchanged",
        kind.writer
    ))
}

/// Checksum against accidental damage, not against tampering: every bit changes it (the mixing step of FxHash).
fn checksum<'a>(metadata: &str, tables: impl IntoIterator<Item = &'a [f32]>) -> String {
    let mix = |sum: u64, word: u32| {
        (sum.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    let sum = metadata
        .bytes()
        .fold(0, |sum, byte| mix(sum, u32::from(byte)));
    let sum = tables
        .into_iter()
        .flatten()
        .fold(sum, |sum, value| mix(sum, value.to_bits()));
    format!("{sum:016x}")
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect()
}
