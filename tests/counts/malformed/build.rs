//! Builds files byte by byte, intact and malformed ones.

use std::io::{Cursor, Write};

use polars::prelude::{Column, DataFrame, IpcCompression, IpcWriter, ParquetWriter, SerWriter};
use topicbook::Counts;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

/// A `.npy` file of a format version, with this dictionary as its header.
pub fn npy_version(version: u8, dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut header = dictionary.to_string();
    // Before the header come magic, version and the header's length (2 or 4 bytes). Values start at a multiple of 64.
    let prefix = if version == 1 { 10 } else { 12 };
    while !(prefix + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    if version == 1 {
        bytes.extend((header.len() as u16).to_le_bytes());
    } else {
        bytes.extend((header.len() as u32).to_le_bytes());
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A `.npy` file in C order.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy_version(
        1,
        &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"),
        data,
    )
}

macro_rules! little_endian {
    ($($name:ident $T:ty),*) => {
        $(pub fn $name(values: &[$T]) -> Vec<u8> {
            values.iter().flat_map(|value| value.to_le_bytes()).collect()
        })*
    };
}

little_endian!(f32s f32, f64s f64, i32s i32, i64s i64);

/// A `.npz` archive of `.npy` entries.
pub fn archive(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    archive_as(CompressionMethod::Deflated, entries)
}

/// A `.npz` archive of `.npy` entries, deflated or stored.
pub fn archive_as(method: CompressionMethod, entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The 2 x 3 matrix [[1, 0, 2], [0, 3, 0]] as SciPy saves it, with the entry `name` replaced or, with `None`, removed.
pub fn npz_with(name: &'static str, replaced: Option<Vec<u8>>) -> Vec<u8> {
    let mut entries = vec![
        ("indices", npy("'<i4'", "(3,)", &i32s(&[0, 2, 1]))),
        ("indptr", npy("'<i4'", "(3,)", &i32s(&[0, 2, 3]))),
        ("format", npy("'|S3'", "()", b"csr")),
        ("shape", npy("'<i8'", "(2,)", &i64s(&[2, 3]))),
        ("data", npy("'<f4'", "(3,)", &f32s(&[1.0, 2.0, 3.0]))),
    ];
    let index = entries.iter().position(|entry| entry.0 == name);
    match (index, replaced) {
        (Some(index), Some(bytes)) => entries[index].1 = bytes,
        (Some(index), None) => drop(entries.remove(index)),
        (None, _) => {}
    }
    archive(&entries)
}

/// The same matrix with other values, as f64.
pub fn npz_data(values: &[f64]) -> Vec<u8> {
    npz_with("data", Some(npy("'<f8'", "(3,)", &f64s(values))))
}

pub fn cut(mut bytes: Vec<u8>, length: usize) -> Vec<u8> {
    bytes.truncate(length);
    bytes
}

pub fn parquet(columns: Vec<Column>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut table = DataFrame::new_infer_height(columns).unwrap();
    ParquetWriter::new(&mut bytes).finish(&mut table).unwrap();
    bytes
}

/// An Arrow IPC file with two rows in a record batch.
pub fn arrow(columns: Vec<Column>, compression: Option<IpcCompression>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut table = DataFrame::new_infer_height(columns).unwrap();
    let writer = IpcWriter::new(&mut bytes).with_compression(compression);
    let mut writer = writer.with_record_batch_size(Some(2));
    writer.finish(&mut table).unwrap();
    bytes
}

/// The same matrix in every format.
pub fn good_npy() -> Vec<u8> {
    npy("'|u1'", "(2, 3)", &[1, 0, 2, 0, 3, 0])
}

pub fn good_npz() -> Vec<u8> {
    npz_with("", None)
}

pub fn good_csv() -> Vec<u8> {
    b"doc,term,count\n0,0,1\n0,2,2\n1,1,3\n".to_vec()
}

pub fn good_safetensors() -> Vec<u8> {
    tensor("U8", "[2,3]", &[1, 0, 2, 0, 3, 0])
}

fn good_columns() -> Vec<Column> {
    vec![
        Column::new("doc".into(), [0i64, 0, 1]),
        Column::new("term".into(), [0i64, 2, 1]),
        Column::new("count".into(), [1i64, 2, 3]),
    ]
}

pub fn good_parquet() -> Vec<u8> {
    parquet(good_columns())
}

pub fn good_arrow() -> Vec<u8> {
    arrow(good_columns(), None)
}

/// A `.safetensors` file with this header.
pub fn tensors(header: &str, data: &[u8]) -> Vec<u8> {
    // Padding with spaces aligns the values.
    let header = format!("{header:width$}", width = header.len().next_multiple_of(8));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A `.safetensors` file with the tensor `X`.
pub fn tensor(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    tensors(
        &format!(
            "{{\"X\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[0,{}]}}}}",
            data.len()
        ),
        data,
    )
}

fn packed_csr(starts: Vec<u64>, terms: Vec<u32>, counts: Vec<f32>) -> Vec<u8> {
    let (_folder, path) = testkit::temp_path("X.tbc");
    let counts = Counts::csr(starts.len() - 1, 3, starts, terms, counts).unwrap();
    counts.write_packed(&path).unwrap();
    std::fs::read(path).unwrap()
}

/// Packed counts of two blocks.
pub fn packed_blocks() -> Vec<u8> {
    let documents = 4_100;
    let counts = (0..documents).map(|document| (document % 7 + 1) as f32);
    let terms = (0..documents).map(|document| document % 3).collect();
    packed_csr((0..=documents.into()).collect(), terms, counts.collect())
}

/// The same matrix as packed counts, changed, with right checksums.
pub fn packed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = packed_csr(vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]);
    change(&mut bytes);
    let _ = testkit::seal_packed(&mut bytes);
    bytes
}

/// The same, where the count 2 is this number and 1: the counts are packed in 32 bits, which are the numbers in their order.
pub fn wide_packed(above_one: u32) -> Vec<u8> {
    packed(|bytes| {
        (bytes[24], bytes[25]) = (32, 0);
        let counts: Vec<u8> = [0, above_one, 2]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        bytes.splice(34..38, counts.into_iter().chain([0; 500]));
        let end = (34 + 512u64).to_le_bytes();
        bytes[34 + 512..][..8].copy_from_slice(&end);
    })
}
