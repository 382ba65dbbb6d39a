//! Tables: their data frames, and CSV and Parquet files.

use testkit::refused;
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
fn numbers_are_shown_with_the_decimals_that_they_have() {
    for (prices, expected) in [
        (vec![0.99, 119.95], ["0.99", "119.95"]),
        (vec![1_234.5, 1.0], ["1,234.5", "1.0"]),
        (vec![1.0 / 3.0, 250.0], ["0.3333", "250.0000"]),
        (vec![4.0, 5.0], ["4", "5"]),
    ] {
        let table = Table::new().with_column("price", prices).unwrap();
        let text = table.to_string();
        let shown: Vec<&str> = text.lines().skip(1).take(2).map(str::trim).collect();
        assert_eq!(shown, expected);
    }
}

#[test]
fn a_mean_leaves_missing_cells_out_and_counts_them() {
    let reviews = Table::new()
        .with_column("stars", [Some(4), None, Some(5), None])
        .and_then(|table| table.with_column("price", [0.5, f64::NAN, 1.0, 3.0]))
        .and_then(|table| table.with_column("none", [None::<f64>; 4]))
        .and_then(|table| table.with_column("title", ["a", "b", "c", "d"]))
        .unwrap();
    let mean = reviews.mean(["stars", "price", "none"]).unwrap();
    assert_eq!(mean.texts("column").unwrap(), ["stars", "price", "none"]);
    let numbers = |column| mean.numbers(column).unwrap();
    assert_eq!(numbers("mean")[..2], [4.5, 1.5]);
    assert_eq!(mean.column("mean").unwrap().null_count(), 1);
    assert_eq!(numbers("values"), [2.0, 3.0, 0.0]);
    assert_eq!(numbers("missing"), [2.0, 1.0, 4.0]);
    assert_eq!(
        reviews.describe().unwrap().numbers("price").unwrap()[..3],
        [3.0, 1.0, 1.5]
    );
    refused! {
        reviews.mean("title") => Table, "not a number";
        reviews.mean("star") => Table, "no column";
    }
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
    refused! { nested.write_csv(&csv) => Table; }
    assert_eq!(std::fs::read(&csv).unwrap(), before);

    let missing = folder.path().join("no/such/folder/t.parquet");
    refused! { table().write_parquet(missing) => Io; }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
