use super::*;
use crate::error::ErrorKind;

fn letters() -> Documents {
    Documents::new(["a", "b", "c"])
        .unwrap()
        .with_labels("book", [Some("Letters"), Some(" "), None])
        .unwrap()
        .with_numbers("year", [1987.0, f64::NAN, 1998.0])
        .unwrap()
        .with_dates("sent", ["1811-10-30", "", "1813-01-28T10:00:00"])
        .unwrap()
}

#[test]
fn columns_give_back_what_they_were_given() {
    let documents = letters();
    assert_eq!(documents.column_names(), ["book", "year", "sent"]);
    let book = documents.labels("book").unwrap();
    assert_eq!(book, [Some("Letters".to_string()), None, None]);
    let years = documents.labels("year").unwrap();
    assert_eq!(years, [Some("1987".to_string()), None, Some("1998".into())]);
    assert!(documents.numbers("year").unwrap()[1].is_nan());
    let described: Vec<String> = documents
        .described()
        .into_iter()
        .map(|column| column.1)
        .collect();
    assert_eq!(
        described,
        [
            "1 label; 2 missing",
            "numbers from 1987 to 1998; 1 missing",
            "dates from 1811-10-30 to 1813-01-28T10:00:00; 1 missing"
        ]
    );
    let replaced = documents.with_labels("book", ["x", "y", "z"]).unwrap();
    assert_eq!(replaced.column_names().len(), 3);
    assert_eq!(replaced.to_string(), "3 documents with book, year, sent");
}

#[test]
fn rows_are_selected_with_their_columns() {
    let selected = letters().select([2, 0, 2]).unwrap();
    assert_eq!(selected.names(), ["c", "a", "c"]);
    let sent = selected.labels("sent").unwrap();
    assert_eq!(sent[1].as_deref(), Some("1811-10-30"));
    assert_eq!(selected.numbers("year").unwrap()[2], 1998.0);
    let numbered = Documents::numbered(5).unwrap().select([3, 1]).unwrap();
    assert_eq!(numbered.names(), ["3", "1"]);
    // A sample does not depend on how much of it is drawn.
    let long = numbered.resample(3_000, 9).unwrap();
    let short = numbered.resample(1_500, 9).unwrap();
    assert_eq!(long.names()[..1_500], short.names());
}

