//! Files of single cells that anndata, h5py and SciPy wrote (`golden/make.py`), and texts of UCI.

use std::path::Path;

use crate::rows::{CELLS, VALUES, golden, rows};
use topicbook::{Cells, Counts, Device, ErrorKind, Layout, Reading, TopicModel};

const GENES: [&str; 5] = ["Actb", "Gapdh", "Malat1", "Xist", "Ünder"];

fn assert_values(counts: &Counts, what: &str) {
    assert_eq!(counts.shape(), (4, 5), "{what}");
    assert_eq!(counts.layout(), Layout::Csr, "{what}");
    let summary = counts
        .summary()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!((summary.total(), summary.nonzeros()), (222.0, 7), "{what}");
    assert_eq!(rows(counts), VALUES.map(f32::from), "{what}");
}

#[test]
fn h5ad_files_of_anndata_are_read() {
    for layout in ["csr", "csc", "dense"] {
        for compression in ["none", "gzip", "lzf"] {
            let name = format!("{layout}-{compression}.h5ad");
            let cells = Cells::open(golden(&name)).unwrap();
            assert_values(&cells.counts().unwrap(), &name);
            assert_values(&Counts::open(golden(&name)).unwrap(), &name);
            assert_eq!(cells.terms().unwrap().as_slice(), GENES, "{name}");
            assert_eq!(cells.names().unwrap(), CELLS, "{name}");
            assert!(cells.layers().unwrap().is_empty(), "{name}");
        }
    }
}

#[test]
fn layers_and_raw_are_read_by_name_and_a_matrix_without_counts_names_them() {
    let cells = Cells::open(golden("layers.h5ad")).unwrap();
    assert_eq!(cells.layers().unwrap(), ["counts", "scaled"]);
    assert_values(&cells.layer("counts").counts().unwrap(), "layer");
    let error = cells.counts().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value, "{error}");
    testkit::assert_has(
        &error,
        [
            "X holds no counts",
            "1.386",
            "layers/counts probably holds",
            ".layer(\"counts\")",
        ],
    );
    testkit::refused! { cells.layer("missing").counts(), "layers/counts, layers/scaled"; }

    let cells = Cells::open(golden("raw.h5ad")).unwrap();
    assert_eq!(cells.terms().unwrap().as_slice(), ["Gapdh", "Xist"]);
    assert_values(&cells.raw().counts().unwrap(), "raw");
    assert_eq!(cells.raw().terms().unwrap().as_slice(), GENES);
    testkit::refused! { cells.counts(), "raw/X probably holds"; }
}

#[test]
fn files_of_10x_are_read() {
    for name in ["tenx.h5", "10x", "10x/matrix.mtx.gz"] {
        let cells = Cells::open(golden(name)).unwrap();
        assert_values(&cells.counts().unwrap(), name);
        assert_eq!(cells.terms().unwrap().as_slice(), GENES, "{name}");
        assert_eq!(cells.names().unwrap(), CELLS, "{name}");
    }
    assert_values(&Counts::open(golden("tenx.h5")).unwrap(), "tenx.h5");
    testkit::refused! { Counts::open(golden("10x/matrix.mtx.gz")), "barcodes.tsv.gz", "Cells::open"; }
}

#[test]
fn mtx_files_of_scipy_are_read_and_written() {
    let counts = Counts::open(golden("matrix.mtx")).unwrap();
    assert_values(&counts, "matrix.mtx");
    let folder = tempfile::tempdir().unwrap();
    for name in ["X.mtx", "X.mtx.gz"] {
        let path = folder.path().join(name);
        counts.write_mtx(&path).unwrap();
        assert_values(&Counts::open(&path).unwrap(), name);
    }
    assert!(counts.write_mtx(folder.path().join("X.gz")).is_err());
    let Some(python) = testkit::python() else {
        return;
    };
    let script = format!(
        "import numpy as np, scipy.io\nfor name in ['X.mtx', 'X.mtx.gz']:\n    X = scipy.io.mmread(name)\n    assert X.dtype.kind in 'iu' and X.toarray().ravel().tolist() == {VALUES:?}, X\n"
    );
    testkit::run(&python, folder.path(), &script);
}

