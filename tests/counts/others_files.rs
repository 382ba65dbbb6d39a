//! Tables and matrices as other programs and people write them, each the situation of a public report (`../shared/inputs`,
//! `../shared/repro`). None is read as another matrix than it is; what is not read says why, where and what to do.

use std::path::{Path, PathBuf};

use crate::rows::rows;
use topicbook::{Cells, Counts, Texts, Vectorizer};

/// A file of `../shared`, where it is there.
pub(super) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new("../shared").join(name);
    if !path.exists() {
        eprintln!("SKIPPED: {} does not exist", path.display());
        return None;
    }
    Some(path)
}

fn lengths(counts: &Counts) -> Vec<f64> {
    counts.summary().unwrap().document_lengths().to_vec()
}

/// The text of an error, which has these parts.
fn refused<T>(result: topicbook::Result<T>, parts: &[&str]) {
    let Err(error) = result else {
        panic!("read, and not refused: {parts:?}");
    };
    let text = error.to_string();
    assert!(error.remedy().is_some(), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[cfg(feature = "polars")]
mod tables {
    use topicbook::polars::prelude::*;
    use topicbook::{CountTable, Table};

    use super::{lengths, refused, rows, shared};

    /// What a table is read as.
    struct Read {
        terms: &'static [&'static str],
        names: &'static [&'static str],
        lengths: &'static [f64],
        labels: &'static [&'static str],
        /// Lines of the table when it is shown.
        shown: &'static [&'static str],
    }

    /// Opens a table in a file, or in `../shared` where there is no text; and the frame which the file gives, if it gives one.
    fn open(name: &str, text: Option<&str>) -> Option<(tempfile::TempDir, Vec<CountTable>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = match text {
            None => shared(name)?,
            Some(text) => {
                let path = folder.path().join(name);
                std::fs::write(&path, text).unwrap();
                path
            }
        };
        let mut tables = vec![CountTable::open(&path).unwrap()];
        tables.extend(Table::open(&path).ok().map(CountTable::from_frame));
        Some((folder, tables))
    }

    fn check(table: &CountTable, what: &str, expected: &Read) {
        let counts = table
            .counts()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(table.terms().unwrap().as_slice(), expected.terms, "{what}");
        let documents = table.documents().unwrap();
        assert_eq!(documents.names(), expected.names, "{what}");
        assert_eq!(documents.column_names(), expected.labels, "{what}");
        assert_eq!(lengths(&counts), expected.lengths, "{what}");
        let shown = table.to_string();
        for line in expected.shown {
            assert!(shown.lines().any(|shown| shown == *line), "{line}: {shown}");
        }
    }

    type Set = fn(&CountTable) -> CountTable;

    #[rustfmt::skip] // one case a line
    #[test]
    fn tables_are_read_by_the_rule_and_say_so() {
        let as_is: Set = CountTable::clone;
        let wide: Set = CountTable::wide;
        let zeros: Set = CountTable::missing_as_zero;
        let year: Set = |table| table.labels(["year"]).unwrap();
        let cases: [(&str, Option<&str>, Set, Read); 29] = [
            ("repro/long_numeric_terms.csv", None, as_is, Read { terms: &["0", "1", "2"], names: &["A", "B"], lengths: &[6.0, 7.0], labels: &[], shown: &["form: long: a row per count, terms of column \"term\", counts of column \"count\"", "names of documents: of column \"document\""] }),
            ("repro/long_numeric_words.csv", None, as_is, Read { terms: &["1984", "2001", "42"], names: &["1984", "2001"], lengths: &[6.0, 7.0], labels: &[], shown: &[] }),
            ("header.csv", Some("doc,\"sea\n(tons)\",tea\nA,1,2\nB,3,4\n"), as_is, Read { terms: &["sea\n(tons)", "tea"], names: &["A", "B"], lengths: &[3.0, 7.0], labels: &[], shown: &[] }),
            ("capitals.csv", Some("Document,Term,Count\nA,sea,5\nB,tea,7\n"), as_is, Read { terms: &["sea", "tea"], names: &["A", "B"], lengths: &[5.0, 7.0], labels: &[], shown: &[] }),
            ("thrice.csv", Some(",Unnamed: 0.1,Unnamed: 0,sea\n0,0,0,2\n1,1,1,3\n"), as_is, Read { terms: &["sea"], names: &["0", "1"], lengths: &[2.0, 3.0], labels: &[], shown: &["left out: \"Unnamed: 0.1\", \"Unnamed: 0\""] }),
            ("repro/w_plus.csv", None, as_is, Read { terms: &["sea", "ship"], names: &["A", "B"], lengths: &[3.0, 3.0], labels: &[], shown: &[] }),
            ("repro/w_u8.parquet", None, as_is, Read { terms: &["sea", "ship"], names: &["A", "B"], lengths: &[3.0, 3.0], labels: &[], shown: &[] }),
            ("inputs/04_filtered.parquet", None, as_is, Read { terms: &["sea", "ship", "tea"], names: &["0", "3", "4"], lengths: &[6.0, 6.0, 7.0], labels: &[], shown: &["names of documents: of column \"__index_level_0__\""] }),
            ("inputs/04_named.parquet", None, as_is, Read { terms: &["sea", "ship", "tea"], names: &["austen-1", "byron-3", "keats-4"], lengths: &[6.0, 6.0, 7.0], labels: &[], shown: &[] }),
            ("inputs/06_words.csv", None, wide, Read { terms: &["analysis", "count", "document", "term"], names: &["0", "1", "2"], lengths: &[3.0, 2.0, 5.0], labels: &[], shown: &["form: wide: a row per document", "names of documents: none: they are numbered"] }),
            ("inputs/06_words_indexed.csv", None, wide, Read { terms: &["analysis", "count", "document", "term"], names: &["a.txt", "b.txt", "c.txt"], lengths: &[3.0, 2.0, 5.0], labels: &[], shown: &["names of documents: of the column without a name"] }),
            ("inputs/08_counts_na.csv", None, zeros, Read { terms: &["sea", "tea"], names: &["a", "b"], lengths: &[3.0, 4.0], labels: &[], shown: &["missing: 1 cell, counted as 0"] }),
            // Row names next to names; of a frame that was written, read and written again; of R, in quotes.
            ("twice.csv", Some(",doc,sea,tea\n0,A,1,2\n1,B,3,4\n"), as_is, Read { terms: &["sea", "tea"], names: &["A", "B"], lengths: &[3.0, 7.0], labels: &[], shown: &["left out: \"\""] }),
            ("again.csv", Some("Unnamed: 0,sea,tea\n7,1,2\n9,3,4\n"), as_is, Read { terms: &["sea", "tea"], names: &["7", "9"], lengths: &[3.0, 7.0], labels: &[], shown: &[] }),
            ("r.csv", Some("\"\",\"sea\",\"tea\"\n\"1\",1,2\n\"2\",3,4\n"), as_is, Read { terms: &["sea", "tea"], names: &["1", "2"], lengths: &[3.0, 7.0], labels: &[], shown: &[] }),
            ("long.csv", Some(",document,term,count\n0,3,7,1\n1,4,8,2\n"), as_is, Read { terms: &["7", "8"], names: &["3", "4"], lengths: &[1.0, 2.0], labels: &[], shown: &["left out: \"\""] }),
            // Two names of documents; one that is in no list.
            ("ids.csv", Some("doc_id,document,sea\n7,A,1\n8,B,2\n"), as_is, Read { terms: &["sea"], names: &["A", "B"], lengths: &[1.0, 2.0], labels: &["doc_id"], shown: &["labels: \"doc_id\""] }),
            ("letter.csv", Some("letter,year,sea\n12,1811,1\n12,1819,2\n"), |table| table.names("letter").unwrap().labels(["year"]).unwrap(), Read { terms: &["sea"], names: &["12", "12"], lengths: &[1.0, 2.0], labels: &["year"], shown: &[] }),
            ("novel.csv", Some("chapter,lemma,freq,page\nI,sea,2,1\nII,ship,3,9\nI,ship,1,1\n"), |table| table.long("chapter", "lemma", "freq").unwrap(), Read { terms: &["sea", "ship"], names: &["I", "II"], lengths: &[3.0, 3.0], labels: &[], shown: &["left out: \"page\""] }),
            ("tidy.csv", Some("document,term,count,tf_idf\nA,sea,5,0.5\nB,7,7,0.1\n"), as_is, Read { terms: &["sea", "7"], names: &["A", "B"], lengths: &[5.0, 7.0], labels: &[], shown: &["left out: \"tf_idf\""] }),
            ("long_na.csv", Some("doc,term,n\nA,sea,5\nB,tea,NA\n"), zeros, Read { terms: &["sea", "tea"], names: &["A", "B"], lengths: &[5.0, 0.0], labels: &[], shown: &["missing: 1 cell, counted as 0"] }),
            // Numbers in quotes, with space, a sign, an exponent; a header with space; lines that end with a separator.
            ("quoted.csv", Some("\"doc\",\"sea\",\"tea\"\n\"A\",\"1\",\"2\"\n\"B\",\"3\",\"4\"\n"), as_is, Read { terms: &["sea", "tea"], names: &["A", "B"], lengths: &[3.0, 7.0], labels: &[], shown: &[] }),
            ("space.csv", Some("doc, sea, tea\nA, 1, 2\nB, +3, 4e0\n"), as_is, Read { terms: &["sea", "tea"], names: &["A", "B"], lengths: &[3.0, 7.0], labels: &[], shown: &[] }),
            ("ends.csv", Some("doc;sea;tea;\nA;1;2;\nB;3;4;\n"), as_is, Read { terms: &["sea", "tea"], names: &["A", "B"], lengths: &[3.0, 7.0], labels: &[], shown: &[] }),
            ("empty.csv", Some("doc,sea,ship\nA,1,\nB,2,\n"), zeros, Read { terms: &["sea", "ship"], names: &["A", "B"], lengths: &[1.0, 2.0], labels: &[], shown: &["missing: 2 cells, counted as 0"] }),
            // Labels: words, codes, dates and numbers that are mostly words; quotation marks in a label.
            ("labels.csv", Some("doc,author,code,sent,year,sea\nA,Austen,A7,2024-01-02,1811,1\nB,1984,B12,2024-02-03,1819,2\nC,Byron,3,2024-02-04,1820,0\n"), year, Read { terms: &["sea"], names: &["A", "B", "C"], lengths: &[1.0, 2.0, 0.0], labels: &["author", "code", "sent", "year"], shown: &["terms: 1 term: \"sea\"", "labels: \"author\", \"code\", \"sent\", \"year\""] }),
            ("inches.csv", Some("doc,tool,sea\nA,3\" nail,1\nB,5\" disk,2\nC,\"1\"\" screw, steel\",3\n"), as_is, Read { terms: &["sea"], names: &["A", "B", "C"], lengths: &[1.0, 2.0, 3.0], labels: &["tool"], shown: &[] }),
            ("blank_lines.csv", Some("\n\ndoc,sea\nA,1\nB,2\n"), as_is, Read { terms: &["sea"], names: &["A", "B"], lengths: &[1.0, 2.0], labels: &[], shown: &[] }),
            ("bom.csv", Some("\u{feff}\"doc\",sea\nA,1\nB,2\n"), as_is, Read { terms: &["sea"], names: &["A", "B"], lengths: &[1.0, 2.0], labels: &[], shown: &[] }),
        ];
        for (name, text, set, expected) in &cases {
            for table in open(name, *text).iter().flat_map(|(_, tables)| tables) {
                check(&set(table), name, expected);
            }
        }
    }

    #[rustfmt::skip] // one case a line
    #[test]
    fn tables_that_can_be_read_in_two_ways_are_refused() {
        let cases: [(&str, Option<&str>, &[&str]); 20] = [
            ("repro/one_typo.csv", None, &["column \"sea\"", "data row", ".labels([\"sea\"])", ".missing_as_zero()"]),
            ("inputs/06_words.csv", None, &["\"document\", \"term\", \"count\"", "\"analysis\"", ".wide()", ".long(\"document\", \"term\", \"count\")"]),
            ("inputs/06_words_indexed.csv", None, &[".wide()"]),
            ("inputs/07_genes_twice.csv", None, &["two columns named \"TBCE\"", "columns 2 and 4"]),
            ("inputs/07_clash.csv", None, &["two columns named \"a\"", "columns 2 and 4"]),
            ("inputs/08_counts_na.csv", None, &["column \"sea\"", "data row 2", ".missing_as_zero()"]),
            ("thousands.csv", Some("doc,sea,tea\nA,\"1,000\",2\nB,3,4\n"), &["column \"sea\" has 1 number and \"1,000\"", "data row 1", ".labels([\"sea\"])"]),
            ("all_thousands.csv", Some("doc,sea,the\nA,1,\"1,234\"\nB,2,\"2,345\"\n"), &["column \"the\"", "\"1,234\"", "data row 1", ".labels([\"the\"])"]),
            ("all_missing.csv", Some("doc,sea,ship\nA,1,NA\nB,2,NA\n"), &["column \"ship\" is empty", ".missing_as_zero()"]),
            ("typo.csv", Some("doc,sea,tea\nA,1,2\nB,l2,4\nC,3,0\n"), &["\"l2\"", "data row 2, column \"sea\""]),
            ("dash.csv", Some("doc,sea\nA,-\nB,-\nC,-\nD,3\n"), &["\"-\"", "data row 1, column \"sea\""]),
            ("nan.csv", Some("doc,sea\nA,1\nB,NaN\n"), &["column \"sea\" is empty, NA", "data row 2"]),
            ("nothing.csv", Some("doc,sea,ship\nA,1,\nB,2,\n"), &["column \"ship\" is empty", ".missing_as_zero()", ".labels([\"ship\"])"]),
            ("document.csv", Some("analysis,document,term\n1,2,0\n0,0,1\n3,0,1\n"), &["column \"document\" has 0 twice", "data rows 2 and 3", ".wide()", ".names(\"document\")"]),
            ("rows.csv", Some(",document,sea\na.txt,2,1\nb.txt,0,3\n"), &["\"document\"", ".wide()", ".names(\"document\")"]),
            ("long_typo.csv", Some("document,term,count\nA,sea,\"1,000\"\nB,tea,7\n"), &["column \"count\" has \"1,000\"", "data row 1"]),
            ("long_na.csv", Some("document,term,count\nA,sea,1\nB,tea,NA\n"), &["column \"count\" is empty, NA", "data row 2", ".missing_as_zero()"]),
            ("ids.csv", Some("doc,term,count\n0,1,5\n"), &["Counts::open", ".long(\"doc\", \"term\", \"count\")"]),
            ("trimmed.csv", Some("doc,sea, sea\nA,1,2\n"), &["two columns named \"sea\"", "columns 2 and 3"]),
            ("open.csv", Some("doc,tool,sea\nA,\"nail,1\nB,disk,2\n"), &["in quotes", "line 2"]),
        ];
        for (name, text, parts) in cases {
            for table in open(name, text).iter().flat_map(|(_, tables)| tables) {
                refused(table.counts(), parts);
            }
        }
        let (_folder, tables) = open("x.csv", Some("doc,term,n,page\nA,sea,2,1\n")).unwrap();
        for table in tables {
            refused(table.labels(["page"]).unwrap().counts(), &["long table", ".wide()"]);
            refused(table.names("letter"), &["no column named \"letter\"", "\"doc\", \"term\", \"n\", \"page\""]);
        }
    }

    fn write_parquet(path: &std::path::Path, columns: Vec<Column>) {
        let mut frame = DataFrame::new_infer_height(columns).unwrap();
        let file = std::fs::File::create(path).unwrap();
        ParquetWriter::new(file).finish(&mut frame).unwrap();
    }

    #[test]
    fn texts_of_a_typed_file_are_no_counts_in_silence() {
        let (_folder, path) = testkit::temp_path("typed.parquet");
        for (sea, parts) in [
            (["1", "2"], &["stored as texts", ".labels([\"sea\"])"]),
            (["1", "n/a"], &["\"n/a\"", "data row 2, column \"sea\""]),
        ] {
            let columns = vec![
                Column::new("sea".into(), sea),
                Column::new("tea".into(), [3i64, 4]),
            ];
            write_parquet(&path, columns);
            let table = CountTable::open(&path).unwrap();
            refused(table.counts(), parts);
            let labelled = table.labels(["sea"]).unwrap();
            assert_eq!(lengths(&labelled.counts().unwrap()), [3.0, 4.0]);
        }
    }

    #[test]
    fn small_integers_of_parquet_are_read() {
        let Some(path) = shared("repro/small_ints.parquet") else {
            return;
        };
        let counts = topicbook::Counts::open(&path).unwrap();
        let table = Table::open(&path).unwrap();
        let sum: f64 = table.numbers("count").unwrap().iter().sum();
        assert_eq!(counts.summary().unwrap().total(), sum);
        let found = rows(&counts);
        let cells = table.numbers("doc").unwrap().into_iter();
        for ((document, term), count) in cells
            .zip(table.numbers("term").unwrap())
            .zip(table.numbers("count").unwrap())
        {
            let at = document as usize * counts.terms() + term as usize;
            assert_eq!(f64::from(found[at]), count, "{document} {term}");
        }
    }

    #[test]
    fn missing_numbers_of_a_table_are_null_and_quotes_inside_a_text_are_text() {
        let (_folder, path) = testkit::temp_path("years.csv");
        for missing in ["NA", "n/a", "NaN", "", "null"] {
            let text = format!("text,year\nsea,1811\ntea,{missing}\nship,1820\n");
            std::fs::write(&path, text).unwrap();
            let table = Table::open(&path).unwrap();
            let late = table.filter(col("year").gt(1815)).unwrap();
            assert_eq!(late.height(), 1, "{missing}");
            let years = table.numbers("year").unwrap();
            assert!(years[1].is_nan() && years[0] == 1811.0 && years[2] == 1820.0);
        }
        std::fs::write(&path, "code,word\nNA,007\nDE,NA\n").unwrap();
        let table = Table::open(&path).unwrap();
        assert_eq!(table.texts("code").unwrap(), ["NA", "DE"]);

        if let Some(path) = shared("inputs/08_years.csv") {
            let table = Table::open(path).unwrap();
            assert_eq!(table.filter(col("year").gt(1815)).unwrap().height(), 1);
        }
        if let Some(path) = shared("inputs/01_inches.csv") {
            let table = Table::open(path).unwrap();
            assert_eq!(table.shape(), (8, 3));
            let things = [
                "hammer",
                "3\" nail",
                "oak plank",
                "5\" disk",
                "rope",
                "lamp",
                "2\" tape",
                "1\" screw",
            ];
            assert_eq!(table.texts("thing").unwrap(), things);
        }
        if let Some(path) = shared("inputs/02_notes.csv") {
            let table = Table::open(path).unwrap();
            assert_eq!(table.texts("author").unwrap(), ["ann", "bob", "cid"]);
        }
    }
}

