//! Tables as people use them, right and wrong.

use std::fs;

use polars::prelude::{
    DataFrame, DataType, IntoColumn, IpcWriter, NamedFrom, ParquetWriter, SerWriter, Series, col,
    len, lit, when,
};

use super::{Table, TableFile};
use crate::error::{ErrorKind, Result};

fn papers() -> Result<Table> {
    Table::new()
        .with_column("document", [0u64, 1, 2, 3])?
        .with_column("title", ["Neurons", "Kernels", "Spikes", "Vision"])?
        .with_column("year", [1987, 1998, 1987, 2001])?
        .with_column("words", [Some(310.0), Some(204.0), None, Some(120.0)])
}

/// The error of a result that must fail; its text has what, where and what to do.
fn refused<T: std::fmt::Debug>(result: Result<T>, parts: &[&str]) {
    let error = result.expect_err("nothing was wrong");
    let text = error.to_string();
    assert!(error.remedy().is_some(), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert_eq!(text.matches("Resolved plan").count(), 0, "{text}");
}

#[test]
fn rows_are_filtered_by_expressions_and_masks() -> Result<()> {
    let papers = papers()?;
    let titles = |condition| papers.filter(condition)?.texts("title");
    assert_eq!(titles(col("year").gt(1990))?, ["Kernels", "Vision"]);
    assert_eq!(titles(col("title").eq(lit("Spikes")))?, ["Spikes"]);
    // A null is neither above nor below.
    assert_eq!(titles(col("words").gt(0.0))?.len(), 3);
    let both = col("year").lt(1990).and(col("words").is_not_null());
    assert_eq!(titles(both)?, ["Neurons"]);
    let part = col("title").str().starts_with(lit("Ker"));
    assert_eq!(titles(part)?, ["Kernels"]);

    let mask = Series::new("".into(), [true, false, false, true]);
    let masked = papers.filter(super::error::attempt(|| mask.bool())?)?;
    assert_eq!(masked.numbers("document")?, [0.0, 3.0]);
    Ok(())
}

#[test]
fn a_wrong_column_name_lists_the_names_and_the_nearest() -> Result<()> {
    let papers = papers()?;
    let listed = "its columns are \"document\", \"title\", \"year\", \"words\"";
    let near: &[&str] = &["no column \"Words\"", listed, "to do: write \"words\""];
    refused(papers.select("Words"), near);
    refused(papers.sort_by(["year", "Words"]), near);
    refused(papers.drop("Words"), near);
    refused(papers.rename("Words", "length"), near);
    refused(papers.numbers("Words"), near);
    refused(papers.texts("Words"), near);
    refused(papers.unique("Words"), near);
    refused(papers.group_by("Words"), near);
    refused(papers.group_by("year")?.mean("Words"), near);
    refused(papers.group_by("year")?.agg(col("Words").max()), near);
    refused(papers.value_counts("Words"), near);
    refused(papers.pivot("year", "title", "Words"), near);
    refused(papers.join(&papers, "Words"), near);
    refused(papers.with_column("half", col("Words") / lit(2)), near);
    refused(papers.filter(col("Words").gt(1.0)), near);
    // A bare text in an expression is a column.
    let text = papers.filter(col("title").eq("Spikes"));
    refused(text, &["no column \"Spikes\"", "write lit(\"Spikes\")"]);
    refused(papers.select("author"), &["write one of these names"]);
    Ok(())
}

#[test]
fn what_polars_refuses_is_said_in_a_sentence() -> Result<()> {
    let papers = papers()?;
    refused(papers.filter(col("title").gt(lit(3))), &["to do:"]);
    refused(papers.select(["year", "year"]), &["to do:"]);
    refused(papers.rename("year", "title"), &["title"]);
    refused(papers.vstack(&papers.drop("year")?), &["to do:"]);
    refused(
        papers.with_column("x", [1, 2]),
        &["2 values", "4 rows", "lit(value)"],
    );
    refused(papers.numbers("title"), &["not a number", ".texts("]);
    refused(
        papers.group_by("year")?.sum("title"),
        &["\"title\"", "not a number"],
    );
    refused(papers.row(4), &["no row 4", "4 rows", "at most 3"]);
    refused(Table::new().row(0), &["no row 0"]);
    Ok(())
}

#[test]
fn rows_are_sorted_with_nulls_last() -> Result<()> {
    let papers = papers()?;
    let documents = |table: Table| table.numbers("document");
    assert_eq!(documents(papers.sort_by("words")?)?, [3.0, 1.0, 0.0, 2.0]);
    assert_eq!(
        documents(papers.sort_by_desc("words")?)?,
        [0.0, 1.0, 3.0, 2.0]
    );
    assert_eq!(
        documents(papers.sort_by(["year", "title"])?)?,
        [0.0, 2.0, 1.0, 3.0]
    );
    // Equal rows keep their order in both directions.
    assert_eq!(
        documents(papers.sort_by_desc("year")?)?,
        [3.0, 1.0, 0.0, 2.0]
    );
    Ok(())
}

#[test]
fn columns_are_made_of_values_and_of_expressions() -> Result<()> {
    let papers = papers()?
        .with_column("index", 0..4usize)?
        .with_column("flag", vec![true, false, true, false])?
        .with_column("name", vec!["a".to_string(); 4])?
        .with_column("series", Series::new("other".into(), [1i64, 2, 3, 4]))?
        .with_column("one", lit(1))?
        .with_column(
            "size",
            when(col("words").gt(200.0))
                .then(lit("long"))
                .otherwise(lit("short")),
        )?
        .with_column("words", col("words").fill_null(lit(0.0)))?;
    assert_eq!(papers.shape(), (4, 10));
    assert_eq!(papers.numbers("one")?, [1.0; 4]);
    assert_eq!(papers.numbers("flag")?, [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(papers.numbers("words")?, [310.0, 204.0, 0.0, 120.0]);
    assert_eq!(papers.texts("size")?, ["long", "long", "short", "short"]);
    assert_eq!(
        papers.column_names().last().map(String::as_str),
        Some("size")
    );
    Ok(())
}

#[test]
fn groups_are_in_order_of_appearance() -> Result<()> {
    let years = papers()?.group_by("year")?;
    assert_eq!(years.count()?.numbers("year")?, [1987.0, 1998.0, 2001.0]);
    assert_eq!(years.count()?.numbers("count")?, [2.0, 1.0, 1.0]);
    // A null is left out of a mean.
    assert_eq!(
        years.mean("words")?.numbers("words")?,
        [310.0, 204.0, 120.0]
    );
    assert_eq!(
        years.max("title")?.texts("title")?,
        ["Spikes", "Kernels", "Vision"]
    );
    assert!(years.std("words")?.numbers("words")?[1].is_nan());
    assert_eq!(
        years.head(1)?.texts("title")?,
        ["Neurons", "Kernels", "Vision"]
    );
    let ranges = years.agg([
        len().alias("papers"),
        (col("document").max() - col("document").min()).alias("range"),
    ])?;
    assert_eq!(ranges.numbers("range")?, [2.0, 0.0, 0.0]);
    assert_eq!(years.to_string(), "4 rows grouped by year");
    Ok(())
}

#[test]
fn integer_keys_of_any_type_are_joined_by_value() -> Result<()> {
    let left = Table::new()
        .with_column("key", [u64::MAX, 2, 0])?
        .with_column("x", [1, 2, 3])?;
    let right = Table::new()
        .with_column("key", [-1i64, 0, 2])?
        .with_column("x", [7, 8, 9])?;
    let joined = left.join(&right, "key")?;
    assert_eq!(joined.column_names(), ["key", "x", "x_right"]);
    assert_eq!(joined.numbers("x_right")?, [9.0, 8.0]);
    let all = left.left_join(&right, "key")?;
    assert_eq!(
        all.texts("key")?,
        [u64::MAX.to_string(), "2".into(), "0".into()]
    );
    assert_eq!(all.texts("x_right")?, ["", "9", "8"]);
    // The other way round: -1 is no u64, and u64::MAX no i64.
    assert_eq!(right.join(&left, "key")?.numbers("x_right")?, [3.0, 2.0]);

    let narrow = right.with_column("id", [5u32, 0, 2])?.drop("key")?;
    assert_eq!(
        left.join(&narrow, ("key", "id"))?.numbers("x_right")?,
        [9.0, 8.0]
    );
    refused(
        left.join(&narrow, "key"),
        &["the table joined to it", "(\"key\", \"name\")"],
    );
    let texts = right.with_column("key", ["a", "b", "c"])?;
    refused(
        left.join(&texts, "key"),
        &["type u64", "str", ".cast(DataType::Int64)"],
    );
    Ok(())
}

#[test]
fn long_tables_become_wide() -> Result<()> {
    let long = Table::new()
        .with_column("year", [1987, 1987, 1998])?
        .with_column("topic", [Some(3), None, Some(3)])?
        .with_column("share", [0.7, 0.3, 1.0])?;
    let wide = long.pivot("year", "topic", "share")?;
    assert_eq!(wide.column_names(), ["year", "3", "null"]);
    assert_eq!(wide.numbers("3")?, [0.7, 1.0]);
    assert_eq!(wide.texts("null")?, ["0.3", ""]);
    let twice = long.vstack(&long)?;
    refused(
        twice.pivot("year", "topic", "share"),
        &["year = 1987, topic = 3", ".group_by("],
    );
    Ok(())
}

#[test]
fn statistics_of_columns() -> Result<()> {
    let statistics = papers()?.describe()?;
    let words = statistics.numbers("words")?;
    assert_eq!(words[..2], [3.0, 1.0]);
    assert!((words[2] - 634.0 / 3.0).abs() < 1e-12);
    assert!((words[3] - 95.212_044_1).abs() < 1e-6);
    assert_eq!(words[4..], [120.0, 162.0, 204.0, 257.0, 310.0]);
    let titles = statistics.texts("title")?;
    assert_eq!(titles, ["4", "0", "", "", "Kernels", "", "", "", "Vision"]);
    let none = Table::new()
        .with_column("x", Vec::<f64>::new())?
        .describe()?;
    assert_eq!(none.texts("x")?[2], "");

    let years = papers()?.value_counts("year")?;
    assert_eq!(years.numbers("year")?, [1987.0, 1998.0, 2001.0]);
    let counts = years.value_counts("count")?;
    assert_eq!(counts.numbers("rows")?, [2.0, 1.0]);
    assert_eq!(
        papers()?.dtypes().texts("type")?,
        ["u64", "str", "i32", "f64"]
    );
    Ok(())
}

#[test]
fn files_are_opened_by_their_extension() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.csv"), "title,year\n\"Nets, deep\",1987\nKernels,\n")?;
    fs::write(path("b.csv"), "title;year\nNets, deep;1987\nKernels;\n")?;
    fs::write(path("c.tsv"), "title\tyear\nNets, deep\t1987\nKernels\t\n")?;
    for name in ["a.csv", "b.csv", "c.tsv"] {
        let table = Table::open(path(name))?;
        assert_eq!(table.texts("title")?, ["Nets, deep", "Kernels"], "{name}");
        assert_eq!(table.texts("year")?, ["1987", ""], "{name}");
    }
    // The type depends on all rows, not on the first hundred.
    let mixed: String = (0..2000).map(|row| format!("{row}\n")).collect();
    fs::write(path("late.csv"), format!("x\n{mixed}0.5\n"))?;
    assert_eq!(Table::open(path("late.csv"))?.numbers("x")?[2000], 0.5);

    let papers = papers()?;
    papers.write_parquet(path("d.parquet"))?;
    assert!(Table::open(path("d.parquet"))?.equals_missing(&papers));
    papers.write_csv(path("d.csv"))?;
    assert_eq!(
        Table::open(path("d.csv"))?.texts("words")?,
        papers.texts("words")?
    );
    Ok(())
}

#[test]
fn files_that_are_no_tables_are_refused() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let kind = |result: Result<Table>| result.map_err(|error| error.kind()).err();
    assert_eq!(kind(Table::open(path("none.csv"))), Some(ErrorKind::Io));
    for (name, bytes) in [
        ("a.xlsx", "PK"),
        ("empty.csv", ""),
        ("ragged.csv", "a,b\n1,2\n3,4,5\n"),
        ("text.parquet", "PAR1 but not really PAR1"),
    ] {
        fs::write(path(name), bytes)?;
        refused(Table::open(path(name)), &[name, "to do:"]);
        assert_eq!(kind(Table::open(path(name))), Some(ErrorKind::Format));
    }
    let mut cut = Vec::new();
    let numbers = Series::new("n".into(), (0..1000).collect::<Vec<i64>>()).into_column();
    ParquetWriter::new(&mut cut).finish(&mut DataFrame::new_infer_height(vec![numbers])?)?;
    for end in [0, 10, cut.len() / 2, cut.len() - 1] {
        fs::write(path("cut.parquet"), &cut[..end])?;
        refused(Table::open(path("cut.parquet")), &["cut.parquet"]);
    }
    Ok(())
}

