//! Files of tables: opened again, not flushed, damaged, cut, read by Python.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use testkit::Random;

use super::super::RowTable;
use super::super::file::START;
use super::{PRECISIONS, ROW_WISE, numbers, same};
use crate::data::Matrix;
use crate::error::ErrorKind;

#[test]
fn a_reopened_table_goes_on_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    for (precision, optimizer) in PRECISIONS.into_iter().zip([ROW_WISE[2], ROW_WISE[3]]) {
        let path = folder.path().join(format!("{precision}.safetensors"));
        let builder = RowTable::builder(50, 5)
            .precision(precision)
            .optimizer(optimizer)
            .init_uniform(-0.1, 0.1);
        let (in_file, in_memory) = (builder.file(&path).create(), builder.create());
        let (mut in_file, in_memory) = (in_file.unwrap(), in_memory.unwrap());
        let mut random = Random::new(1);
        for round in 0..3 {
            for _ in 0..4 {
                let rows: Vec<usize> = (0..20).map(|_| random.below(50)).collect();
                let gradients = numbers(&mut random, 20, 5);
                in_file.update(&rows, &gradients, 0.01).unwrap();
                in_memory.update(&rows, &gradients, 0.01).unwrap();
            }
            same(&in_file, &in_memory);
            // A copy of a flushed file, and a dropped table, can be opened.
            if round == 1 {
                in_file.flush().unwrap();
                let copy = folder.path().join("copy");
                fs::copy(&path, &copy).unwrap();
                same(&RowTable::open(&copy).unwrap(), &in_memory);
            }
            drop(in_file);
            in_file = RowTable::open(&path).unwrap();
            same(&in_file, &in_memory);
            assert_eq!(in_file.optimizer(), optimizer);
            assert_eq!(in_file.precision(), precision);
        }
    }
}

#[test]
fn a_file_that_was_not_flushed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let table = RowTable::builder(50, 5).file(at("rows")).create().unwrap();
    testkit::refused! {
        RowTable::open(at("rows")), "is open as a row table already";
        RowTable::builder(50, 5).file(at("rows")).create(), "exists already";
    }
    let ones = Matrix::new(1, 5, vec![1.0; 5]).unwrap();
    table.update([3], &ones, 0.1).unwrap();
    table.flush().unwrap();
    table.update([3], &ones, 0.1).unwrap();
    // What a killed process leaves: the system keeps the pages, and nobody marks the file.
    fs::copy(at("rows"), at("killed")).unwrap();
    let error = RowTable::open(at("killed")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Format);
    assert!(error.to_string().contains("was not flushed"), "{error}");
    testkit::assert_has(error.remedy().unwrap(), ["open_unflushed"]);
    let killed = RowTable::open_unflushed(at("killed")).unwrap();
    assert_eq!(killed.gather([3]).unwrap(), table.gather([3]).unwrap());
    assert_eq!((killed.steps(), table.steps()), (1, 2));
    drop(killed);
    assert!(RowTable::open(at("killed")).is_ok());
}

/// Replaces a text in the header by one of the same length.
fn edit(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let text = String::from_utf8(fs::read(path).unwrap()[8..START].to_vec()).unwrap();
    assert!(text.contains(from), "{text}");
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(text.replace(from, to).as_bytes(), 8)
        .unwrap();
}

