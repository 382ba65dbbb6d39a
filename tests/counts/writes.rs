//! Writes that fail, and files that change after they were opened.

use std::path::Path;

use crate::rows::rows;
use testkit::refused;
use topicbook::{Counts, Dtype, Error, ErrorKind};

use crate::malformed::check;

/// Sorted names of the files in a folder.
fn file_names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
#[rustfmt::skip] // one case a line
fn failed_writes_leave_nothing_behind() {
    use ErrorKind::{Io, Setting, Space, Value};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let counts = Counts::dense(2, 2, vec![1.0f64, 2.0, 3.0, 300.0]).unwrap();
    counts.write_npy_as(at("kept.npy"), Dtype::F64).unwrap();
    let sparse = Counts::csr(1, 2, vec![0, 1], vec![1], vec![300.0]).unwrap();
    let bad = Counts::dense(1, 2, vec![1.0f64, f64::NAN]).unwrap();
    let large = Counts::dense(1, 2, vec![1i64, (1 << 53) + 1]).unwrap();
    // 4 TiB when written as dense counts.
    let enormous = Counts::csr(1 << 20, 1 << 20, vec![0; (1 << 20) + 1], vec![], vec![]).unwrap();
    let missing = at("no-such-folder").join("a.npy");
    type Outcome = Result<Counts, Error>;
    let cases: Vec<(&str, Outcome, ErrorKind, &[&str])> = vec![
        ("value beyond u8", counts.write_npy_as(at("kept.npy"), Dtype::U8), Value, &["300 does not fit u8", "row 1, column 1"]),
        ("value beyond u8 in CSR", sparse.write_npy_as(at("a.npy"), Dtype::U8), Value, &["300 does not fit u8", "row 0, column 1"]),
        ("NaN as integer", bad.write_npy_as(at("a.npy"), Dtype::I64), Value, &["NaN does not fit i64", "row 0, column 1"]),
        ("NaN narrow", bad.write_npy_narrow(at("a.npy")), Value, &["NaN is not a count"]),
        ("NaN sparse", bad.write_npz(at("a.npz")), Value, &["NaN is not a count", "row 0, column 1"]),
        ("beyond f64", large.write_npy_as(at("a.npy"), Dtype::F64), Value, &["does not fit f64", "row 0, column 1"]),
        ("beyond sparse f32", large.write_npz(at("a.npz")), Value, &["f32 of sparse counts", "row 0, column 1"]),
        ("beyond packed", Counts::dense(1, 2, vec![1.0, 2f64.powi(32)]).unwrap().write_packed(at("a.tbc")), Value, &["4294967296 is above", "row 0, column 1", "write_npz"]),
        ("fraction packed", Counts::dense(1, 2, vec![1.0, 0.5]).unwrap().write_packed(at("a.tbc")), Value, &["0.5 is not a whole number", "row 0, column 1"]),
        ("ending of packed counts", counts.write_packed(at("a.npz")), Setting, &["a.tbc"]),
        ("disk too small", enormous.write_npy(at("a.npy")), Space, &["needs 4", "free"]),
        ("wrong ending", counts.write_npy(at("a.dat")), Setting, &["a.npy"]),
        ("no ending", counts.write_npz(at("a")), Setting, &["a.npz"]),
        ("folder that does not exist", counts.write_npy(&missing), Io, &["no-such-folder"]),
        ("folder of that name", { std::fs::create_dir(at("b.npy")).unwrap(); counts.write_npy(at("b.npy")) }, Io, &["is a folder"]),
    ];
    let wrong: Vec<String> = cases
        .into_iter()
        .filter_map(|(name, outcome, kind, fragments)| {
            let error = outcome.err().ok_or_else(|| "it was written".to_string());
            check(name, error, kind, fragments).err()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(file_names(folder.path()), ["b.npy", "kept.npy"]);
    let kept = Counts::open(at("kept.npy")).unwrap();
    assert_eq!(kept.dtype(), Dtype::F64, "the existing file is unchanged");
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let set = |mode| {
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o555);
    if std::fs::write(folder.path().join("probe"), "").is_ok() {
        eprintln!("SKIPPED: this user may write into read-only folders");
        set(0o755);
        return;
    }
    let counts = Counts::dense(1, 2, vec![1u8, 2]).unwrap();
    let error = counts.write_npy(folder.path().join("a.npy")).unwrap_err();
    set(0o755);
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("permissions"), "{error}");
    assert!(file_names(folder.path()).is_empty());
}

/// Unchecked, reading a mapping beyond the end of its file kills the process (SIGBUS).
#[test]
fn a_file_that_changed_after_it_was_opened_is_an_error() {
    let (folder, path) = testkit::temp_path("a.npy");
    let written = Counts::dense(4, 4096, vec![1u16; 4 * 4096]).unwrap();
    let mut row = vec![0.0; 4096];

    let counts = written.write_npy(&path).unwrap();
    counts.fill_rows(&[3], &mut row).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(4096).unwrap();
    for error in [
        counts.fill_rows(&[3], &mut row).unwrap_err(),
        counts.summary().unwrap_err(),
        counts.select([3]).unwrap_err(),
        counts.write_npy(folder.path().join("b.npy")).unwrap_err(),
        counts.write_npz(folder.path().join("b.npz")).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Format, "{error}");
        assert!(error.to_string().contains("open it again"), "{error}");
    }
    assert_eq!(file_names(folder.path()), ["a.npy"]);

    // A file replaced by rename: the mapping still has the old one, which is intact.
    let counts = written.write_npy(&path).unwrap();
    written.write_npy(&path).unwrap();
    counts.fill_rows(&[3], &mut row).unwrap();

    // An archive that changes before its counts are read for the first time.
    let path = folder.path().join("a.npz");
    let counts = written.write_npz(&path).unwrap();
    std::fs::write(&path, "something else").unwrap();
    refused! { counts.summary(), "open it again"; }
}