#[test]
fn a_cast_makes_numbers_of_texts() -> Result<()> {
    let table = Table::new().with_column("x", ["1", "2.5"])?;
    let cast = table.with_column("x", col("x").cast(DataType::Float64));
    assert_eq!(cast?.numbers("x")?, [1.0, 2.5]);
    Ok(())
}

#[test]
fn rows_of_record_batches_are_read_in_parts() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.arrow");
    let texts: Vec<String> = (0..10).map(|row| format!("text {row}")).collect();
    let table = Table::new().with_column("row", 0..10i64)?;
    let table = table.with_column("text", texts)?;
    let writer = IpcWriter::new(fs::File::create(&path).unwrap());
    let mut writer = writer.with_record_batch_size(Some(4));
    writer.finish(&mut table.clone().into_inner()).unwrap();
    let file = TableFile::open(&path)?;
    let columns = ["text", "row"];
    file.check(&columns)?;
    assert_eq!(file.height()?, 10);
    for first in 0..10 {
        for end in first..=10 {
            let part = table.select(columns)?.slice(first, end - first);
            assert_eq!(
                file.read(&columns, first..end)?.to_string(),
                part.to_string()
            );
            assert_eq!(file.read(&["row"], first..end)?.height(), end - first);
        }
    }
    Ok(())
}

