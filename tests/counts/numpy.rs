//! Exchanges files with NumPy and SciPy in both directions.

use std::path::Path;

use topicbook::{Counts, Dtype, Layout, Location};

use crate::rows::{VALUES, rows};

/// The shape of the counts of every file in these tests.
const ROWS: usize = 4;
const COLUMNS: usize = 5;

const DTYPES: [(&str, Dtype); 7] = [
    ("uint8", Dtype::U8),
    ("uint16", Dtype::U16),
    ("uint32", Dtype::U32),
    ("int32", Dtype::I32),
    ("int64", Dtype::I64),
    ("float32", Dtype::F32),
    ("float64", Dtype::F64),
];

/// Python code that defines `X` as the array above.
fn python_values() -> String {
    format!(
        "import numpy as np, scipy.sparse as sp\nX = np.array({VALUES:?}, dtype=np.int64).reshape({ROWS}, {COLUMNS})\n"
    )
}

fn assert_same(counts: &Counts, what: &str) {
    assert_eq!(counts.shape(), (ROWS, COLUMNS), "{what}");
    assert_eq!(rows(counts), VALUES.map(f32::from), "{what}");
    let summary = counts
        .summary()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(summary.total(), 222.0, "{what}");
    assert_eq!(summary.nonzeros(), 7, "{what}");
    assert_eq!(summary.largest(), 200.0, "{what}");
    assert_eq!(
        summary.document_lengths(),
        [4.0, 0.0, 208.0, 10.0],
        "{what}"
    );
    assert_eq!(summary.empty_documents(), [1], "{what}");
    assert_eq!(summary.empty_terms(), [2], "{what}");
}

