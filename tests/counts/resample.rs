//! Documents resampled with replacement into files, and files that cannot be written completely.

use std::path::Path;
use std::process::Stdio;

use crate::rows::rows;
use testkit::{Tmpfs, one_test, wait_for};
use topicbook::{Counts, Dtype, ErrorKind};

const DOCUMENTS: usize = 37;
const TERMS: usize = 11;

/// Counts whose rows differ: term 0 has the document's number plus one, and term 3 is unused.
fn source() -> Counts {
    let mut values = vec![0u16; DOCUMENTS * TERMS];
    for (document, row) in values.chunks_mut(TERMS).enumerate() {
        row[0] = document as u16 + 1;
        row[1 + document % 2] += 200;
        row[4 + document % 7] = 3;
    }
    Counts::dense(DOCUMENTS, TERMS, values).unwrap()
}

/// The same counts in memory and in files.
fn sources(folder: &Path) -> Vec<(&'static str, Counts)> {
    let dense = source();
    let narrow = dense.write_npy_narrow(folder.join("source.npy")).unwrap();
    let wide = dense
        .write_npy_as(folder.join("wide.npy"), Dtype::F64)
        .unwrap();
    let sparse = dense.write_npz(folder.join("source.npz")).unwrap();
    vec![
        ("in memory", dense),
        ("u8 file", narrow),
        ("f64 file", wide),
        (
            "packed file",
            sparse.write_packed(folder.join("source.tbc")).unwrap(),
        ),
        ("sparse file", sparse),
    ]
}

#[test]
fn drawn_rows_are_rows_of_the_source_in_every_layout() {
    let folder = tempfile::tempdir().unwrap();
    let mut drawn = Vec::new();
    for (name, counts) in sources(folder.path()) {
        let path = folder.path().join("drawn.npy");
        let dense = counts.resample(1_500).seed(7).write_npy(&path).unwrap();
        assert_eq!(dense.dtype(), counts.dtype(), "{name}");
        let sparse = counts.resample(1_500).seed(7);
        let sparse = sparse.write_npz(folder.path().join("drawn.npz")).unwrap();
        assert_eq!(rows(&sparse), rows(&dense), "{name}");
        let packed = counts.resample(1_500).seed(7);
        let packed = packed.write_packed(folder.path().join("drawn.tbc"));
        assert_eq!(rows(&packed.unwrap()), rows(&dense), "{name}");
        drawn.push(rows(&dense));
    }
    let source_rows = rows(&source());
    for row in drawn[0].chunks(TERMS) {
        let document = row[0] as usize - 1;
        assert_eq!(
            row,
            &source_rows[document * TERMS..(document + 1) * TERMS],
            "row {document}"
        );
    }
    assert!(drawn.iter().all(|rows| *rows == drawn[0]));
}

#[test]
fn documents_are_drawn_uniformly_and_independently() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = source()
        .resample(37_000)
        .seed(3)
        .write_npy_narrow(folder.path().join("drawn.npy"))
        .unwrap();
    assert_eq!(drawn.dtype(), Dtype::U8);
    let mut times = [0.0f64; DOCUMENTS];
    let drawn = rows(&drawn);
    for row in drawn.chunks(TERMS) {
        times[row[0] as usize - 1] += 1.0;
    }
    // Pearson's chi-square over 37 documents: mean 36, variance 72.
    let chi_square: f64 = times.iter().map(|n| (n - 1_000.0).powi(2) / 1_000.0).sum();
    assert!((chi_square - 36.0).abs() < 5.0 * 72f64.sqrt(), "{times:?}");
    // Draws at a distance of `lag` are equal as often as independent ones.
    let equal_at_lag = |lag: usize| {
        let numbers: Vec<f32> = drawn.chunks(TERMS).map(|row| row[0]).collect();
        let equal = numbers.iter().zip(&numbers[lag..]).filter(|(a, b)| a == b);
        equal.count() as f64
    };
    for lag in [1, 2, 1_024] {
        let found = equal_at_lag(lag);
        assert!((found - 1_000.0).abs() < 5.0 * 1_000f64.sqrt(), "{found}");
    }
}

#[test]
fn a_seed_draws_the_same_documents_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    // Rows so long that they are written in several blocks.
    let terms = 1_500_000;
    let values = (0..5 * terms).map(|i| (i % 251) as u8).collect();
    let counts = Counts::dense(5, terms, values).unwrap();
    let counts = counts.write_npy(folder.path().join("long.npy")).unwrap();
    let draw = |threads: usize, seed: u64, dtype: Dtype| {
        let path = folder.path().join("drawn.npy");
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let drawn = threads
            .unwrap()
            .install(|| counts.resample(9).seed(seed).write_npy_as(&path, dtype));
        rows(&drawn.unwrap())
    };
    let one = draw(1, 5, Dtype::U8);
    assert!(one == draw(3, 5, Dtype::U8));
    assert!(one == draw(2, 5, Dtype::U16));
    assert!(one != draw(2, 6, Dtype::U8));
}