#[test]
fn texts_become_numbers_and_dates_or_name_the_row_that_cannot() -> Result<()> {
    let table = Table::new()
        .with_column("price", ["1.234,50", "0,99", " ", "NA", "7"])?
        .with_column(
            "sent",
            [
                Some("28.01.1813"),
                Some(""),
                None,
                Some(" 1.2.1813 "),
                Some("29.02.1812"),
            ],
        )?
        .with_column("year", [1, 2, 3, 4, 5])?;
    let read = table.to_number("price", ',')?.to_date("sent", "%d.%m.%Y")?;
    assert_eq!(read.column_names(), table.column_names());
    let prices = read.numbers("price")?;
    assert_eq!((&prices[..2], prices[4]), (&[1234.5, 0.99][..], 7.0));
    assert_eq!(read.column("price").unwrap().null_count(), 2);
    assert_eq!(read.column("sent").unwrap().dtype(), &DataType::Date);
    assert_eq!(read.column("sent").unwrap().null_count(), 2);
    let sorted = read.sort_by("sent")?.texts("sent")?;
    assert_eq!(sorted[..3], ["1812-02-29", "1813-01-28", "1813-02-01"]);
    refused(
        table.to_number("price", '.'),
        &[
            "\"1.234,50\" is no number",
            "column `price`, row 0",
            "pass the other one",
        ],
    );
    refused(table.to_number("price", ';'), &["';' is no decimal mark"]);
    refused(
        table.to_date("sent", "%Y-%m-%d"),
        &[
            "\"28.01.1813\" is no date",
            "column `sent`, row 0",
            "%d.%m.%Y",
        ],
    );
    refused(
        table.to_date("year", "%Y"),
        &["column `year` has type i32, not text"],
    );
    refused(table.to_number("Price", ','), &["write \"price\""]);
    // Samples are drawn by their seed, each row at most once.
    let rows = table.sample(9, 3).numbers("year")?;
    let mut sorted = rows.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(sorted, [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(table.sample(9, 3).numbers("year")?, rows);
    assert_eq!(table.sample(2, 3).height(), 2);
    Ok(())
}
