//! Sizes that a file states and does not hold: each ends in an error that names them, in a process of little memory too.

use std::fs::{self, File};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use polars::prelude::{Column, IpcCompression, NamedFrom, Series};
use serde_json::{Value, json};
use testkit::{Cgroup, one_test, passed};
use topicbook::ErrorKind::{self, Format, Io, Space};
use topicbook::{Checkpoint, Counts, Error, Fit, Reading, Table, Terms, TopicModel};
use zip::CompressionMethod::{Deflated, Stored};

use super::build::*;
use super::check;

const FOLDER: &str = "TOPICBOOK_TEST_FOLDER";
const LIMIT: u64 = 512 << 20;

/// A name, the file's name, what makes its bytes, the kind of the error within [`LIMIT`], and parts of its message.
type Bomb = (
    &'static str,
    &'static str,
    fn() -> Vec<u8>,
    ErrorKind,
    &'static [&'static str],
);

/// A matrix with one count, as SciPy saves it: arrays of positions, and the shape.
fn one_count(format: &[u8], arrays: &[(&'static str, &[i32])], shape: [i64; 2]) -> Vec<u8> {
    let mut entries = vec![
        ("format", npy("'|S3'", "()", format)),
        ("shape", npy("'<i8'", "(2,)", &i64s(&shape))),
        ("data", npy("'<f4'", "(1,)", &f32s(&[1.0]))),
    ];
    for (name, values) in arrays {
        let shape = format!("({},)", values.len());
        entries.push((name, npy("'<i4'", &shape, &i32s(values))));
    }
    archive_as(Deflated, &entries)
}

fn coo(shape: [i64; 2]) -> Vec<u8> {
    one_count(b"coo", &[("row", &[1]), ("col", &[3])], shape)
}

/// A million zeros for each of `millions`, as an array of bytes.
fn zeros(millions: usize) -> Vec<u8> {
    let length = millions * 1_000_000;
    npy("'|u1'", &format!("({length},)"), &vec![0; length])
}

/// A stored archive whose directory states almost 4 GiB for the entry `data`.
fn too_long_entry() -> Vec<u8> {
    let mut bytes = stored_npz(&[0, 2, 3]);
    let name = b"data.npy";
    let header = (0..bytes.len())
        .find(|&at| bytes[at..].starts_with(b"PK\x01\x02") && bytes[at + 46..].starts_with(name))
        .unwrap();
    // Compressed and uncompressed size.
    bytes[header + 20..header + 28].fill(0xf0);
    bytes
}

/// The matrix of [`npz_with`] in an archive without compression.
fn stored_npz(indptr: &[i32]) -> Vec<u8> {
    let entries = [
        ("indices", npy("'<i4'", "(3,)", &i32s(&[0, 2, 1]))),
        ("indptr", npy("'<i4'", "(3,)", &i32s(indptr))),
        ("format", npy("'|S3'", "()", b"csr")),
        ("shape", npy("'<i8'", "(2,)", &i64s(&[2, 3]))),
        ("data", npy("'<f4'", "(3,)", &f32s(&[1.0, 2.0, 12345.0]))),
    ];
    archive_as(Stored, &entries)
}

fn triplet(doc: i64, term: i64) -> Vec<u8> {
    parquet(vec![
        Column::new("doc".into(), [doc]),
        Column::new("term".into(), [term]),
        Column::new("count".into(), [1i64]),
    ])
}

/// One row per document, the second without terms.
fn good_lists() -> Vec<u8> {
    let lists = [vec![0i64, 2], vec![], vec![1]].map(|list| Series::new("".into(), list));
    parquet(vec![
        Column::new("term".into(), lists.clone()),
        Column::new("count".into(), lists),
    ])
}

/// A table with a column of each kind, and nulls.
fn good_table() -> Vec<u8> {
    let lists = [vec![1i64, 2], vec![], vec![3]].map(|list| Series::new("".into(), list));
    parquet(vec![
        Column::new("title".into(), [Some("Nets"), None, Some("Spikes")]),
        Column::new("year".into(), [Some(1987i32), Some(1998), None]),
        Column::new("words".into(), [310.0f64, 204.0, 120.0]),
        Column::new("read".into(), [Some(true), None, Some(false)]),
        Column::new("pages".into(), lists),
    ])
}

/// A compressed column whose first buffer states 2^40 bytes.
fn inflated_arrow() -> Vec<u8> {
    let zeros = vec![0i64; 2];
    let names = ["doc", "term", "count"];
    let columns = names.map(|name| Column::new(name.into(), &zeros));
    let mut bytes = arrow(columns.into(), Some(IpcCompression::default()));
    let stated = [&16u64.to_le_bytes()[..], &[0x28, 0xb5, 0x2f, 0xfd]].concat();
    let at = bytes.windows(12).position(|bytes| bytes == stated).unwrap();
    bytes[at..at + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    bytes
}

/// A table of 5 million rows and 20 columns of zeros, in a small file.
fn table_of_zeros() -> Vec<u8> {
    let zeros = Column::new("".into(), vec![0i64; 5_000_000]);
    let named = |number: i32| zeros.clone().with_name(format!("c{number}").into());
    parquet((0..20).map(named).collect())
}

/// A quoted line break, and quotes that are not closed before three million of them.
fn open_quotes() -> Vec<u8> {
    let start = b"doc,term,count,title\n0,0,1,\"a\nb\"\n1,0,1,\"";
    [&start[..], &b"\n".repeat(3 << 20)].concat()
}

/// Deflated arrays of zeros in the format COO.
fn deflated_zeros(shape: Vec<u8>, millions: usize) -> Vec<u8> {
    let mut entries = vec![("format", npy("'|S3'", "()", b"coo")), ("shape", shape)];
    if millions > 0 {
        entries.extend(["data", "row", "col"].map(|name| (name, zeros(millions))));
    }
    archive_as(Deflated, &entries)
}

#[rustfmt::skip] // one case a line
fn bombs() -> Vec<Bomb> {
    vec![
        ("term id", "a.csv", || b"doc,term,count\n0,1000000000,1\n".to_vec(), Space, &["1 document × 1,000,000,001 terms for 1 stored count", "are free"]),
        ("smaller term id", "b.csv", || b"doc,term,count\n0,200000000,1\n".to_vec(), Space, &["200,000,001 terms", "are free"]),
        ("document id", "c.csv", || b"doc,term,count\n0,1,1\n100000000,1,1\n".to_vec(), Space, &["100,000,001 documents for 2 data rows", "data row 2", "are free"]),
        ("quotes that are not closed", "d.csv", open_quotes, Format, &["in quotes", "line 4, at byte"]),
        ("zeros for a table", "e.csv", || vec![0; 2 << 20], Format, &["no header"]),
        ("column twice", "f.csv", || b"doc,term,count,count\n0,0,1,1\n".to_vec(), Format, &["two columns named \"count\"", "columns 3 and 4"]),
        ("wide CSR", "a.npz", || one_count(b"csr", &[("indices", &[3]), ("indptr", &[0, 0, 0, 1, 1, 1, 1])], [6, 4294967295]), Space, &["6 documents × 4,294,967,295 terms for 1 stored count"]),
        ("wide COO", "b.npz", || coo([6, 2147483647]), Space, &["2,147,483,647 terms for 1 stored count"]),
        ("tall CSC", "c.npz", || one_count(b"csc", &[("indices", &[3]), ("indptr", &[0, 0, 0, 1, 1, 1])], [4294967295, 5]), Space, &["4,294,967,295 documents × 5 terms for 1 stored count"]),
        ("tall COO", "d.npz", || coo([4294967295, 5]), Space, &["4,294,967,295 documents × 5 terms for 1 stored count"]),
        ("deflated zeros", "e.npz", || deflated_zeros(npy("'<i8'", "(2,)", &i64s(&[1, 1])), 64), Space, &["64,000,000 stored counts for a file of", "are free"]),
        ("deflated shape", "f.npz", || deflated_zeros(zeros(100), 0), Format, &["shape has 100000000 numbers"]),
        ("wide packed counts", "a.tbc", || packed(|bytes| bytes[62..66].fill(0xff)), Space, &["2 documents × 4,294,967,295 terms for 3 stored counts"]),
        ("entry longer than the file", "g.npz", too_long_entry, Format, &["directory states 3.8 GiB", "for a file of", "entry data.npy"]),
        ("term id in Parquet", "a.parquet", || triplet(0, 1 << 30), Space, &["1,073,741,825 terms for 1 stored count"]),
        ("buffer of Arrow", "b.arrow", inflated_arrow, Space, &["a record batch of 1 TiB", "are free"]),
        ("document id in Parquet", "b.parquet", || triplet(1 << 30, 0), Space, &["1,073,741,825 documents for 1 data row", "data row 1"]),
    ]
}

/// Opens a file, checks all counts and fits them: the error of the first that fails.
fn error_of(path: &Path) -> Result<Error, String> {
    let counts = match Counts::open(path) {
        Err(error) => return Ok(error),
        Ok(counts) => counts,
    };
    let fit = TopicModel::new(2).epochs(1).quiet().fit(&counts).err();
    match (counts.summary(), fit) {
        (Err(error), Some(_)) => Ok(error),
        (summary, fit) => Err(format!("it was read: {summary:?}, {fit:?}")),
    }
}

/// Runs a test of this file in a cgroup of its own; prints that it is skipped where there can be none.
fn run_within_limit(test: &str, folder: &Path) {
    let Some(group) = Cgroup::or_skip(LIMIT) else {
        return;
    };
    let name = format!("malformed::claims::{test}");
    passed(group.run(one_test(&name).env(FOLDER, folder)));
}

#[test]
#[ignore = "started by another test, in a process of its own"]
fn refuse_within_limit() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let mut wrong = Vec::new();
    for (name, file, _, kind, fragments) in bombs() {
        println!("{name}");
        let error = error_of(&folder.join(file));
        if let Ok(error) = &error {
            println!("{error}");
            assert!(error.to_string().contains(file), "{error}");
        }
        wrong.extend(check(name, error, kind, fragments).err());
    }
    println!("sparse file");
    let error = error_of(&folder.join("sparse.npy"));
    let fragments = ["4 documents × 300,000,000 terms for 1.1 GiB of counts"];
    wrong.extend(check("sparse file", error, Space, &fragments).err());
    for (file, kind, fragments) in [
        (
            "table.parquet",
            Space,
            ["5,000,000 rows × 20 columns for", "are free"],
        ),
        (
            "table.csv",
            Space,
            ["60,000,020 values for a file of", "are free"],
        ),
        ("zeros.csv", Format, ["no header", "line 1"]),
    ] {
        println!("{file}");
        let error = Table::open(folder.join(file)).err();
        let error = error.ok_or_else(|| "it was read".into());
        wrong.extend(check(file, error, kind, &fragments).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // Shapes that are as extreme, and fit.
    for (file, shape) in [
        ("wide.npz", (6, 20_000_000)),
        ("tall.npz", (10_000_000, 5)),
        ("tall.csv", (10_000_001, 2)),
    ] {
        let counts = Counts::open(folder.join(file)).unwrap();
        assert_eq!(counts.shape(), shape, "{file}");
        let summary = counts.summary().unwrap();
        assert_eq!(summary.nonzeros(), 1, "{file}");
        assert_eq!(summary.empty_documents().len(), shape.0 - 1, "{file}");
        assert_eq!(summary.empty_terms().len(), shape.1 - 1, "{file}");
    }
}

#[test]
fn stated_sizes_that_memory_does_not_hold_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (_, file, bytes, ..) in bombs() {
        fs::write(at(file), bytes()).unwrap();
    }
    fs::write(at("wide.npz"), coo([6, 20_000_000])).unwrap();
    fs::write(at("tall.npz"), coo([10_000_000, 5])).unwrap();
    fs::write(at("tall.csv"), "doc,term,count\n10000000,1,1\n").unwrap();
    fs::write(at("table.parquet"), table_of_zeros()).unwrap();
    let names: Vec<String> = (0..20).map(|number| format!("c{number}")).collect();
    let (names, zeros) = (names.join(","), ["0"; 20].join(","));
    fs::write(
        at("table.csv"),
        format!("{names}\n{}", format!("{zeros}\n").repeat(3_000_000)),
    )
    .unwrap();
    File::create(at("zeros.csv"))
        .unwrap()
        .set_len(1 << 33)
        .unwrap();
    let header = npy("'|u1'", "(4, 300000000)", &[]);
    let mut sparse = File::create(at("sparse.npy")).unwrap();
    sparse.write_all(&header).unwrap();
    sparse.set_len(header.len() as u64 + 1_200_000_000).unwrap();
    run_within_limit("refuse_within_limit", folder.path());
}

#[test]
#[ignore = "started by another test, in a process of its own"]
fn flip_within_limit() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let golden = |name| fs::read(crate::rows::golden(&format!("arrow/{name}"))).unwrap();
    let is_summed = |path: &Path| Counts::open(path).is_ok_and(|counts| counts.summary().is_ok());
    let is_shown = |path: &Path| Table::open(path).is_ok_and(|table| !table.to_string().is_empty());
    for (name, good) in [
        ("counts.parquet", good_parquet()),
        ("lists.parquet", good_lists()),
        ("counts.arrow", good_arrow()),
    ] {
        flip_each_byte(&folder.join(name), &good, is_summed);
    }
    for (name, good) in [
        ("table.parquet", good_table()),
        ("kinds.arrow", golden("kinds.arrow")),
        ("kinds.feather", golden("kinds.feather")),
    ] {
        flip_each_byte(&folder.join(name), &good, is_shown);
    }
}

/// Reads the file as it is, and with bits of each byte flipped.
fn flip_each_byte(path: &Path, good: &[u8], is_read: fn(&Path) -> bool) {
    fs::write(path, good).unwrap();
    assert!(is_read(path), "{}", path.display());
    for index in 0..good.len() {
        for flip in [0x01, 0x10, 0x40, 0x80, 0xff] {
            let mut bytes = good.to_vec();
            bytes[index] ^= flip;
            let _ = fs::remove_file(path);
            fs::write(path, bytes).unwrap();
            // Printed, so that the last line names the flip that ended the process.
            let what = format!("{}, byte {index} ^ {flip}", path.display());
            println!("{what}");
            let read = catch_unwind(AssertUnwindSafe(|| is_read(path)));
            assert!(read.is_ok(), "{what}");
        }
    }
}

#[test]
fn damaged_tables_end_no_process() {
    let folder = tempfile::tempdir().unwrap();
    run_within_limit("flip_within_limit", folder.path());
}

#[test]
fn streams_verify_what_archives_state() {
    let (_folder, path) = testkit::temp_path("a.npz");
    let good = stored_npz(&[0, 2, 3]);
    let mut changed = good.clone();
    let value = 12345f32.to_le_bytes();
    let at = good.windows(4).position(|bytes| bytes == value).unwrap();
    changed[at..at + 4].copy_from_slice(&12346f32.to_le_bytes());
    // Without parts of a message, the file is read.
    let cases: [(&str, Vec<u8>, &[&str]); 4] = [
        ("intact", good, &[]),
        ("value", changed, &["Invalid checksum", "entry data.npy"]),
        (
            "indptr from 1",
            stored_npz(&[1, 2, 3]),
            &["starts with 1", "indptr[0]"],
        ),
        (
            "indptr to 2",
            stored_npz(&[0, 1, 2]),
            &["ends with 2", "indptr[2]"],
        ),
    ];
    let stream = Reading::Stream {
        block: 1,
        blocks: 2,
    };
    for (name, bytes, fragments) in cases {
        fs::write(&path, bytes).unwrap();
        for reading in [stream, Reading::InPlace] {
            let counts = Counts::open(&path).unwrap();
            let model = TopicModel::new(1).epochs(2).reading(reading).quiet();
            let error = model.fit(&counts).err().ok_or_else(|| "it was read".into());
            match fragments {
                [] => assert!(error.is_err(), "{name}: {error:?}"),
                _ => check(name, error, Format, fragments).unwrap(),
            }
        }
    }
}

/// Opens a file, and gives the error.
type Open = fn(&Path) -> Option<Error>;

/// All that opens a file to read, with a name of such a file.
const READERS: [(&str, Open); 5] = [
    ("a.npy", |path| Counts::open(path).err()),
    ("a.csv", |path| Table::open(path).err()),
    ("terms.txt", |path| Terms::open(path).err()),
    ("x.safetensors", |path| Fit::load(path).err()),
    ("x.ckpt", |path| Checkpoint::open(path).err()),
];

#[test]
fn a_fifo_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    for (name, open) in READERS {
        let path = folder.path().join(name);
        let made = Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: there is no mkfifo");
            return;
        }
        let error = open(&path).ok_or_else(|| "it was read".into());
        check(name, error, Io, &[&format!("{name} is a FIFO")]).unwrap();
    }
}