#[test]
fn resampled_files_are_read_by_numpy_and_scipy() {
    let Some(python) = testkit::python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let counts = source().write_npy(at("source.npy")).unwrap();
    let drawn = counts.resample(2_000).seed(1);
    drawn.write_npy(at("same.npy")).unwrap();
    drawn.write_npy_narrow(at("narrow.npy")).unwrap();
    drawn.write_npz(at("drawn.npz")).unwrap();
    let script = "
import numpy as np, scipy.sparse as sp, zipfile
X, A, B, S = np.load('source.npy'), np.load('same.npy'), np.load('narrow.npy'), sp.load_npz('drawn.npz')
assert A.dtype == np.uint16 and B.dtype == np.uint8 and A.shape == (2000, X.shape[1])
assert (A == X[A[:, 0].astype(int) - 1]).all() and (A == B).all() and (S.toarray() == A).all()
assert S.has_canonical_format and all(i.compress_type == zipfile.ZIP_STORED for i in zipfile.ZipFile('drawn.npz').infolist())
print('all read')
";
    assert_eq!(
        testkit::run(&python, folder.path(), script).trim(),
        "all read"
    );
}

#[test]
fn impossible_resamples_are_refused() {
    let (folder, path) = testkit::temp_path("drawn.npy");
    testkit::refused! { source().resample(0).write_npy(&path) => Setting; }
    testkit::refused! {
        Counts::dense(1, 2, vec![0u16, 300]).unwrap().resample(50).write_npy_as(&path, Dtype::U8), "does not fit u8";
    }
    let error = source()
        .resample(1 << 50)
        .write_npy(&path)
        .expect_err("no disk is that large");
    assert_eq!(error.kind(), ErrorKind::Space);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_truncated_source_is_an_error_and_does_not_end_the_process() {
    let (folder, path) = testkit::temp_path("source.npy");
    let counts = source().write_npy(&path).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(300).unwrap();
    for error in [
        counts
            .resample(50)
            .write_npy(folder.path().join("drawn.npy"))
            .unwrap_err(),
        counts
            .write_npy(folder.path().join("copy.npy"))
            .unwrap_err(),
        counts
            .write_npz(folder.path().join("copy.npz"))
            .unwrap_err(),
    ] {
        assert!(error.to_string().contains("is 300 now"), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_full_disk_is_detected_before_anything_is_written() {
    let Some(disk) = Tmpfs::or_skip("1m") else {
        return;
    };
    let folder = disk.path();
    // An existing file is not changed.
    let path = folder.join("X.npy");
    let counts = source().write_npy(&path).unwrap();
    let npz = folder.join("X.npz");
    let synthetic = topicbook::Synthetic::new(3_000, 1_000, 3).write_npy(&path);
    for (written, narrower_helps) in [
        (counts.resample(100_000).write_npy(&path), true),
        (counts.resample(100_000).write_npy_narrow(&path), false),
        (counts.resample(200_000).write_npz(&npz), false),
        (synthetic.map(|corpus| corpus.counts()), false),
    ] {
        let error = written.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Space, "{error}");
        assert!(error.to_string().contains("free on its disk"), "{error}");
        let remedy = error.remedy().unwrap();
        assert_eq!(
            remedy.contains("write_npy_narrow"),
            narrower_helps,
            "{error}"
        );
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    assert_eq!(rows(&Counts::open(&path).unwrap()), rows(&source()));
    // A file that fits is written, and preallocates no more than it needs.
    let small = counts.resample(1_000).write_npz(&npz).unwrap();
    assert_eq!(small.documents(), 1_000);
    assert!(std::fs::metadata(&npz).unwrap().len() < 40_000);
}

/// Run by the next test in a process that it kills: writes 2 GB. Does nothing otherwise.
#[test]
fn writer_to_be_killed() {
    let Some(path) = std::env::var_os("TOPICBOOK_TEST_WRITE") else {
        return;
    };
    let values = vec![1.0f32; 10 * 20_000];
    let counts = Counts::dense(10, 20_000, values).unwrap();
    counts.resample(25_000).write_npy(path).unwrap();
}

#[test]
fn a_killed_writer_leaves_nothing_under_the_final_name() {
    let (folder, path) = testkit::temp_path("X.npy");
    let mut writer = one_test("resample::writer_to_be_killed")
        .env("TOPICBOOK_TEST_WRITE", &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let entries = || std::fs::read_dir(folder.path()).unwrap();
    let files = || entries().count();
    // An empty one is not taken for a stale one, as its writer may not have locked it yet.
    wait_for("file with bytes", || {
        entries().any(|entry| entry.unwrap().metadata().is_ok_and(|file| file.len() > 0))
    });
    // Another writer does not remove the temporary file of a running one.
    source().write_npy(folder.path().join("Y.npy")).unwrap();
    assert!(!path.exists());
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(!path.exists());
    assert_eq!(files(), 2, "the temporary file, and the other file");
    // The next writer of the same file removes the stale temporary file.
    source().write_npy(&path).unwrap();
    assert_eq!(files(), 2);
    assert_eq!(rows(&Counts::open(&path).unwrap()), rows(&source()));
}
