//! Spreadsheets: cell by cell what pandas reads, the choice of the sheet, and files that state more than they hold.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use topicbook::polars::prelude::DataType;
use topicbook::{CountTable, Counts, Table, TextFormat, Texts, Vectorizer};
use zip::CompressionMethod;

fn golden(name: &str) -> PathBuf {
    Path::new("tests/counts/golden/xlsx").join(name)
}

/// A file with these entries.
fn archive(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let options = options.compression_method(CompressionMethod::Deflated);
    for (name, text) in entries {
        archive.start_file(*name, options).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A spreadsheet of these rows and shared texts.
fn spreadsheet(rows: &str, texts: &str) -> Vec<u8> {
    let related = |kind: &str, id: &str, target: &str| {
        format!(
            "<Relationship Id=\"{id}\" Type=\"http://x/relationships/{kind}\" Target=\"{target}\"/>"
        )
    };
    let relations = |all: String| format!("<Relationships>{all}</Relationships>");
    archive(&[
        (
            "_rels/.rels",
            &relations(related("officeDocument", "a", "xl/workbook.xml")),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            &relations(related("worksheet", "s", "sheet.xml")),
        ),
        (
            "xl/workbook.xml",
            "<workbook><sheets><sheet name=\"S\" r:id=\"s\"/></sheets></workbook>",
        ),
        ("xl/sharedStrings.xml", texts),
        (
            "xl/sheet.xml",
            &format!("<worksheet><sheetData>{rows}</sheetData></worksheet>"),
        ),
    ])
}

fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn cell(place: &str, number: &str) -> String {
    format!("<c r=\"{place}\"><v>{number}</v></c>")
}

/// Each value of a column as a text.
fn texts(table: &Table, name: &str) -> Vec<Option<String>> {
    let texts = table.column(name).unwrap().cast(&DataType::String).unwrap();
    let texts = texts.str().unwrap().iter();
    texts.map(|text| text.map(str::to_string)).collect()
}

#[test]
fn sheets_are_what_pandas_reads() {
    let expected = std::fs::read_to_string(golden("pandas.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&expected).unwrap();
    assert_eq!(expected.len(), 4);
    for (file, columns) in expected {
        let (name, sheet) = file.split_once(' ').unwrap();
        let stated = TextFormat::new().sheet(sheet.parse().unwrap());
        let table = Table::open_with(golden(name), stated).unwrap();
        let columns = columns.as_object().unwrap();
        assert_eq!(table.width(), columns.len(), "{file}: {table}");
        for (column, values) in columns {
            let found = texts(&table, column);
            let values = values.as_array().unwrap();
            assert_eq!(found.len(), values.len(), "{file}, {column}");
            for (found, value) in found.iter().zip(values) {
                let number = |text: &str| text.parse::<f64>().ok();
                let same = match (found.as_deref(), value.as_str()) {
                    (Some(found), Some(value)) => {
                        // 8:30:00.000
                        found.strip_suffix(".000").unwrap_or(found) == value
                            || found == format!("{value} 00:00:00.000")
                            || number(found).is_some() && number(found) == number(value)
                    }
                    (found, value) => found == value,
                };
                assert!(same, "{file}, {column}: {found:?} for {value}");
            }
        }
    }
}

#[test]
fn columns_have_the_types_of_their_cells() {
    let table = Table::open(golden("kinds.xlsx")).unwrap();
    let types = table.columns().iter().map(|column| match column.dtype() {
        DataType::Datetime(..) => "datetime".to_string(),
        other => other.to_string(),
    });
    let names = table.column_names();
    let found: Vec<String> = names
        .iter()
        .zip(types)
        .map(|(name, dtype)| format!("{name}: {dtype}"))
        .collect();
    let expected = "whole: i64, fraction: f64, day: date, moment: datetime, flag: bool, code: str, text: str, missing: i64, \
                    mixed: str, empty: str, as text: f64, formula: f64, : str";
    assert_eq!(found.join(", "), expected);
    let page = table.html();
    for part in [
        "numbers that are stored as text in &quot;as text&quot;",
        "1 cell with errors, which are null: &quot;#DIV/0!&quot;",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let old = Table::open(golden("kinds-1904.xlsm")).unwrap();
    assert_eq!(texts(&old, "day"), texts(&table, "day"));
    assert_eq!(texts(&old, "moment"), texts(&table, "moment"));
}

#[test]
fn a_sheet_is_found_or_stated() {
    let path = golden("sheets.xlsx");
    // The first sheet has no values.
    let found = Table::open(&path).unwrap();
    assert_eq!(found.column_names(), ["doc", "term", "count"]);
    let page = found.html();
    let remark = "sheet 2 of 3, &quot;Counts&quot;; the others are &quot;Read me&quot;, &quot;Terms &amp; more&quot;";
    assert!(page.contains(remark), "{page}");
    let stated = |number| TextFormat::new().sheet(number);
    assert_eq!(
        Table::open_with(&path, stated(3))
            .unwrap()
            .numbers("ship")
            .unwrap(),
        [2.0, 0.0]
    );
    for (number, part) in [
        (0, "state .sheet(1) to .sheet(3)"),
        (1, "has no values in sheet 1 of its 3 sheets"),
        (4, "3 sheets: \"Read me\", \"Counts\", \"Terms & more\""),
    ] {
        let error = Table::open_with(&path, stated(number))
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
    // The other doors.
    let counts = Counts::open(&path).unwrap();
    assert_eq!(counts.shape(), (3, 3));
    assert_eq!(counts.summary().unwrap().total(), 8.0);
    let wide = CountTable::open(&path).unwrap().format(stated(3));
    assert_eq!(wide.terms().unwrap().as_slice(), ["sea", "ship"]);
    let texts = Texts::open(golden("kinds.xlsx")).unwrap();
    let counted = Vectorizer::new().fit_transform(texts).unwrap();
    assert_eq!(counted.counts().documents(), 4);
    let texts = Texts::open(&path)
        .unwrap()
        .format(stated(3))
        .unwrap()
        .column("place");
    assert_eq!(texts.beginnings(9).unwrap(), ["Bath", ""]);
}

#[test]
fn what_a_format_does_not_have_is_refused() {
    let refused = |path: PathBuf, stated: TextFormat, part: &str| {
        let table = Table::open_with(&path, stated).unwrap_err().to_string();
        let counts = CountTable::open(&path)
            .unwrap()
            .format(stated)
            .counts()
            .unwrap_err()
            .to_string();
        let texts = Texts::open(&path)
            .unwrap()
            .format(stated)
            .unwrap_err()
            .to_string();
        for error in [table, counts, texts] {
            assert!(error.contains(part) && error.contains("to do: "), "{error}");
        }
    };
    let (_folder, csv) = file("a.csv", b"text,n\nsea,1\n");
    refused(
        csv,
        TextFormat::new().sheet(1),
        "is a text, which has no sheets",
    );
    let kinds = || golden("kinds.xlsx");
    refused(
        kinds(),
        TextFormat::new().encoding("gbk").unwrap(),
        "is a spreadsheet",
    );
    refused(
        kinds(),
        TextFormat::new().separator(';').unwrap(),
        "no encoding, separator or decimal mark",
    );
    refused(
        kinds(),
        TextFormat::new().decimal(',').unwrap(),
        "state the sheet alone",
    );
    let (_folder, lines) = file("a.txt", b"sea\n");
    let error = Texts::open(lines)
        .unwrap()
        .format(TextFormat::new().sheet(1))
        .unwrap_err();
    assert!(error.to_string().contains("no table"), "{error}");
}

#[test]
fn cells_of_other_writers_are_read() {
    // Rows and cells without places, texts in the cells, days as ISO 8601 writes them, a place that comes twice.
    let rows = "<row><c t=\"inlineStr\"><is><t>day</t></is></c><c t=\"inlineStr\"><is><r><t>te</t></r><r><t>a</t></r></is></c></row>\
                <row><c t=\"d\"><v>1811-04-25</v></c><c><v>2</v></c></row>\
                <row/><row><c t=\"d\"><v>1811-04-26T08:30:00Z</v></c><c r=\"B4\"><v>3</v></c><c r=\"B4\"><v>4</v></c></row>";
    let (_folder, path) = file("a.xlsx", &spreadsheet(rows, "<sst/>"));
    let table = Table::open(&path).unwrap();
    let text = |text: &str| Some(text.to_string());
    assert_eq!(
        texts(&table, "day"),
        [
            text("1811-04-25 00:00:00.000"),
            None,
            text("1811-04-26 08:30:00.000")
        ]
    );
    assert_eq!(texts(&table, "tea"), [text("2"), None, text("4")]);
    // A stray cell far away takes a column, and not a whole sheet.
    let rows = format!(
        "<row>{}{}</row>",
        cell("A1", "1811"),
        cell("XFD1048576", "7")
    );
    let (_folder, path) = file("far.xlsx", &spreadsheet(&rows, "<sst/>"));
    assert_eq!(Table::open(&path).unwrap().shape(), (1_048_575, 2));
    let twice = format!("<row>{}{}</row>", cell("A1", "5"), cell("C1", "5"));
    let (_folder, path) = file("twice.xlsx", &spreadsheet(&twice, "<sst/>"));
    let error = Table::open(&path).unwrap_err().to_string();
    assert!(error.contains("has two columns named \"5\""), "{error}");
}

#[test]
fn files_that_state_more_than_they_hold_are_refused() {
    let one = spreadsheet("<row><c><v>1</v></c></row>", "<sst/>");
    let wide = "<c><v>1</v></c>".repeat(16_384);
    let wide = format!("<row>{wide}</row><row>{}</row>", cell("XFD1048576", "7"));
    let mut longer = one.clone();
    let at = longer
        .windows(4)
        .rposition(|bytes| bytes == b"PK\x01\x02")
        .unwrap();
    // The size of the last entry, unpacked, in the directory.
    longer[at + 24] -= 9;
    let mut compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    compound.resize(600, 0);
    let encrypted: Vec<u8> = "EncryptedPackage"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let encrypted = [&compound[..], &encrypted].concat();
    let texts = "<sst uniqueCount=\"10000000000000\"><si><t>a</t></si></sst>";
    let prefixed = "<x:sst count='1' uniqueCount = '+99999999'/>";
    let cases: [(&str, Vec<u8>, &[&str]); 9] = [
        (
            "texts.xlsx",
            spreadsheet("", texts),
            &[
                "10,000,000,000,000 texts",
                "sharedStrings.xml",
                "copy it again",
            ],
        ),
        (
            "prefixed.xlsx",
            spreadsheet("", prefixed),
            &["99,999,999 texts"],
        ),
        (
            "wide.xlsx",
            spreadsheet(&wide, "<sst/>"),
            &["1,048,575 rows × 16,384 columns", "of memory"],
        ),
        (
            "longer.xlsx",
            longer,
            &["larger than its declared", "xl/sheet.xml"],
        ),
        (
            "cut.xlsx",
            one[..one.len() - 30].to_vec(),
            &["cannot be read as a spreadsheet", "save it as .xlsx"],
        ),
        (
            "a.xlsm",
            b"doc,term\n1,2\n".to_vec(),
            &["cannot be read as a spreadsheet"],
        ),
        ("old.xlsx", compound, &["is an old workbook (.xls)"]),
        (
            "secret.xlsx",
            encrypted,
            &["is protected by a password", "Encrypt with Password"],
        ),
        (
            "empty.xlsx",
            spreadsheet("<row/>", "<sst/>"),
            &["has no values in its 1 sheet"],
        ),
    ];
    for (name, bytes, parts) in cases {
        let (_folder, path) = file(name, &bytes);
        let error = Table::open(&path).unwrap_err();
        assert!(error.remedy().is_some(), "{error}");
        let text = error.to_string();
        for part in [name].iter().chain(parts) {
            assert!(text.contains(part), "{name}: {part}: {text}");
        }
    }
}
