//! Tables: their data frames, and CSV and Parquet files.

use topicbook::polars::prelude::*;
use topicbook::{ErrorKind, Table};

fn table() -> Table {
    let columns = vec![
        Series::new("term".into(), ["model", "da,ta", "a \"b\""]).into_column(),
        Series::new("probability".into(), [0.5, 0.25, 1e-9]).into_column(),
    ];
    Table::from(DataFrame::new_infer_height(columns).unwrap())
}

#[test]
fn a_table_dereferences_to_its_data_frame() {
    let table = table();
    assert_eq!((table.height(), table.width()), (3, 2));
    assert_eq!(table.column("term").unwrap().len(), 3);
    let frame: DataFrame = table.clone().into_inner();
    assert!(frame.equals(&table));
    table.evcxr_display();
}

#[test]
fn csv_and_parquet_files_contain_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, parquet) = (folder.path().join("t.csv"), folder.path().join("t.parquet"));
    table().write_csv(&csv).unwrap();
    table().write_parquet(&parquet).unwrap();
    let from_csv = CsvReader::new(std::fs::File::open(&csv).unwrap())
        .finish()
        .unwrap();
    let from_parquet = ParquetReader::new(std::fs::File::open(&parquet).unwrap())
        .finish()
        .unwrap();
    assert!(from_csv.equals(&table()));
    assert!(from_parquet.equals(&table()));
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("t.csv");
    table().write_csv(&csv).unwrap();
    let before = std::fs::read(&csv).unwrap();

    // CSV cannot represent lists.
    let lists = Series::new("lists".into(), [Series::new("".into(), [1, 2])]).into_column();
    let nested = Table::from(DataFrame::new_infer_height(vec![lists]).unwrap());
    assert_eq!(nested.write_csv(&csv).unwrap_err().kind(), ErrorKind::Table);
    assert_eq!(std::fs::read(&csv).unwrap(), before);

    let missing = folder.path().join("no/such/folder/t.parquet");
    assert_eq!(
        table().write_parquet(missing).unwrap_err().kind(),
        ErrorKind::Io
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