#[test]
fn lines_in_any_order_and_patterns_are_read() {
    let (_folder, path) = testkit::temp_path("X.mtx");
    let lines = "%%MatrixMarket matrix coordinate real general\n% a comment\n4 5 8\n3 5 1\n1 4 1e0\n\n4 5 9\n3 1 7.0\n1 2 3\n3 4 200\n2 2 0\n4 2 1\n";
    std::fs::write(&path, lines).unwrap();
    assert_values(&Counts::open(&path).unwrap(), "unsorted");
    let lines = "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 3\n2 1\n";
    std::fs::write(&path, lines).unwrap();
    let found = rows(&Counts::open(&path).unwrap());
    assert_eq!(found, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn bags_of_words_of_uci_are_read() {
    let (_folder, path) = testkit::temp_path("docword.made.txt");
    std::fs::write(
        &path,
        "4\n5\n7\n1 2 3\n1 4 1\n3 1 7\n3 4 200\n3 5 1\n4 2 1\n4 5 9\n",
    )
    .unwrap();
    assert_values(&Counts::open(&path).unwrap(), "docword");
}

/// Rows come in windows that start and end inside of chunks; the fit is the one of the same counts in a `.npz`.
#[test]
fn a_streamed_fit_is_that_of_the_same_counts_in_another_format() {
    let folder = tempfile::tempdir().unwrap();
    let counts = Cells::open(golden("stream.h5ad"))
        .unwrap()
        .counts()
        .unwrap();
    let npz = Counts::open(golden("stream.h5ad"))
        .unwrap()
        .write_npz(folder.path().join("X.npz"))
        .unwrap();
    let fit = |counts: &Counts| {
        TopicModel::new(3)
            .epochs(3)
            .seed(1)
            .device(Device::Cpu)
            .reading(Reading::Stream {
                block: 7,
                blocks: 5,
            })
            .quiet()
            .fit(counts)
            .unwrap()
    };
    let (streamed, expected) = (fit(&counts), fit(&npz));
    assert!(streamed.l() == expected.l() && streamed.f() == expected.f());
    testkit::assert_has(&counts, ["read into memory on first use"]);
}

/// What opening and reading everything gives, which must not panic.
fn read_all(path: &Path) -> Result<Vec<f32>, String> {
    let read = || {
        let cells = Cells::open(path)?;
        let counts = cells.counts()?;
        let (documents, terms) = counts.shape();
        let mut values = vec![0.0; documents * terms];
        counts.summary()?;
        counts.fill_rows(&(0..documents).collect::<Vec<_>>(), &mut values)?;
        cells.terms()?;
        cells.names()?;
        Ok(values)
    };
    match std::panic::catch_unwind(read) {
        Err(_) => panic!("{}: a panic", path.display()),
        Ok(Ok(values)) => Ok(values),
        Ok(Err(error)) => {
            let error: topicbook::Error = error;
            let text = error.to_string();
            assert!(error.remedy().is_some(), "no remedy: {text}");
            assert!(
                text.contains(&*path.file_name().unwrap().to_string_lossy()),
                "{text}"
            );
            Err(text)
        }
    }
}

#[test]
fn hdf5_files_cut_at_every_kilobyte_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "csr-gzip.h5ad",
        "csc-none.h5ad",
        "dense-lzf.h5ad",
        "stream.h5ad",
        "tenx.h5",
    ] {
        let bytes = std::fs::read(golden(name)).unwrap();
        for length in (0..bytes.len()).step_by(1024) {
            let path = folder.path().join(format!("{length}-{name}"));
            std::fs::write(&path, &bytes[..length]).unwrap();
            let error = read_all(&path);
            assert!(error.is_err(), "{name} cut to {length} bytes was read");
            std::fs::remove_file(&path).unwrap();
        }
    }
}

/// Damage may hit texts or counts, which have no checksum; it must neither panic nor take memory.
#[test]
fn damaged_hdf5_files_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "csr-gzip.h5ad",
        "csc-lzf.h5ad",
        "dense-none.h5ad",
        "stream.h5ad",
        "tenx.h5",
    ] {
        let bytes = std::fs::read(golden(name)).unwrap();
        let path = folder.path().join(name);
        for (round, at) in (0..bytes.len()).step_by(53).enumerate() {
            let mut damaged = bytes.clone();
            let end = (at + 1 + round % 4).min(bytes.len());
            damaged[at..end].fill([0x00, 0xff, 0x7f][round % 3]);
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, damaged).unwrap();
            let _ = read_all(&path);
        }
    }
}
