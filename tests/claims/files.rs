//! Files that state more than they hold, or that hold what takes the most memory for its bytes.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use topicbook::{Counts, Documents, TopicModel, Vectorizer};
use zip::CompressionMethod;

use crate::pickles::{archive, directory};

/// A file: what it is, its bytes, and the documents, rows or values that it states beyond them.
pub type File = (&'static str, Vec<u8>, usize);

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()
}

fn array(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy(
        &format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n"),
        data,
    )
}

pub fn arrays() -> Vec<File> {
    let nested = format!(
        "{{'descr': [{}], 'fortran_order': False, 'shape': ()}}\n",
        "('a', '<f4'),".repeat(700)
    );
    vec![
        (
            "many dimensions",
            array("<f4", &format!("({})", "1,".repeat(4_900)), &[]),
            0,
        ),
        ("many fields", npy(&nested, &[]), 0),
    ]
}

/// Zeros that are deflated, and a directory of many entries.
pub fn archives() -> Vec<File> {
    const STORED: usize = 3_000_000;
    let zeros = array("|u1", &format!("({STORED},)"), &vec![0; STORED]);
    let shape: Vec<u8> = [1i64; 2]
        .iter()
        .flat_map(|size| size.to_le_bytes())
        .collect();
    let entries = [
        ("format.npy", array("|S3", "()", b"coo")),
        ("shape.npy", array("<i8", "(2,)", &shape)),
        ("data.npy", zeros.clone()),
        ("row.npy", zeros.clone()),
        ("col.npy", zeros),
    ];
    vec![
        (
            "deflated zeros",
            archive(CompressionMethod::Deflated, &entries),
            STORED,
        ),
        ("many entries", directory(20_000, 0), 0),
        ("many extra fields", directory(16, 16_383), 0),
    ]
}

/// Counts that are all 1, and documents without counts: heads alone.
pub fn packed() -> Vec<File> {
    let file = |counts: Counts| {
        let (_folder, path) = testkit::temp_path("X.tbc");
        counts.write_packed(&path).unwrap();
        std::fs::read(path).unwrap()
    };
    let (documents, terms) = (1 << 20, 1 << 20);
    let ones = Counts::dense(1, terms, vec![1u8; terms]).unwrap();
    let empty = Counts::csr(documents, 1, vec![0; documents + 1], vec![], vec![]).unwrap();
    vec![
        ("counts of 1", file(ones), terms),
        ("no counts", file(empty), documents),
    ]
}

/// Headers of safetensors: of counts, of fits, and of checkpoints.
pub fn tensors() -> Vec<File> {
    let file = |header: String| [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    let listed = |before: &str, item: &dyn Fn(usize) -> String, number: usize, after: &str| {
        let items: Vec<String> = (0..number).map(item).collect();
        file(format!("{before}{}{after}", items.join(",")))
    };
    let empty = |name: usize| {
        format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}")
    };
    let shape = |item: &'static str, number| {
        let (before, after) = (
            "{\"X\":{\"dtype\":\"U8\",\"shape\":[",
            "],\"data_offsets\":[0,0]}}",
        );
        listed(before, &move |_| item.into(), number, after)
    };
    let text = |at: usize| format!("\"{at}\":\"\"");
    vec![
        ("small tensors", listed("{", &empty, 20_000, "}"), 0),
        ("many dimensions", shape("0", 530_000), 0),
        ("lists as dimensions", shape("[0]", 265_000), 0),
        ("objects as dimensions", shape("{\"\":0}", 133_000), 0),
        (
            "texts",
            listed("{\"__metadata__\":{", &text, 100_000, "}}"),
            0,
        ),
    ]
}

/// A fit whose documents have this many names.
pub fn fits() -> Vec<File> {
    let (_folder, path) = testkit::temp_path("fit.safetensors");
    let documents = 30_000;
    let counts = Counts::dense(documents, 2, vec![1u8; 2 * documents]).unwrap();
    let fit = TopicModel::new(2).epochs(1).quiet().fit(&counts).unwrap();
    let names = Documents::new((0..documents).map(|document| document.to_string())).unwrap();
    fit.with_documents(names).unwrap().save(&path).unwrap();
    [tensors(), vec![("names", std::fs::read(&path).unwrap(), 0)]].concat()
}