#[test]
fn texts_of_others_are_read() {
    let count = |texts: Texts| Vectorizer::new().fit_transform(texts).unwrap();
    if let Some(path) = shared("inputs/01_inches.csv") {
        let counted = count(Texts::open(path).unwrap().column("thing"));
        assert_eq!(counted.documents().len(), 8);
        let materials = counted.documents().labels("material").unwrap();
        assert_eq!(materials[7].as_deref(), Some("zinc"));
    }
    if let Some(path) = shared("inputs/02_notes.csv") {
        let counted = count(Texts::open(path).unwrap());
        let authors = counted.documents().labels("author").unwrap();
        let authors: Vec<&str> = authors.iter().flatten().map(String::as_str).collect();
        assert_eq!(authors, ["ann", "bob", "cid"]);
    }
    if let Some(path) = shared("inputs/08_years.csv") {
        let counted = count(Texts::open(path).unwrap());
        let years = counted.documents().numbers("year").unwrap();
        assert!(years[0] == 1811.0 && years[1].is_nan() && years[2] == 1820.0);
    }
    if let Some(path) = shared("inputs/15_letters") {
        let texts = Texts::open(path).unwrap();
        assert!(texts.to_string().contains("3 files in"), "{texts}");
        assert!(
            texts.to_string().ends_with("3 other files passed over"),
            "{texts}"
        );
        let counted = count(texts);
        assert_eq!(counted.documents().names(), ["a.txt", "b.txt", "c.txt"]);
        assert_eq!(lengths(&counted.counts()), [6.0, 0.0, 6.0]);
    }
    let (_folder, path) = testkit::temp_path("twice.csv");
    std::fs::write(&path, "text,author,author\nsea,Austen,Byron\n").unwrap();
    refused(
        Vectorizer::new().fit_transform(Texts::open(&path).unwrap()),
        &["two columns named \"author\"", "columns 2 and 3"],
    );
}

