//! Parquet files: long footers, and rows that share a text.

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, Scalar, Series};

use crate::files::File;

fn written(columns: Vec<Column>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut table = DataFrame::new_infer_height(columns).unwrap();
    ParquetWriter::new(&mut bytes).finish(&mut table).unwrap();
    bytes
}

/// A column of one long text in all rows.
pub fn shared(name: &str, rows: usize) -> Column {
    let text = "sea ".repeat(25_000);
    Column::new_scalar(
        name.into(),
        Scalar::from(polars::prelude::PlSmallStr::from(text)),
        rows,
    )
}

/// A file that is a footer: lists of structures of Thrift's compact protocol, each as a field of the file's. The first is the
/// list of the columns, field 2, after which comes the number of rows.
fn footer(lists: &[(u8, usize, &[u8])]) -> Vec<u8> {
    let mut footer = vec![0x15, 2];
    let mut last = 1;
    for &(field, number, structure) in lists {
        footer.extend([((field - last) << 4) | 9, 0xfc]);
        let mut left = number;
        while left >= 0x80 {
            footer.push(left as u8 | 0x80);
            left >>= 7;
        }
        footer.push(left as u8);
        footer.extend(structure.repeat(number));
        last = field;
        if field == 2 {
            footer.extend([0x16, 0]);
            last = 3;
        }
    }
    footer.push(0);
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", &footer[..], &length, b"PAR1"].concat()
}

pub fn counts() -> Vec<File> {
    const ROWS: usize = 300_000;
    let ids = Column::from(Series::new(
        "doc".into(),
        (0..ROWS as i64).collect::<Vec<_>>(),
    ));
    let ones = |name: &str| Column::new(name.into(), vec![1i64; ROWS]);
    let columns = vec![ids, ones("term"), ones("count")];
    vec![("one term", written(columns), 3 * ROWS)]
}

pub fn footers() -> Vec<File> {
    // A column of the schema with an empty name; a pair of empty texts; a row group without columns.
    let (schema, pair, group) = (b"\x48\0\0", b"\x18\0\0", b"\x19\x0c\x16\0\x16\0\0");
    vec![
        ("columns", footer(&[(2, 100_000, schema)]), 100_000),
        (
            "row groups",
            footer(&[(2, 1, schema), (4, 100_000, group)]),
            100_000,
        ),
        (
            "pairs",
            footer(&[(2, 1, schema), (5, 200_000, pair)]),
            200_000,
        ),
    ]
}

pub fn labels() -> Vec<File> {
    let rows = 5_000;
    vec![("a shared label", written(vec![shared("book", rows)]), rows)]
}

pub fn texts() -> Vec<File> {
    let rows = 1_500;
    vec![("a shared text", written(vec![shared("text", rows)]), rows)]
}