/// Documents in blocks, from every layout, and one by one, give the file that the whole counts give.
#[test]
fn documents_are_appended_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let values: Vec<u16> = (0..60 * 7)
        .map(|cell| if cell % 5 == 0 { cell } else { 0 })
        .collect();
    let all = Counts::dense(60, 7, values).unwrap();
    let npz = all
        .select(20..40)
        .unwrap()
        .write_npz(at("part.npz"))
        .unwrap();
    let npy = all
        .select(40..50)
        .unwrap()
        .write_npy(at("part.npy"))
        .unwrap();
    for name in ["X.npz", "X.tbc", "X.npy"] {
        let mut writer = Counts::writer(at(name), 7).unwrap();
        writer.append(all.select(0..20).unwrap()).unwrap();
        writer.append(&npz).unwrap();
        writer.append(&npy).unwrap();
        for document in 50..60 {
            let row = rows(&all.select([document]).unwrap());
            // In falling order of the terms, with a zero.
            let terms: Vec<u32> = (0..7).rev().collect();
            let counts: Vec<f32> = row.into_iter().rev().collect();
            writer.append_document(&terms, &counts).unwrap();
        }
        assert_eq!(writer.documents(), 60);
        assert!(!at(name).exists(), "{name}");
        let written = writer.finish().unwrap();
        assert_eq!(rows(&written), rows(&all), "{name}");
        assert_eq!(written.summary().unwrap(), all.summary().unwrap());
    }
    assert_eq!(Counts::open(at("X.npy")).unwrap().dtype(), Dtype::U16);
}

#[test]
fn what_cannot_be_appended_is_refused_and_nothing_is_left() {
    let (folder, path) = testkit::temp_path("X.npz");
    let dense = |values: Vec<f64>| Counts::dense(1, 3, values).unwrap();
    let mut writer = Counts::writer(&path, 3).unwrap();
    writer.append_document(&[0], &[1.0]).unwrap();
    refused! {
        writer.append(Counts::dense(1, 2, vec![1u8, 2]).unwrap()) => Shape, "2 terms for a file of 3";
        writer.append(dense(vec![0.0, -1.0, 0.0])) => Value, "row 0, column 1";
        writer.append(dense(vec![0.0, 0.0, 0.5])) => Value, "row 0, column 2";
        writer.append(dense(vec![16_777_217.0, 0.0, 0.0])) => Value, "does not fit the f32";
        writer.append_document(&[3], &[1.0]) => Shape, "term 3 of a file of 3 terms";
        writer.append_document(&[1, 1], &[1.0, 2.0]) => Shape, "term 1 comes twice";
        writer.append_document(&[1], &[]) => Shape, "1 terms and 0 counts";
        writer.append_document(&[1], &[f32::NAN]) => Value, "NaN is not a count";
        Counts::writer(folder.path().join("X.csv"), 3) => Setting, ".npz, .tbc or .npy";
        Counts::writer(folder.path().join("none").join("X.npz"), 3) => Io, "none";
        Counts::writer(&path, 3).unwrap().finish() => Shape, "no document was appended";
    }
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
#[cfg(feature = "polars")]
fn parquet_files_have_the_counts() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<u16> = (0..60 * 7)
        .map(|cell| if cell % 5 == 0 { cell } else { 0 })
        .collect();
    let dense = Counts::dense(60, 7, values).unwrap();
    let npz = dense.write_npz(folder.path().join("X.npz")).unwrap();
    for counts in [dense, npz] {
        let written = counts
            .write_parquet(folder.path().join("X.parquet"))
            .unwrap();
        assert_eq!(rows(&written), rows(&counts));
        assert_eq!(written.summary().unwrap(), counts.summary().unwrap());
    }
    let large = Counts::dense(1, 1, vec![20_000_000.0f64]).unwrap();
    refused! { large.write_parquet(folder.path().join("large.parquet")), "20000000"; }
    assert!(!folder.path().join("large.parquet").exists());
}