const GENES: [&str; 4] = ["ACTB", "GAPDH", "XIST", "TBCE"];
const BARCODES: [&str; 3] = ["AAAC-1", "AAAG-1", "AATC-1"];

#[test]
fn matrices_with_the_prefixes_of_geo_are_cells_by_genes() {
    let Some(folder) = shared("inputs/16_geo") else {
        return;
    };
    let path = folder.join("GSM77_S1_matrix.mtx.gz");
    let cells = Cells::open(&path).unwrap();
    let counts = cells.counts().unwrap();
    let expected = [5.0, 0.0, 0.0, 1.0, 0.0, 2.0, 7.0, 0.0, 1.0, 0.0, 3.0, 4.0];
    assert_eq!(counts.shape(), (3, 4));
    assert_eq!(rows(&counts), expected);
    assert_eq!(cells.terms().unwrap().as_slice(), GENES);
    assert_eq!(cells.names().unwrap(), BARCODES);
    refused(
        Counts::open(&path),
        &["GSM77_S1_barcodes.tsv.gz", "Cells::open"],
    );
    let cells = Cells::open(&folder).unwrap();
    assert_eq!(rows(&cells.counts().unwrap()), [expected; 2].concat());
    assert_eq!(cells.terms().unwrap().as_slice(), GENES);
    let samples = cells.documents().unwrap().labels("sample").unwrap();
    let samples: Vec<&str> = samples.iter().flatten().map(String::as_str).collect();
    assert_eq!(samples, [["GSM77_S1"; 3], ["GSM78_S2"; 3]].concat());
    testkit::assert_has(&cells, ["2 samples", "\"GSM77_S1\", \"GSM78_S2\""]);
}