#[test]
fn damaged_and_foreign_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    drop(RowTable::builder(50, 5).file(&whole).create().unwrap());
    let cut = |path: &Path, length: u64| {
        OpenOptions::new()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(length)
            .unwrap();
    };
    type Damage<'a> = &'a dyn Fn(&Path);
    let foreign = |path: &Path| {
        let header = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        let header = format!("{header:<4088}");
        fs::write(
            path,
            [&4088u64.to_le_bytes()[..], header.as_bytes(), &[0; 4]].concat(),
        )
        .unwrap();
    };
    let cases: [(&str, Damage); 14] = [
        ("it was cut", &|path| cut(path, 6_000)),
        ("was cut or extended", &|path| cut(path, 1 << 20)),
        ("bytes of its header", &|path| cut(path, 100)),
        ("no file of a row table", &|path| cut(path, 3)),
        ("no file of a row table", &|path| {
            fs::write(path, "text").unwrap()
        }),
        ("but not of a row table", &foreign),
        ("version 7", &|path| {
            edit(path, r#"row_table":"1""#, r#"row_table":"7""#)
        }),
        ("names no optimizer", &|path| {
            edit(path, "RowwiseAdagrad", "RowwiseAdagrab")
        }),
        ("lacks the state of RowwiseAdam", &|path| {
            edit(
                path,
                r#"optimizer":"RowwiseAdagrad""#,
                r#"optimizer":"RowwiseAdam"   "#,
            );
        }),
        ("changes all rows", &|path| {
            edit(
                path,
                r#"optimizer":"RowwiseAdagrad""#,
                r#"optimizer":"AdamW"         "#,
            );
        }),
        ("states no number of steps", &|path| {
            edit(path, "00000000000000000000", "0000000000000000000x")
        }),
        ("does not say whether", &|path| {
            edit(path, "flushed", "flashed")
        }),
        ("values of I32", &|path| edit(path, r#""F32""#, r#""I32""#)),
        ("has a header that cannot be read", &|path| {
            edit(path, "50,5", "5O,5")
        }),
    ];
    for (number, (expected, damage)) in cases.into_iter().enumerate() {
        let path = folder.path().join(number.to_string());
        fs::copy(&whole, &path).unwrap();
        damage(&path);
        testkit::refused! { RowTable::open(&path), expected; }
        // A file that is refused stays as it is, without a lock.
        fs::copy(&whole, &path).unwrap();
        assert!(RowTable::open(&path).is_ok());
    }
}

#[test]
fn a_file_that_is_cut_meanwhile_is_an_error() {
    let (_folder, path) = testkit::temp_path("rows");
    let table = RowTable::builder(1_000, 16)
        .file(&path)
        .init_uniform(0.0, 1.0)
        .create()
        .unwrap();
    let ones = Matrix::new(1, 16, vec![1.0; 16]).unwrap();
    table.update([999], &ones, 0.1).unwrap();
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(8_192)
        .unwrap();
    testkit::refused! { table.gather([999]) => Io, "was lost"; }
    assert!(table.update([0], &ones, 0.1).is_err());
    assert!(table.flush().is_err());
    drop(table);
    assert!(RowTable::open(&path).is_err());
}

/// Python's safetensors and NumPy read the tables; without them the test says that it is skipped.
#[test]
fn python_reads_the_file() {
    let Some(python) = testkit::python() else {
        return;
    };
    let found = std::process::Command::new(&python)
        .args(["-c", "import safetensors"])
        .status();
    if !found.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: {} has no safetensors", python.display());
        return;
    }
    let (folder, path) = testkit::temp_path("rows.safetensors");
    let table = RowTable::builder(30, 4)
        .file(&path)
        .init_uniform(-1.0, 1.0)
        .create()
        .unwrap();
    table
        .update([7], Matrix::new(1, 4, vec![2.0; 4]).unwrap(), 0.5)
        .unwrap();
    table.flush().unwrap();
    let script = "
from safetensors import safe_open
with safe_open('rows.safetensors', 'np') as file:
    values, state = file.get_tensor('values'), file.get_tensor('state_0')
    print(file.metadata()['optimizer'], int(file.metadata()['steps']), file.metadata()['rows'])
    print(values.shape, values.dtype, state[7].tolist(), state[8].tolist())
    print(' '.join(f'{value:.9g}' for value in values.ravel()))
";
    let text = testkit::run(&python, folder.path(), script);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("RowwiseAdagrad 1 flushed"));
    assert_eq!(
        lines.next(),
        Some("(30, 4) float32 [4.0, 4.0, 4.0, 4.0] [0.0, 0.0, 0.0, 0.0]")
    );
    let values: Vec<f32> = lines
        .next()
        .unwrap()
        .split(' ')
        .map(|v| v.parse().unwrap())
        .collect();
    assert_eq!(values, table.gather(0..30).unwrap().values());
}
