//! Files that are malformed, cut or damaged.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use topicbook::{Counts, Error, ErrorKind};

use crate::rows::rows;

use super::build::*;
use super::cases::cases;
use super::check;

/// The error of opening a file and reading all counts; `Err` says that it succeeded or panicked instead.
fn error_of(path: &Path) -> Result<Error, String> {
    let read = || Counts::open(path).and_then(|counts| counts.summary());
    match catch_unwind(AssertUnwindSafe(read)) {
        Err(_) => Err("it panicked".into()),
        Ok(Ok(summary)) => Err(format!("it was read: {summary:?}")),
        Ok(Err(error)) => Ok(error),
    }
}

#[test]
fn malformed_files_get_one_message_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    assert!(cases.len() >= 40);
    let mut wrong = Vec::new();
    for (name, file, bytes, kind, fragments) in cases {
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        let error = error_of(&path);
        if let Ok(error) = &error
            && !error.to_string().contains(file)
        {
            wrong.push(format!("{name}: the file is not named: {error}"));
        }
        if let Err(what) = check(name, error, kind, fragments) {
            wrong.push(what);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files behind the malformed ones.
fn intact() -> [(&'static str, Vec<u8>); 7] {
    [
        ("a.npy", good_npy()),
        ("a.npz", good_npz()),
        ("a.tbc", packed(|_| ())),
        ("a.parquet", good_parquet()),
        ("a.arrow", good_arrow()),
        ("a.csv", good_csv()),
        ("a.safetensors", good_safetensors()),
    ]
}

#[test]
fn the_intact_files_behind_the_malformed_ones_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (file, bytes) in intact() {
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        let counts = Counts::open(&path).unwrap();
        assert_eq!(rows(&counts), [1.0, 0.0, 2.0, 0.0, 3.0, 0.0], "{file}");
    }
}

/// Deletes a file before writing it: some file systems wait for the disk when a file is overwritten.
fn write_new(path: &Path, bytes: &[u8]) {
    if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn files_cut_at_any_length_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    // A table of text that is cut at the end of a line is another table.
    for (file, bytes) in intact().into_iter().filter(|(file, _)| *file != "a.csv") {
        let path = folder.path().join(file);
        for length in 0..bytes.len() {
            write_new(&path, &bytes[..length]);
            let error =
                error_of(&path).unwrap_or_else(|what| panic!("{file} cut at {length}: {what}"));
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}

/// Damages every byte of intact files; the result may be an error or counts. Parquet files, in which an id can become any
/// number, are damaged in a process of little memory: `claims.rs`.
#[test]
fn damaged_files_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = ["a.parquet", "a.arrow"];
    let files = intact().into_iter();
    for (file, bytes) in files.filter(|(file, _)| !elsewhere.contains(file)) {
        let path = folder.path().join(file);
        for index in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[index] ^= flip;
                write_new(&path, &damaged);
                let found = error_of(&path);
                let panicked = matches!(&found, Err(what) if what == "it panicked");
                assert!(!panicked, "{file}, byte {index} ^ {flip}");
            }
        }
    }
}

#[test]
fn a_parquet_file_with_a_damaged_footer_is_read_or_refused() {
    let (_folder, path) = testkit::temp_path("a.parquet");
    let good = good_parquet();
    let footer = u32::from_le_bytes(good[good.len() - 8..good.len() - 4].try_into().unwrap());
    for index in good.len() - 8 - footer as usize..good.len() {
        for damage in [0x7f, 0xff] {
            let mut bytes = good.clone();
            bytes[index] ^= damage;
            std::fs::write(&path, &bytes).unwrap();
            if let Err(error) = Counts::open(&path) {
                assert!(
                    error.to_string().contains("a.parquet") || error.kind() == ErrorKind::Space,
                    "{index}: {error}"
                );
            }
        }
    }
}

#[test]
#[ignore = "writes the malformed cases into the corpus of the fuzz targets"]
fn write_the_fuzz_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/fuzz/corpus");
    let good = intact().map(|(file, bytes)| ("intact", file, bytes));
    let malformed = cases().into_iter().map(|case| (case.0, case.1, case.2));
    let blocks = [("blocks", "a.tbc", packed_blocks())];
    for (name, file, bytes) in good.into_iter().chain(malformed).chain(blocks) {
        let Some(extension) = Path::new(file).extension() else {
            continue;
        };
        let folder = match name {
            "intact" | "blocks" => corpus.join(extension),
            _ => corpus.join(extension).join("malformed"),
        };
        // Names of files for which there is no reader, and inputs that are larger than the fuzzer's.
        if folder.is_dir() && bytes.len() < 1 << 13 {
            let name: String = name
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
                .collect();
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
}