#[test]
fn categories_are_labels() {
    let numbered = Documents::numbered(3).unwrap();
    let categories = || vec!["B cell".to_string(), "T cell".into()];
    let codes = |codes: [Option<u32>; 3]| codes.into_iter();
    let cells = numbered
        .with_categories("type", categories(), codes([Some(1), None, Some(0)]))
        .unwrap();
    let found = cells.labels("type").unwrap();
    assert_eq!(
        found,
        [Some("T cell".to_string()), None, Some("B cell".into())]
    );
    let error = numbered
        .with_categories("type", categories(), codes([Some(0), Some(2), None]))
        .unwrap_err();
    assert_eq!(error.place(), Some("document 1 (counted from 0)"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let documents = letters();
    testkit::refused! {
        Documents::new([""; 0]) => Value, "there are no documents";
        Documents::new(["a", " "]) => Value, "blank name";
        documents.with_labels("x", ["a"]) => Shape, "has 1 value, and there are 3 documents";
        documents.with_numbers("document", [1, 2, 3]) => Table, "cannot be called";
        documents.with_dates("x", ["1811-13-30", "", ""]) => Value, "no ISO 8601 date";
        documents.with_dates("x", ["1811-10-3é", "", ""]) => Value, "no ISO 8601 date";
        documents.labels("author") => Table, "no column \"author\"";
        documents.numbers("book") => Table, "holds labels, not numbers";
        documents.select([3]) => Shape, "row 3 of 3 documents";
        documents.select([0; 0]) => Value, "there are no documents";
        documents.split(1.0, 0) => Setting, "without a document";
        documents.check_rows(4, "counts") => Shape, "3 documents for counts of 4 rows";
    }
}

#[cfg(feature = "polars")]
#[test]
fn a_table_becomes_documents_and_a_table_again() {
    use crate::Table;
    use polars::prelude::{DataType, TimeUnit, col, lit};
    let days = col("day").cast(DataType::Date);
    let table = Table::new()
        .with_column("document", ["a", "b"])
        .unwrap()
        .with_column("book", vec![Some("Letters"), None])
        .unwrap()
        .with_column("year", vec![Some(1987), None])
        .unwrap()
        .with_column("weight", vec![Some(0.5), None])
        .unwrap()
        .with_column("seen", [true, false])
        .unwrap()
        .with_column("day", vec![Some(10_000), None])
        .unwrap()
        .with_columns([
            days,
            lit(1_000_000_i64)
                .cast(DataType::Datetime(TimeUnit::Microseconds, None))
                .alias("time"),
            lit(i64::MAX).alias("id"),
        ])
        .unwrap();
    let documents = Documents::from_table(&table).unwrap();
    assert_eq!(documents.names(), ["a", "b"]);
    assert_eq!(
        documents.labels("day").unwrap()[0].as_deref(),
        Some("1997-05-19")
    );
    assert_eq!(
        documents.labels("seen").unwrap()[1].as_deref(),
        Some("false")
    );
    assert_eq!(
        documents.labels("id").unwrap()[0].as_deref(),
        Some("9223372036854775807")
    );
    let again = documents.select([1, 0]).unwrap().table();
    assert_eq!(again.column_names(), table.column_names());
    assert_eq!(again.texts("document").unwrap(), ["b", "a"]);
    for column in ["book", "weight", "day", "time"] {
        let dtype = |table: &Table| table.column(column).unwrap().dtype().clone();
        assert_eq!(dtype(&again), dtype(&table), "{column}");
    }
    assert_eq!(again.column("year").unwrap().null_count(), 1);
    let lists = table.select([col("book").implode(false).alias("list")]);
    if let Ok(lists) = lists {
        testkit::refused! { Documents::from_table(&lists), "labels no documents"; }
    }
}

#[test]
fn saved_documents_come_back() {
    let exact = [0.1 + 0.2, f64::NAN, 1e300];
    let documents = letters().with_numbers("exact", exact).unwrap();
    for documents in [documents, Documents::numbered(4).unwrap()] {
        let json = serde_json::to_string(&documents.to_saved()).unwrap();
        let back = Documents::from_saved(serde_json::from_str(&json).unwrap()).unwrap();
        assert_eq!(back.names(), documents.names());
        assert_eq!(back.described(), documents.described());
        assert_eq!(back.text_columns(), documents.text_columns());
        assert_eq!(back.has_names(), documents.has_names());
    }
    for (json, expected) in [
        (r#"{"len":2,"names":["a"," "],"columns":[]}"#, "blank name"),
        (
            r#"{"len":1,"names":null,"columns":[["x",{"labels":{"categories":["a"],"codes":[1]}}]]}"#,
            "category 1 of 1",
        ),
        (
            r#"{"len":2,"names":null,"columns":[["x",{"numbers":["1"]}]]}"#,
            "has 1 value",
        ),
        (
            r#"{"len":1,"names":null,"columns":[["x",{"numbers":["one"]}]]}"#,
            "\"one\" among its numbers",
        ),
        (
            r#"{"len":1,"names":null,"columns":[["x",{"dates":["May"]}]]}"#,
            "no ISO 8601 date",
        ),
    ] {
        testkit::refused! { Documents::from_saved(serde_json::from_str(json).unwrap()), expected; }
    }
}

#[cfg(feature = "polars")]
#[test]
fn texts_of_dates_become_dates_in_tables() {
    let dates = ["1970-01-01", "1600-02-29", "", "2000-03-01", "1899-12-31"];
    let documents = Documents::numbered(5).unwrap();
    let table = documents.with_dates("sent", dates).unwrap().table();
    let column = table.column("sent").unwrap();
    assert_eq!(column.dtype(), &polars::prelude::DataType::Date);
    assert_eq!(table.texts("sent").unwrap(), dates);
    let days = column.to_physical_repr();
    let days: Vec<Option<i32>> = days.i32().unwrap().iter().collect();
    // datetime.date(1600, 2, 29).toordinal() - datetime.date(1970, 1, 1).toordinal()
    assert_eq!(
        days,
        [Some(0), Some(-135_081), None, Some(11_017), Some(-25_568)]
    );
    for other in ["1900-02-29", "2026-11-23T10:00:00"] {
        let dates = documents.with_dates("sent", [other; 5]).unwrap();
        assert_eq!(dates.table().texts("sent").unwrap(), [other; 5]);
    }
}