/// A matrix of 2 cells and 3 genes under the names of 10x, by rows of genes or of cells.
#[test]
fn a_matrix_of_cells_by_genes_is_not_transposed() {
    let head = "%%MatrixMarket matrix coordinate integer general\n";
    let by_genes = format!("{head}3 2 3\n1 1 5\n3 1 2\n2 2 7\n");
    let by_cells = format!("{head}2 3 3\n1 1 5\n1 3 2\n2 2 7\n");
    for (matrix, prefix) in [
        (&by_genes, ""),
        (&by_cells, ""),
        (&by_genes, "GSM1_"),
        (&by_cells, "GSM1_"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(format!("{prefix}{name}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let path = write("matrix.mtx", matrix);
        write("features.tsv", "E1\tActb\nE2\tGapdh\nE3\tXist\n");
        write("barcodes.tsv", "A\nB\n");
        let cells = Cells::open(folder.path()).unwrap();
        assert_eq!(
            rows(&cells.counts().unwrap()),
            [5.0, 0.0, 2.0, 0.0, 7.0, 0.0]
        );
        assert_eq!(cells.names().unwrap(), ["A", "B"]);
        assert_eq!(cells.terms().unwrap().as_slice(), ["Actb", "Gapdh", "Xist"]);
        let is_by_cells = matrix == &by_cells;
        assert_eq!(
            cells.to_string().contains("rows of the file are cells"),
            is_by_cells
        );
        match is_by_cells {
            true => assert_eq!(Counts::open(&path).unwrap().shape(), (2, 3)),
            false => refused(Counts::open(&path), &["genes", "Cells::open"]),
        }
        write("barcodes.tsv", "A\nB\nC\nD\n");
        refused(
            cells.counts(),
            &["names of 3 genes and 4 cells", "copy the folder"],
        );
    }
}

#[test]
fn antibodies_among_the_genes_are_named_and_can_be_left_out() {
    for name in [
        "inputs/18_cite/filtered_feature_bc_matrix.h5",
        "inputs/18_cite/filtered_feature_bc_matrix",
    ] {
        let Some(path) = shared(name) else { return };
        let cells = Cells::open(&path).unwrap();
        let counts = cells.counts().unwrap();
        assert_eq!(
            (counts.shape(), counts.summary().unwrap().total()),
            ((4, 5), 1208.0)
        );
        testkit::assert_has(
            &cells,
            [
                "2 of 5 features are Antibody Capture",
                ".feature_type(\"Gene Expression\")",
            ],
        );
        let genes = cells.feature_type("Gene Expression");
        let counts = genes.counts().unwrap();
        assert_eq!(
            (counts.shape(), counts.summary().unwrap().total()),
            ((4, 3), 14.0)
        );
        assert_eq!(genes.terms().unwrap().as_slice(), ["ACTB", "GAPDH", "XIST"]);
        refused(
            cells.feature_type("Gene").counts(),
            &[
                "no feature of the type \"Gene\"",
                "2 of 5 features are Antibody Capture",
            ],
        );
        if path.is_file() {
            let counts = Counts::open(&path).unwrap();
            testkit::assert_has(&counts, ["2 of 5 features are Antibody Capture"]);
        }
    }
}

#[test]
fn old_and_new_files_of_anndata_are_read_or_say_what_they_are() {
    if let Some(path) = shared("inputs/20_before_0.7.h5ad") {
        let cells = Cells::open(path).unwrap();
        assert_eq!(cells.counts().unwrap().shape(), (4, 3));
        assert_eq!(lengths(&cells.counts().unwrap()), [3.0, 3.0, 9.0, 6.0]);
        assert_eq!(cells.terms().unwrap().as_slice(), ["Actb", "Gapdh", "Xist"]);
        assert_eq!(cells.names().unwrap(), ["c1", "c2", "c3", "c4"]);
        let documents = cells.documents().unwrap();
        assert_eq!(documents.names()[3], "c4");
        refused(documents.labels("clusters"), &["left out", "before 0.7"]);
    }
    if let Some(path) = shared("inputs/21_gzip.h5ad") {
        let counts = Counts::open(path).unwrap();
        assert_eq!(
            (counts.terms(), counts.summary().unwrap().total()),
            (80, 7045.0)
        );
    }
    let rewrite = "anndata.read_h5ad";
    for (name, parts) in [
        (
            "inputs/21_zstd.h5ad",
            ["zstd", "32015", "hdf5plugin", rewrite],
        ),
        (
            "inputs/21_blosc.h5ad",
            ["blosc", "32001", "hdf5plugin", rewrite],
        ),
        (
            "repro/r0001.h5ad",
            ["layout of version 5", "libver", "not read", rewrite],
        ),
        (
            "repro/r0033.h5ad",
            ["float16", "not read", "X", "astype(\"float32\")"],
        ),
        ("repro/r0051.h5ad", ["B-tree", "X", "not read", rewrite]),
    ] {
        let Some(path) = shared(name) else { continue };
        let result =
            Counts::open(path).and_then(|counts| counts.summary().map(|found| found.total()));
        if let Err(error) = &result {
            let text = error.to_string();
            assert!(
                !text.contains("damaged") && !text.contains("copy it"),
                "{name}: {text}"
            );
        }
        refused(result, &parts);
    }
}

#[test]
fn tensors_that_begin_anywhere_are_read() {
    let (_folder, path) = testkit::temp_path("odd.npy");
    // NumPy itself pads headers to 64 bytes.
    let head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }\n";
    let file = [
        b"\x93NUMPY\x01\x00\x3c\x00",
        &head[..],
        &7.0f32.to_le_bytes(),
    ]
    .concat();
    std::fs::write(&path, file).unwrap();
    assert_eq!(rows(&Counts::open(&path).unwrap()), [7.0]);
    let Some(path) = shared("inputs/22_odd.safetensors") else {
        return;
    };
    let counts = Counts::open(path).unwrap();
    let expected = [1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 4.0, 5.0, 0.0, 0.0, 6.0];
    assert_eq!(counts.shape(), (3, 4));
    assert_eq!(rows(&counts), expected);
}