/// Names of cells that are all the same long one.
pub fn cells() -> Vec<File> {
    const CELLS: usize = 2_000;
    const LONG: usize = 200_000;
    let (_folder, path) = testkit::temp_path("cells.h5ad");
    let names = (0..CELLS).map(|cell| match cell {
        0 => "x".repeat(LONG),
        cell => cell.to_string(),
    });
    let counts = Counts::dense(CELLS, 1, vec![1u8; CELLS]).unwrap();
    let names = Documents::new(names).unwrap();
    counts.write_h5ad(&path, None, Some(&names)).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // A reference to a text has 16 bytes, and begins with its length.
    let first = (LONG as u32).to_le_bytes();
    let first = bytes.windows(4).position(|bytes| bytes == first).unwrap();
    for cell in 1..CELLS {
        bytes.copy_within(first..first + 16, first + 16 * cell);
    }
    vec![("a shared name", bytes, 0)]
}

const MTX: &str = "%%MatrixMarket matrix coordinate pattern general\n";

fn file(what: &'static str, bytes: impl Into<Vec<u8>>, stated: usize) -> File {
    (what, bytes.into(), stated)
}

/// Lines of rows of a matrix that end in `rest`, the last row first.
fn rows(rest: &str) -> String {
    let rows = (1..=100_000).rev();
    rows.map(|row| format!("{row}{rest}\n")).collect()
}

#[rustfmt::skip] // one file a line
pub fn matrices() -> Vec<File> {
    vec![
        file("entries in no order", format!("{MTX}100000 1 100000\n{}", rows(" 1")), 100_000),
        file("many documents", format!("{MTX}3000000 5 1\n1 1\n"), 3_000_000),
        file("many entries", format!("{MTX}5 5 3000000000\n1 1\n"), 0),
    ]
}