#[test]
fn a_file_that_is_read_whole_fits_into_memory() {
    let (_folder, path) = testkit::temp_path("terms.txt");
    let made = File::create(&path).unwrap().set_len(1 << 40);
    if let Err(error) = made {
        eprintln!("SKIPPED: no sparse file of 1 TiB: {error}");
        return;
    }
    let error = Terms::open(&path).err().ok_or_else(|| "it was read".into());
    check("terms", error, Space, &["terms.txt (1 TiB)", "are free"]).unwrap();
}

#[test]
fn the_tables_of_a_fit_fit_into_memory() {
    let (_folder, path) = testkit::temp_path("x.safetensors");
    let counts = Counts::dense(4, 3, vec![1u8; 12]).unwrap();
    let fit = TopicModel::new(2).epochs(1).quiet().fit(&counts).unwrap();
    fit.save(&path).unwrap();
    // The same header with more documents, and a sparse file of the length that it states.
    let file = fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let mut stated: Value = serde_json::from_slice(&file[8..header]).unwrap();
    let (rows, end) = (1u64 << 37, 1u64 << 40);
    stated["L"]["shape"] = json!([rows, 2]);
    stated["L"]["data_offsets"] = json!([0, end]);
    stated["F"]["data_offsets"] = json!([end, end + 24]);
    let mut stated = stated.to_string();
    stated.extend(std::iter::repeat_n(' ', 8 - stated.len() % 8));
    let start = [&(stated.len() as u64).to_le_bytes(), stated.as_bytes()].concat();
    fs::write(&path, &start).unwrap();
    let made = File::options().write(true).open(&path).unwrap();
    if let Err(error) = made.set_len(start.len() as u64 + end + 24) {
        eprintln!("SKIPPED: no sparse file of 1 TiB: {error}");
        return;
    }
    let error = Fit::load(&path).err().ok_or_else(|| "it was read".into());
    let fragments = [
        "x.safetensors, read into memory, would need 1 TiB",
        "are free",
    ];
    check("a fit", error, Space, &fragments).unwrap();
}
