use std::path::{Path, PathBuf};

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, Series};

use super::*;
use crate::Location;
use crate::data::TableFile;

/// A folder, and a file in it with this text.
fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// The table of a file, and that of the frame which the file gives, if it gives one.
fn doors(path: &Path) -> impl Iterator<Item = CountTable> {
    let frame = Table::open(path).ok().map(CountTable::from_frame);
    [CountTable::open(path).unwrap()].into_iter().chain(frame)
}

fn rows(counts: &Counts) -> Vec<f32> {
    let (documents, terms) = counts.shape();
    let mut rows = vec![-1.0; documents * terms];
    let order: Vec<usize> = (0..documents).collect();
    counts.fill_rows(&order, &mut rows).unwrap();
    rows
}

fn write_parquet(path: &Path, columns: Vec<Column>) {
    let mut frame = DataFrame::new_infer_height(columns).unwrap();
    ParquetWriter::new(std::fs::File::create(path).unwrap())
        .with_row_group_size(Some(30))
        .finish(&mut frame)
        .unwrap();
}

#[test]
fn wide_tables_are_read_from_all_formats() {
    let text =
        "doc,year,author,sea,ship,tea\na,1811,Austen,0,1,5\nb,1819,Byron,7,0,0\nc,1820,,0,0,0\n";
    let (folder, path) = file("wide.csv", text);
    let parquet = folder.path().join("wide.parquet");
    Table::open(&path).unwrap().write_parquet(&parquet).unwrap();
    let tsv = folder.path().join("wide.tsv");
    std::fs::write(&tsv, text.replace(',', "\t")).unwrap();
    for table in [path, parquet, tsv].iter().flat_map(|path| doors(path)) {
        let table = table.labels(["year"]).unwrap();
        assert!(table.to_string().contains("on first use"), "{table}");
        let counts = table.counts().unwrap();
        assert_eq!(counts.shape(), (3, 3));
        assert_eq!(rows(&counts), [0.0, 1.0, 5.0, 7.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(table.terms().unwrap().as_slice(), ["sea", "ship", "tea"]);
        let documents = table.documents().unwrap();
        assert_eq!(documents.names(), ["a", "b", "c"]);
        assert_eq!(documents.numbers("year").unwrap(), [1811.0, 1819.0, 1820.0]);
        assert_eq!(documents.labels("author").unwrap()[2], None);
        testkit::assert_has(&table, ["3 documents × 3 terms"]);
    }
}

/// pandas writes the names of the rows into a column without a name, whether they are texts or numbers.
#[test]
fn an_index_is_no_term() {
    for (names, expected) in [(["0", "1"], ["0", "1"]), (["x", "y"], ["x", "y"])] {
        let text = format!(",sea,tea\n{},1,2\n{},3,4\n", names[0], names[1]);
        let (_folder, path) = file("index.csv", &text);
        for table in doors(&path) {
            assert_eq!(table.terms().unwrap().as_slice(), ["sea", "tea"]);
            assert_eq!(table.documents().unwrap().names(), expected);
        }
    }
    let (_folder, path) = file("plain.csv", "sea,tea\n1,2\n3,4\n");
    let documents = CountTable::open(&path).unwrap().documents().unwrap();
    assert_eq!((documents.len(), documents.column_names().len()), (2, 0));
}

#[test]
fn parts_of_a_large_table_give_the_counts_of_the_writer() {
    let (folder, path) = testkit::temp_path("wide.parquet");
    let height = 200;
    let value = |row: usize, term: usize| match (row * 7 + term * 5) % 4 {
        0 => (row % 13 + term + 1) as u32,
        _ => 0,
    };
    let mut columns = vec![Column::new("kind".into(), vec!["x"; height])];
    for term in 0..150 {
        let values: Vec<u32> = (0..height).map(|row| value(row, term)).collect();
        columns.push(Column::new(format!("t{term}").into(), values));
    }
    write_parquet(&path, columns);
    let dense: Vec<u32> = (0..height)
        .flat_map(|row| (0..150).map(move |term| value(row, term)))
        .collect();
    let table = CountTable::open(&path).unwrap();
    let parts = TableFile::open(&path).unwrap();
    for at_once in [1, 37, 64, 65, 1_000] {
        let roles = Roles::of(&table, &parts).unwrap();
        let read = wide::read_within(&table, &parts, roles, at_once, 2_000).unwrap();
        let expected: Vec<f32> = dense.iter().map(|&count| count as f32).collect();
        assert!(rows(&read.counts) == expected, "{at_once}");
        assert!(read.counts.has_row_file(), "they went into a file");
        assert_eq!(read.documents.labels("kind").unwrap().len(), height);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn long_tables_are_numbered_in_order() {
    let text = "n,token,doc_id,page\n5,tea,7,1\n7,sea,3,1\n1,ship,7,2\n2,tea,3,2\n";
    let (_folder, path) = file("long.csv", text);
    for table in doors(&path) {
        assert_eq!(table.terms().unwrap().as_slice(), ["tea", "sea", "ship"]);
        assert_eq!(table.documents().unwrap().names(), ["7", "3"]);
        assert_eq!(
            rows(&table.counts().unwrap()),
            [5.0, 0.0, 1.0, 2.0, 7.0, 0.0]
        );
    }
    let counts = Counts::from_frame(Table::open(&path).unwrap()).unwrap();
    assert_eq!(rows(&counts), [5.0, 0.0, 1.0, 2.0, 7.0, 0.0]);
    assert_eq!(counts.location(), Location::Memory);
}

#[test]
fn a_long_table_in_any_order_is_that_in_order() {
    let (_folder, path) = testkit::temp_path("long.parquet");
    let all: Vec<(usize, usize)> = (0..60)
        .flat_map(|document| (0..9).map(move |i| (document, (document * 3 + i * i) % 40)))
        .collect();
    let mut all: Vec<(usize, usize)> = all
        .into_iter()
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut expected = vec![0.0; 60 * 40];
    for &(document, term) in &all {
        expected[document * 40 + term] = (document + term + 1) as f32;
    }
    all.reverse();
    write_parquet(
        &path,
        vec![
            Column::new(
                "doc".into(),
                all.iter()
                    .map(|row| format!("d{}", row.0))
                    .collect::<Vec<_>>(),
            ),
            Column::new(
                "term".into(),
                all.iter()
                    .map(|row| format!("t{}", row.1))
                    .collect::<Vec<_>>(),
            ),
            Column::new(
                "count".into(),
                all.iter()
                    .map(|row| (row.0 + row.1 + 1) as f64)
                    .collect::<Vec<_>>(),
            ),
        ],
    );
    let table = CountTable::open(&path).unwrap();
    let found = rows(&table.counts().unwrap());
    let (documents, terms) = (table.documents().unwrap().names(), table.terms().unwrap());
    for (row, document) in documents.iter().enumerate() {
        for (column, term) in terms.iter().enumerate() {
            let [document, term]: [usize; 2] =
                [document, term].map(|name| name[1..].parse().unwrap());
            assert_eq!(
                found[row * terms.len() + column],
                expected[document * 40 + term]
            );
        }
    }
}

#[rustfmt::skip] // one case a line
#[test]
fn malformed_tables_are_located() {
    let cases: [(&str, &[&str]); 9] = [
        ("doc,sea\na,1\nb,-2\n", &["-2 is negative", "data row 2, column \"sea\""]),
        ("doc,sea\na,1\nb,0.5\n", &["0.5 is not a whole number", "data row 2", "labels([\"sea\"])"]),
        ("doc,sea\na,1\nb,16777217\n", &["16777217", "data row 2"]),
        ("doc,author\na,x\nb,y\n", &["has no columns of numbers", "\"doc\", \"author\""]),
        ("doc,sea\n", &["has no rows"]),
        ("doc,term,count\na,sea,5\na,sea,2\n", &["come twice"]),
        ("doc,term,count\na,,5\na,sea,2\n", &["column \"term\" is empty", "data row 1"]),
        ("doc,term,count\na,sea,5\nb,sea,-3\n", &["-3 is negative", "data row 2"]),
        ("doc,term,count\na,sea,5\nb,sea,1,4\n", &["cannot be read as CSV"]),
    ];
    for (text, fragments) in cases {
        let (_folder, path) = file("table.csv", text);
        for table in doors(&path) {
            let error = table.counts().unwrap_err();
            let shown = error.to_string();
            assert!(error.remedy().is_some(), "{shown}");
            for fragment in fragments {
                assert!(shown.contains(fragment), "{fragment}: {shown}");
            }
        }
    }
    let (_folder, path) = file("table.csv", "doc,sea\na,1\n");
    testkit::refused! { CountTable::open(&path).unwrap().labels(["year"]), "no column named \"year\""; }
    assert!(CountTable::open("missing.csv").is_err());
}

/// Triplets of numbers and lists are those of a file with the same columns.
#[test]
fn frames_with_numbers_are_read_as_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let column = |name: &str, values: [i64; 3]| Column::new(name.into(), values);
    let (doc, term) = (column("doc", [2, 0, 2]), column("term", [1, 0, 0]));
    let lists = || {
        let counts = [vec![5u32, 7], vec![], vec![1, 2, 3]];
        let terms = [vec![0u32, 4], vec![], vec![1, 2, 3]];
        let list = |name: &str, lists: [Vec<u32>; 3]| {
            let lists = lists.map(|list| Series::new("".into(), list));
            Column::new(name.into(), lists.to_vec())
        };
        vec![list("term", terms), list("count", counts)]
    };
    for (name, columns) in [
        (
            "numbers",
            vec![doc.clone(), term.clone(), column("count", [3, 1, 4])],
        ),
        (
            "negative",
            vec![doc.clone(), term.clone(), column("count", [3, -1, 4])],
        ),
        (
            "below",
            vec![
                column("doc", [2, -1, 2]),
                term.clone(),
                column("count", [3, 1, 4]),
            ],
        ),
        (
            "twice",
            vec![
                column("doc", [2, 2, 2]),
                term.clone(),
                column("count", [3, 1, 4]),
            ],
        ),
        (
            "none",
            vec![
                doc.clear(),
                term.clear(),
                doc.clear().with_name("count".into()),
            ],
        ),
        ("lists", lists()),
    ] {
        let frame = DataFrame::new_infer_height(columns.clone()).unwrap();
        let path = folder.path().join("X.parquet");
        write_parquet(&path, columns);
        match (Counts::open(&path), Counts::from_frame(&frame)) {
            (Ok(file), Ok(frame)) => assert_eq!(rows(&file), rows(&frame), "{name}"),
            (Err(file), Err(frame)) => {
                let file = file
                    .to_string()
                    .replace(&*path.to_string_lossy(), "DataFrame");
                assert_eq!(file, frame.to_string(), "{name}");
            }
            (file, frame) => panic!("{name}: {file:?} {frame:?}"),
        }
    }
    let both = DataFrame::new_infer_height(vec![
        doc,
        term,
        column("count", [3, 1, 4]),
        column("sea", [1, 2, 3]),
    ]);
    let error = Counts::from_frame(both.unwrap()).unwrap_err().to_string();
    testkit::assert_has(&error, ["DataFrame: may have a row per count", ".wide()"]);
}