pub fn gzipped_matrices() -> Vec<File> {
    let entries = format!("{MTX}1 1 3000000\n{}", "1 1\n".repeat(3_000_000));
    vec![file("an entry many times", gzipped(&entries), 3_000_000)]
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

pub fn gzipped_triplets() -> Vec<File> {
    let text = format!("doc,term,count\n{}", "0,0,1\n".repeat(1_000_000));
    vec![file("a row many times", gzipped(&text), 1_000_000)]
}

/// A file of 200 KB that has 200 MB of text.
pub fn gzipped_lines() -> Vec<File> {
    vec![file("blank lines", gzipped(&"\n".repeat(200_000_000)), 0)]
}

#[rustfmt::skip] // one file a line
pub fn bags_of_words() -> Vec<File> {
    vec![
        file("entries in no order", format!("100000\n1\n100000\n{}", rows(" 1 1")), 100_000),
        file("many documents", "3000000\n5\n1\n1 1 1\n", 3_000_000),
    ]
}

#[rustfmt::skip] // one file a line
pub fn triplets() -> Vec<File> {
    vec![
        file("rows in no order", format!("doc,term,count\n{}", rows(",0,1")), 100_000),
        file("empty rows", format!("doc,term,count\n{}", "\n".repeat(1_000_000)), 0),
        file("many columns", format!("doc,term,count{}\n", ",".repeat(5_000)), 0),
        file("one document", "doc,term,count\n3000000,0,1\n", 3_000_000),
    ]
}

#[rustfmt::skip] // one file a line
pub fn tables() -> Vec<File> {
    vec![
        file("texts", format!("a\n{}", "b\n".repeat(530_000)), 0),
        file("numbers", format!("a\n{}", "1\n".repeat(530_000)), 0),
        file("missing values", format!("a,b\n{}", ",\n".repeat(530_000)), 0),
        file("many columns", format!("{}\n", "a,".repeat(5_000)), 0),
    ]
}

/// Spreadsheets of tags that take much, deflated; what is stated is a cell, a text or a style.
pub fn spreadsheets() -> Vec<File> {
    const ALL: usize = 100_000;
    let book = |sheet: &str, texts: &str, styles: &str| {
        let relation = |kind: &str, target: &str| {
            format!(
                "<Relationships><Relationship Id=\"a\" Type=\"x/relationships/{kind}\" Target=\"{target}\"/></Relationships>"
            )
        };
        let entries = [
            ("_rels/.rels", relation("officeDocument", "xl/workbook.xml")),
            (
                "xl/_rels/workbook.xml.rels",
                relation("worksheet", "sheet.xml"),
            ),
            (
                "xl/workbook.xml",
                "<workbook><sheet name=\"S\" id=\"a\"/></workbook>".into(),
            ),
            (
                "xl/sharedStrings.xml",
                format!("<sst uniqueCount=\"{ALL}\">{texts}</sst>"),
            ),
            (
                "xl/styles.xml",
                format!("<styleSheet>{styles}</styleSheet>"),
            ),
            (
                "xl/sheet.xml",
                format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>"),
            ),
        ];
        let entries = entries.map(|(name, text): (&str, String)| (name, text.into_bytes()));
        archive(CompressionMethod::Deflated, &entries)
    };
    let row = |cell: &str| format!("<row>{cell}</row>").repeat(ALL);
    let texts = "<si/>".repeat(ALL);
    let font = format!(
        "<fonts><font><name val=\"{}\"/></font></fonts>",
        "x".repeat(1 << 20)
    );
    let styles = format!(
        "{font}<cellXfs>{}</cellXfs>",
        "<xf fontId=\"0\"/>".repeat(ALL)
    );
    vec![
        ("numbers", book(&row("<c><v>1</v></c>"), &texts, ""), ALL),
        (
            "texts",
            book(&row("<c t=\"str\"><v>sea</v></c>"), &texts, ""),
            ALL,
        ),
        ("no cells", book(&row(""), &texts, ""), ALL),
        (
            "fonts in styles",
            book(&row("<c><v>1</v></c>"), &texts, &styles),
            0,
        ),
    ]
}

pub fn lines_of_json() -> Vec<File> {
    let line = |item: &str, number| {
        let items = vec![item; number].join(",");
        format!("{{\"text\":\"a\",\"b\":[{items}]}}\n")
    };
    vec![
        file("numbers", line("0", 530_000), 0),
        file("lists", line("[0]", 265_000), 0),
        file("objects", line("{\"\":0}", 133_000), 0),
        file("small lines", "{\"text\":\"a\"}\n".repeat(80_000), 0),
    ]
}

pub fn tables_of_json() -> Vec<File> {
    let fields = |names: std::ops::Range<usize>| -> String {
        let fields: Vec<String> = names.map(|name| format!("\"{name}\":1")).collect();
        format!("{{{}}}\n", fields.join(","))
    };
    let others: String = (0..200).map(|row| fields(row * 9..row * 9 + 9)).collect();
    let mut files = lines_of_json();
    files.push(file(
        "few of many fields",
        fields(0..2_000) + &"{\"7\":1}\n".repeat(60),
        0,
    ));
    files.push(file("other fields in each line", others, 0));
    files.push(file("short numbers", "{\"a\":1}\n".repeat(150_000), 0));
    files
}

pub fn vectorizers() -> Vec<File> {
    let (_folder, path) = testkit::temp_path("words.json");
    let counted = Vectorizer::new().fit_transform(["sea"]).unwrap();
    counted.vectorizer().save(&path).unwrap();
    let terms: Vec<String> = (0..270_000).map(|term| format!("\"{term}\"")).collect();
    let text = std::fs::read_to_string(&path).unwrap();
    vec![file("terms", text.replace("\"sea\"", &terms.join(",")), 0)]
}

pub fn terms() -> Vec<File> {
    vec![file("short terms", "a\n".repeat(530_000), 0)]
}