fn open(path: &Path) -> Counts {
    Counts::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn npy_files_of_numpy_are_read() {
    let Some(python) = testkit::python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut script = python_values();
    for (name, _) in DTYPES {
        script += &format!("np.save('{name}.npy', X.astype(np.{name}))\n");
        for version in 1..=3 {
            script += &format!(
                "with open('{name}-v{version}.npy', 'wb') as f: np.lib.format.write_array(f, X.astype(np.{name}), version=({version}, 0))\n"
            );
        }
    }
    testkit::run(&python, folder.path(), &script);
    for (name, dtype) in DTYPES {
        for file in [
            format!("{name}.npy"),
            format!("{name}-v1.npy"),
            format!("{name}-v2.npy"),
            format!("{name}-v3.npy"),
        ] {
            let path = folder.path().join(&file);
            let counts = open(&path);
            assert_eq!(counts.dtype(), dtype, "{file}");
            assert_eq!(counts.layout(), Layout::Dense, "{file}");
            assert_eq!(counts.location(), Location::File(path), "{file}");
            assert_eq!(
                counts.bytes_stored(),
                (ROWS * COLUMNS * dtype.bytes()) as u64,
                "{file}"
            );
            assert_same(&counts, &file);
        }
    }
}

#[test]
fn npz_files_of_scipy_are_read() {
    let Some(python) = testkit::python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut script = python_values();
    let mut files = Vec::new();
    for layout in ["csr", "csc", "coo"] {
        for kind in ["array", "matrix"] {
            for (dtype, _) in DTYPES {
                for compressed in ["True", "False"] {
                    let file = format!("{layout}-{kind}-{dtype}-{compressed}.npz");
                    script += &format!(
                        "sp.save_npz('{file}', sp.{layout}_{kind}(X.astype(np.{dtype})), compressed={compressed})\n"
                    );
                    files.push(file);
                }
            }
        }
    }
    // 64-bit indices, and rows whose columns are not sorted.
    script += "
A = sp.csr_array(X.astype(np.float32))
B = sp.csr_array(X.astype(np.float32)); B.indices = B.indices.astype(np.int64); B.indptr = B.indptr.astype(np.int64)
sp.save_npz('wide.npz', B)
for i in range(A.shape[0]):
    part = slice(A.indptr[i], A.indptr[i + 1])
    A.indices[part] = A.indices[part][::-1].copy(); A.data[part] = A.data[part][::-1].copy()
A.has_sorted_indices = False
sp.save_npz('unsorted.npz', A)
";
    files.extend(["wide.npz".to_string(), "unsorted.npz".to_string()]);
    testkit::run(&python, folder.path(), &script);
    for file in files {
        let path = folder.path().join(&file);
        let counts = open(&path);
        assert_eq!(counts.layout(), Layout::Csr, "{file}");
        assert_eq!(counts.dtype(), Dtype::F32, "{file}");
        assert_eq!(counts.location(), Location::Loaded(path), "{file}");
        assert_eq!(
            counts.bytes_stored(),
            7 * 8 + (ROWS as u64 + 1) * 8,
            "{file}"
        );
        assert_same(&counts, &file);
    }
}

/// Dtypes without kernels of their own are read as one that has them.
#[test]
fn npy_files_of_other_dtypes_are_read() {
    let Some(python) = testkit::python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let dtypes = [
        ("int16", Dtype::U16),
        ("uint64", Dtype::I64),
        ("float16", Dtype::U16),
        ("int8", Dtype::U8),
        ("bool", Dtype::U8),
    ];
    let mut script = python_values();
    for (name, _) in dtypes {
        script += &format!("np.save('{name}.npy', np.minimum(X, 100).astype('{name}'))\n");
        script += &format!(
            "np.save('{name}-i64.npy', np.minimum(X, 100).astype('{name}').astype('int64'))\n"
        );
    }
    script +=
        "np.save('large.npy', np.array([[0, 1, 2047, 2048, 65504, 32768]], dtype='float16'))\n";
    testkit::run(&python, folder.path(), &script);
    for (name, dtype) in dtypes {
        let counts = open(&folder.path().join(format!("{name}.npy")));
        assert_eq!(counts.dtype(), dtype, "{name}");
        let same = open(&folder.path().join(format!("{name}-i64.npy")));
        assert_eq!(rows(&counts), rows(&same), "{name}");
        assert_eq!(counts.summary().unwrap(), same.summary().unwrap(), "{name}");
    }
    let large = open(&folder.path().join("large.npy"));
    assert_eq!(rows(&large), [0.0, 1.0, 2047.0, 2048.0, 65504.0, 32768.0]);
}

#[test]
fn booleans_of_any_byte_are_ones_as_in_scipy() {
    let Some(python) = testkit::python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let script = "
import numpy as np, scipy.sparse as sp
A = sp.csr_array(np.array([[1, 0, 1], [0, 1, 0]], dtype=bool))
A.data.view(np.uint8)[:] = [1, 2, 255]
for compressed in (True, False):
    sp.save_npz(f'{compressed}.npz', A, compressed=compressed)
sp.load_npz('True.npz').toarray().astype(np.float32).tofile('expected')
";
    testkit::run(&python, folder.path(), script);
    let expected: Vec<f32> = std::fs::read(folder.path().join("expected"))
        .unwrap()
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    assert_eq!(expected.iter().sum::<f32>(), 3.0);
    for file in ["True.npz", "False.npz"] {
        let counts = open(&folder.path().join(file));
        assert_eq!(rows(&counts), expected, "{file}");
    }
}

#[test]
fn files_written_by_topicbook_are_read_by_numpy_and_scipy() {
    let Some(python) = testkit::python() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let dense = Counts::dense(ROWS, COLUMNS, VALUES.to_vec()).unwrap();
    let sparse = Counts::csr(
        ROWS,
        COLUMNS,
        vec![0, 2, 2, 5, 7],
        vec![1, 3, 0, 3, 4, 1, 4],
        vec![3.0, 1.0, 7.0, 200.0, 1.0, 1.0, 9.0],
    )
    .unwrap();
    let mut script = python_values();
    for (name, counts) in [("dense", &dense), ("sparse", &sparse)] {
        for (numpy, dtype) in DTYPES {
            let file = format!("{name}-{numpy}.npy");
            let written = counts.write_npy_as(at(&file), dtype).unwrap();
            assert_eq!(written.dtype(), dtype);
            assert_same(&written, &file);
            // A mapped file as the source of a sparse file.
            let npz = format!("{name}-{numpy}.npz");
            assert_same(&written.write_npz(at(&npz)).unwrap(), &npz);
            script += &format!(
                "
A = np.load('{file}')
assert A.dtype == np.{numpy} and A.flags.c_contiguous and (A == X).all(), '{file}'
with open('{file}', 'rb') as f:
    assert np.lib.format.read_magic(f) == (1, 0)
    np.lib.format.read_array_header_1_0(f)
    assert f.tell() % 64 == 0
S = sp.load_npz('{npz}')
assert S.format == 'csr' and S.dtype == np.{numpy} and S.shape == X.shape and S.nnz == 7, '{npz}'
assert S.has_canonical_format and (S.toarray() == X).all(), '{npz}'
"
            );
        }
        let file = format!("{name}.npz");
        assert_same(&counts.write_npz(at(&file)).unwrap(), &file);
        script += &format!("assert (sp.load_npz('{file}').toarray() == X).all()\n");
        let file = format!("{name}-narrow.npy");
        let narrow = counts.write_npy_narrow(at(&file)).unwrap();
        assert_eq!(narrow.dtype(), Dtype::U8);
        script += &format!("assert np.load('{file}').dtype == np.uint8\n");
    }
    assert_eq!(
        sparse.write_npy(at("same.npy")).unwrap().dtype(),
        Dtype::F32
    );
    assert_eq!(dense.write_npy(at("same.npy")).unwrap().dtype(), Dtype::U8);
    script += "print('all read')";
    assert_eq!(
        testkit::run(&python, folder.path(), &script).trim(),
        "all read"
    );
}

#[test]
fn the_nips_counts_are_read() {
    let path = Path::new("../shared/data/nips.npz");
    if !path.exists() {
        eprintln!("SKIPPED: {} does not exist", path.display());
        return;
    }
    let counts = open(path);
    assert_eq!(counts.shape(), (2_483, 14_036));
    assert_eq!(counts.bytes_stored(), 1_304_438 * 8 + 2_484 * 8);
    let summary = counts.summary().unwrap();
    assert_eq!(summary.nonzeros(), 1_304_438);
    let terms = topicbook::Terms::open("../shared/data/nips_terms.txt").unwrap();
    assert_eq!(terms.len(), counts.terms());
    let folder = tempfile::tempdir().unwrap();
    let dense = counts
        .write_npy_narrow(folder.path().join("nips.npy"))
        .unwrap();
    assert_eq!(dense.summary().unwrap(), summary);
    let sparse = dense.write_npz(folder.path().join("nips.npz")).unwrap();
    assert_eq!(sparse.summary().unwrap(), summary);
}
