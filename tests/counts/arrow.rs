//! Arrow IPC files that PyArrow, pandas and Polars wrote from Python (`golden/make_arrow.py`).

use std::path::PathBuf;

use crate::rows::{self, VALUES};
use topicbook::{CountTable, Counts, Table, Texts};

fn golden(name: &str) -> PathBuf {
    rows::golden(&format!("arrow/{name}"))
}

#[test]
fn triplets_and_lists_are_counts() {
    let names = ["plain.arrow", "lz4.arrow", "zstd.arrow"].map(|name| format!("triplets-{name}"));
    for name in names.iter().map(String::as_str).chain(["lists.ipc"]) {
        let counts = Counts::open(golden(name)).unwrap();
        assert_eq!(counts.shape(), (4, 5), "{name}");
        assert_eq!(rows::rows(&counts), VALUES.map(f32::from), "{name}");
    }
    let both = names.map(|name| golden(&name));
    assert_eq!(Counts::open_files(both).unwrap().shape(), (12, 5));
}

#[test]
fn the_index_of_pandas_names_documents() {
    let table = CountTable::open(golden("wide.feather")).unwrap();
    let table = table.wide();
    assert_eq!(rows::rows(&table.counts().unwrap()), VALUES.map(f32::from));
    assert_eq!(table.terms().unwrap().as_slice()[4], "Ünder");
    let documents = table.documents().unwrap().table();
    assert_eq!(
        documents.texts("tissue").unwrap(),
        ["liver", "", "kidney", "liver"]
    );
}

#[test]
fn values_of_all_kinds_are_those_of_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = folder.path().join("kinds.parquet");
    for name in ["kinds.feather", "kinds.arrow"] {
        let table = Table::open(golden(name)).unwrap();
        assert_eq!(table.shape(), (4, 9), "{name}");
        table.write_parquet(&parquet).unwrap();
        assert_eq!(
            Table::open(&parquet).unwrap().to_string(),
            table.to_string()
        );
        assert_eq!(table.numbers("age").unwrap()[3], 4.0, "{name}");
        assert_eq!(table.texts("kind").unwrap()[..2], ["b", "a"], "{name}");
        let texts = Texts::open(golden(name)).unwrap();
        let beginnings = format!("{:?}", texts.beginnings(99).unwrap());
        testkit::assert_has(&beginnings, ["longer than a view of 12 bytes"]);
    }
}

#[test]
fn other_files_of_arrow_are_named() {
    let refused = [
        (
            "triplets-stream.arrow",
            ["a stream of Arrow", "read_ipc_stream"],
        ),
        (
            "triplets-1.feather",
            ["Feather file of version 1", "write_feather"],
        ),
        (
            "runs.arrow",
            ["\"run\" has unions, runs of values", "without this column"],
        ),
    ];
    for (name, parts) in refused {
        let error = Table::open(golden(name)).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert!(error.contains(name), "{error}");
    }
}
