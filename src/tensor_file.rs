//! The files of ours: tables with names, and notes as JSON, in one safetensors file.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// What a file is: the name of its notes, and of what writes it.
pub(crate) struct Kind {
    pub(crate) key: &'static str,
    pub(crate) writer: &'static str,
}

/// The sum of everything else, to find out about damage.
const CHECKSUM: &str = "checksum";
/// Bytes of the number in front of the header.
const LENGTH: usize = 8;
/// The longest header that readers of the format accept.
const LONGEST: u64 = 100_000_000;

/// Bytes of the tables in a file.
pub(crate) fn table_bytes(tables: &[(&str, &Matrix)]) -> u64 {
    tables
        .iter()
        .map(|(_, table)| 4 * table.values().len() as u64)
        .sum()
}

/// Writes a whole file, table by table: nothing is held twice.
pub(crate) fn write(
    out: &mut impl Write,
    path: &Path,
    kind: &Kind,
    notes: &impl Serialize,
    tables: &[(&str, &Matrix)],
) -> Result<()> {
    let failed =
        |what: &dyn std::fmt::Display| Error::format(path, format!("cannot be written: {what}"));
    let notes = serde_json::to_string(notes).map_err(|error| failed(&error))?;
    let sum = checksum(&notes, tables.iter().map(|(_, table)| *table));
    let mut end = 0;
    let infos = tables.iter().map(|(name, table)| {
        let begin = end;
        end += 4 * table.values().len();
        let info = TensorInfo {
            dtype: Dtype::F32,
            shape: vec![table.rows(), table.columns()],
            data_offsets: (begin, end),
        };
        (name.to_string(), info)
    });
    let infos = infos.collect();
    let texts = HashMap::from([(kind.key.into(), notes), (CHECKSUM.into(), sum)]);
    let metadata = Metadata::new(Some(texts), infos).map_err(|error| failed(&error))?;
    let mut header = serde_json::to_string(&metadata).map_err(|error| failed(&error))?;
    while !header.len().is_multiple_of(LENGTH) {
        header.push(' ');
    }
    if header.len() as u64 > LONGEST {
        return Err(failed(&"its notes (the term names) are longer than 100 MB"));
    }
    let put = |bytes: &[u8], out: &mut dyn Write| {
        out.write_all(bytes)
            .map_err(|error| Error::io("write", path, error))
    };
    put(&(header.len() as u64).to_le_bytes(), out)?;
    put(header.as_bytes(), out)?;
    for (_, table) in tables {
        for values in table.values().chunks(1 << 14) {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            put(&bytes, out)?;
        }
    }
    Ok(())
}

/// Reads the notes and the tables of these names; whatever is not as it was written is an error.
pub(crate) fn read<N: DeserializeOwned, const T: usize>(
    path: &Path,
    kind: &Kind,
    names: [&str; T],
) -> Result<(N, [Matrix; T])> {
    let file = fs::read(path).map_err(|error| Error::io("read", path, error))?;
    let damaged = |what: &dyn std::fmt::Display| not_ours(path, kind, what);
    let (_, metadata) = SafeTensors::read_metadata(&file).map_err(|error| damaged(&error))?;
    let text = |key: &str| {
        metadata
            .metadata()
            .as_ref()
            .and_then(|texts| texts.get(key))
    };
    let Some(notes) = text(kind.key) else {
        return Err(damaged(
            &"a safetensors file without the settings that belong into it",
        ));
    };
    let tensors = SafeTensors::deserialize(&file).map_err(|error| damaged(&error))?;
    let table = |name: &str| -> Result<Matrix> {
        let tensor = tensors.tensor(name).map_err(|error| damaged(&error))?;
        match (tensor.dtype(), tensor.shape()) {
            (Dtype::F32, &[rows, columns]) => Matrix::new(rows, columns, from_bytes(tensor.data())),
            (dtype, shape) => Err(damaged(&format!(
                "{name} is {dtype:?} of shape {shape:?}, expected F32 with two dimensions"
            ))),
        }
    };
    let tables = names
        .iter()
        .map(|name| table(name))
        .collect::<Result<Vec<_>>>()?;
    if text(CHECKSUM) != Some(&checksum(notes, &tables)) {
        return Err(damaged(&"its contents are not what was written"));
    }
    let notes = serde_json::from_str(notes)
        .map_err(|error| damaged(&format!("settings that cannot be read: {error}")))?;
    let tables = tables
        .try_into()
        .map_err(|_| damaged(&"tables are missing"))?;
    Ok((notes, tables))
}

/// Whether the file is of this kind, as far as its header tells.
pub(crate) fn is(path: &Path, kind: &Kind) -> bool {
    let header = || -> io::Result<Metadata> {
        let mut file = BufReader::new(File::open(path)?);
        let mut length = [0; LENGTH];
        file.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length).min(LONGEST);
        let mut header = Vec::new();
        file.take(length).read_to_end(&mut header)?;
        Ok(serde_json::from_slice(&header)?)
    };
    header().is_ok_and(|header| {
        let texts = header.metadata().as_ref();
        texts.is_some_and(|texts| texts.contains_key(kind.key))
    })
}

/// The error for a file that is not of this kind, or not any more.
pub(crate) fn not_ours(path: &Path, kind: &Kind, what: &dyn std::fmt::Display) -> Error {
    Error::format(path, what).fix(format!(
        "name a file that {} wrote, complete and unchanged",
        kind.writer
    ))
}

/// Finds damage, not malice: every bit changes it (the mixing step of FxHash).
fn checksum<'a>(notes: &str, tables: impl IntoIterator<Item = &'a Matrix>) -> String {
    let mix = |sum: u64, word: u32| {
        (sum.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    let sum = notes.bytes().fold(0, |sum, byte| mix(sum, u32::from(byte)));
    let sum = tables
        .into_iter()
        .flat_map(Matrix::values)
        .fold(sum, |sum, value| mix(sum, value.to_bits()));
    format!("{sum:016x}")
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect()
}
