//! Arrow IPC files: long footers, rows that share a text, and compressed values.

use polars::prelude::{Column, DataFrame, IpcCompression, IpcWriter, SerWriter};

use crate::files::File;
use crate::parquet::shared;

fn written(columns: Vec<Column>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut table = DataFrame::new_infer_height(columns).unwrap();
    let writer = IpcWriter::new(&mut bytes).with_compression(Some(IpcCompression::default()));
    writer
        .with_record_batch_size(Some(1 << 16))
        .finish(&mut table)
        .unwrap();
    bytes
}

pub fn counts() -> Vec<File> {
    const ROWS: usize = 300_000;
    let ids: Vec<i64> = (0..ROWS as i64).collect();
    let ones = |name: &str| Column::new(name.into(), vec![1i64; ROWS]);
    let columns = vec![Column::new("doc".into(), ids), ones("term"), ones("count")];
    vec![("one term", written(columns), 3 * ROWS)]
}

pub fn footers() -> Vec<File> {
    const COLUMNS: usize = 20_000;
    let columns = (0..COLUMNS).map(|at| Column::new(at.to_string().into(), [0i64; 0]));
    vec![("columns", written(columns.collect()), COLUMNS)]
}

pub fn labels() -> Vec<File> {
    let rows = 5_000;
    vec![("a shared label", written(vec![shared("book", rows)]), rows)]
}

pub fn texts() -> Vec<File> {
    let rows = 1_500;
    vec![("a shared text", written(vec![shared("text", rows)]), rows)]
}
