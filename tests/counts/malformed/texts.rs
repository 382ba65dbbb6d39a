//! Malformed MatrixMarket files, bags of words and tables of names.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use topicbook::ErrorKind::{self, Format, Value};
use topicbook::{Cells, Counts};

use super::check;

const HEAD: &str = "%%MatrixMarket matrix coordinate integer general\n";

type Case = (
    &'static str,
    &'static str,
    String,
    ErrorKind,
    &'static [&'static str],
);

#[rustfmt::skip] // one case a line
fn cases() -> Vec<Case> {
    let mtx = |body: &str| format!("{HEAD}{body}");
    vec![
        ("empty", "a.mtx", String::new(), Format, &["does not start like a MatrixMarket file", "line 1"]),
        ("other banner", "a.mtx", "1,2,3\n".into(), Format, &["does not start like", "1,2,3", "mmwrite"]),
        ("array", "a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n".into(), Format, &["dense array", "np.save"]),
        ("complex", "a.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n".into(), Format, &["complex", "integer, real or pattern"]),
        ("symmetric", "a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n".into(), Format, &["is symmetric"]),
        ("no sizes", "a.mtx", mtx("% only comments\n"), Format, &["should state the numbers of rows, columns and entries", "the file ends"]),
        ("two sizes", "a.mtx", mtx("2 3\n1 1 1\n"), Format, &["rows, columns and entries", "line 2", "2 3"]),
        ("negative size", "a.mtx", mtx("-2 3 1\n1 1 1\n"), Format, &["rows, columns and entries", "-2 3 1"]),
        ("absurd rows", "a.mtx", mtx("99999999999 3 1\n1 1 1\n"), Format, &["out of range", "line 2"]),
        ("absurd entries", "a.mtx", mtx("2 3 99999999999\n1 1 1\n"), Format, &["99,999,999,999 counts", "a file of"]),
        ("sizes beyond 64 bits", "a.mtx", mtx("2 3 99999999999999999999\n1 1 1\n"), Format, &["rows, columns and entries"]),
        ("row 0", "a.mtx", mtx("2 3 1\n0 1 1\n"), Format, &["document 0", "start at 1", "line 3"]),
        ("column 0", "a.mtx", mtx("2 3 1\n1 0 1\n"), Format, &["term 0", "start at 1", "line 3"]),
        ("row beyond the sizes", "a.mtx", mtx("2 3 1\n3 1 1\n"), Format, &["document 3 of 2", "line 3"]),
        ("column beyond the sizes", "a.mtx", mtx("2 3 1\n1 4 1\n"), Format, &["term 4 of 3", "line 3"]),
        ("too few lines", "a.mtx", mtx("2 3 2\n1 1 1\n"), Format, &["1 of the 2 entries", "line 4"]),
        ("too many lines", "a.mtx", mtx("2 3 1\n1 1 1\n1 2 1\n"), Format, &["more than the 1 entries", "line 4"]),
        ("line of two numbers", "a.mtx", mtx("2 3 1\n1 1\n"), Format, &["3 numbers", "line 3"]),
        ("line of four numbers", "a.mtx", mtx("2 3 1\n1 1 1 1\n"), Format, &["3 numbers", "line 3"]),
        ("pattern with values", "a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 1 1\n".into(), Format, &["2 numbers", "line 3"]),
        ("text for a count", "a.mtx", mtx("2 3 1\n1 1 many\n"), Format, &["3 numbers", "many"]),
        ("fraction", "a.mtx", mtx("2 3 1\n2 3 1.5\n"), Value, &["1.5", "row 1, column 2", "line 3"]),
        ("negative", "a.mtx", mtx("2 3 1\n2 3 -1\n"), Value, &["-1 is negative", "row 1, column 2", "line 3"]),
        ("NaN", "a.mtx", mtx("2 3 1\n2 3 NaN\n"), Value, &["NaN", "line 3"]),
        ("count beyond f32", "a.mtx", mtx("2 3 1\n2 3 16777217\n"), Value, &["16777217", "line 3"]),
        ("twice in order", "a.mtx", mtx("2 3 2\n1 2 1\n1 2 1\n"), Format, &["two values", "row 0, column 1"]),
        ("twice out of order", "a.mtx", mtx("2 3 3\n1 2 1\n2 1 1\n1 2 1\n"), Format, &["come twice", "entry 1 and entry 3"]),
        ("line without an end", "a.mtx", mtx(&format!("2 3 1\n{}", "1".repeat(2 << 20))), Format, &["line of more than", "line 3"]),
        ("UCI without entries", "a.txt", "2\n3\n".into(), Format, &["number of entries", "the file ends"]),
        ("UCI that is a text", "a.txt", "In the beginning was\nthe word\n".into(), Format, &["number of documents", "In the beginning", "docword"]),
        ("UCI from 0", "a.txt", "2\n3\n1\n0 0 1\n".into(), Format, &["document 0", "line 4"]),
        ("UCI cut", "a.txt", "2\n3\n2\n1 1 1\n".into(), Format, &["1 of the 2 entries"]),
    ]
}

#[test]
fn malformed_texts_get_one_message_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (name, file, text, kind, fragments) in cases() {
        let path = folder.path().join(file);
        std::fs::write(&path, text).unwrap();
        let error = match Counts::open(&path).and_then(|counts| counts.summary()) {
            Ok(summary) => Err(format!("it was read: {summary:?}")),
            Err(error) => Ok(error),
        };
        if let Err(what) = check(name, error, kind, fragments) {
            wrong.push(what);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn gzipped(parts: &[&[u8]], times: usize) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(parts[0]).unwrap();
    for _ in 0..times {
        out.write_all(parts[1]).unwrap();
    }
    out.finish().unwrap()
}

/// Small files that unpack to much: without line ends, to comments, to entries that were not stated.
#[test]
fn gzip_bombs_are_read_in_bounded_memory() {
    let (_folder, path) = testkit::temp_path("a.mtx.gz");
    let zeros = vec![b'0'; 1 << 20];
    let comments = b"% comment\n".repeat(100_000);
    let entries = b"1 1 1\n".repeat(100_000);
    let stated = format!("{HEAD}2 3 1\n");
    let absurd = format!("{HEAD}2 3 9999999999\n");
    for (bytes, fragment) in [
        (gzipped(&[HEAD.as_bytes(), &zeros], 64), "line of more than"),
        (gzipped(&[HEAD.as_bytes(), &comments], 64), "the file ends"),
        (
            gzipped(&[stated.as_bytes(), &entries], 64),
            "more than the 1 entries",
        ),
        (
            gzipped(&[absurd.as_bytes(), &entries], 2),
            "9,999,999,999 counts",
        ),
    ] {
        std::fs::write(&path, bytes).unwrap();
        testkit::refused! { Counts::open(&path), fragment; }
    }
}

#[test]
fn tables_of_names_that_do_not_fit_the_matrix_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
    file("matrix.mtx", format!("{HEAD}3 2 1\n1 1 1\n").as_bytes());
    let cells = Cells::open(folder.path()).unwrap();
    let error = cells.terms().unwrap_err().to_string();
    assert!(error.contains("features.tsv or genes.tsv"), "{error}");
    for (text, fragment) in [
        (&b"a\n"[..], "1 line where the matrix next to it has 2"),
        (b"a\nb\nc\n", "more lines"),
        (b"a\n\xff\n", "UTF-8"),
    ] {
        file("barcodes.tsv", text);
        let error = cells.names().unwrap_err().to_string();
        assert!(error.contains(fragment), "{fragment}: {error}");
    }
}
