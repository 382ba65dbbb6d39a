//! `.h5ad` files that we write: read again here, and by anndata where the Python of the tests has it.

use crate::rows::rows;
use testkit::refused;
use topicbook::{Cells, Counts, Documents, ErrorKind, Layout, Synthetic, Terms};

const VALUES: [u16; 12] = [0, 3, 0, 1, 0, 0, 0, 0, 700, 0, 0, 2];

fn terms() -> Terms {
    Terms::new(["ant", "bee", "cät", "dog"]).unwrap()
}

fn documents() -> Documents {
    Documents::new(["a.txt", "b.txt", "c.txt"])
        .unwrap()
        .with_labels("book", [Some("Poems"), None, Some("Letters")])
        .unwrap()
        .with_numbers("year", [1987, 1998, 1811])
        .unwrap()
        .with_numbers("share", [0.5, f64::NAN, 0.25])
        .unwrap()
        .with_dates("sent", [Some("1811-10-30"), Some("1813-01-28"), None])
        .unwrap()
}

#[test]
fn counts_names_and_columns_come_back() {
    let (folder, path) = testkit::temp_path("X.h5ad");
    let counts = Counts::dense(3, 4, VALUES.to_vec()).unwrap();
    let expected: Vec<f32> = VALUES.iter().map(|&value| value.into()).collect();
    let (terms, documents) = (terms(), documents());
    let written = counts
        .write_h5ad(&path, Some(&terms), Some(&documents))
        .unwrap();
    assert_eq!((written.shape(), written.layout()), ((3, 4), Layout::Csr));
    assert_eq!(rows(&written), expected);
    let cells = Cells::open(&path).unwrap();
    assert_eq!(cells.terms().unwrap().as_slice(), terms.as_slice());
    let found = cells.documents().unwrap();
    assert_eq!(found.names(), documents.names());
    assert_eq!(found.column_names(), documents.column_names());
    for column in documents.column_names() {
        let expected = documents.labels(&column).unwrap();
        assert_eq!(found.labels(&column).unwrap(), expected, "{column}");
    }

    // Sparse counts, from the file that was written, and numbers in place of names.
    let again = written
        .write_h5ad(folder.path().join("Y.h5ad"), None, None)
        .unwrap();
    assert_eq!(rows(&again), expected);
    let cells = Cells::open(folder.path().join("Y.h5ad")).unwrap();
    assert_eq!(cells.terms().unwrap().as_slice(), ["0", "1", "2", "3"]);
    assert_eq!(cells.names().unwrap(), ["0", "1", "2"]);

    let Some(python) = testkit::python() else {
        return;
    };
    let script = format!(
        r#"
try:
    import anndata, numpy as np, scipy.sparse as sp
except ImportError:
    print("SKIPPED")
    raise SystemExit
cells = anndata.read_h5ad("X.h5ad")
assert sp.issparse(cells.X) and cells.X.format == "csr" and cells.X.dtype == np.float32, cells.X
assert cells.X.has_sorted_indices and cells.X.toarray().ravel().tolist() == {VALUES:?}, cells.X
assert cells.var_names.tolist() == ["ant", "bee", "cät", "dog"], cells.var
assert cells.obs_names.tolist() == ["a.txt", "b.txt", "c.txt"], cells.obs
assert cells.obs.columns.tolist() == ["book", "year", "share", "sent"], cells.obs
book = cells.obs["book"]
assert book.cat.categories.tolist() == ["Letters", "Poems"] and book.cat.codes.tolist() == [1, -1, 0], book
assert not book.cat.ordered
assert cells.obs["year"].dtype == np.int64 and cells.obs["year"].tolist() == [1987, 1998, 1811]
assert str(cells.obs["share"].tolist()) == "[0.5, nan, 0.25]"
assert cells.obs["sent"].astype(object).tolist()[:2] == ["1811-10-30", "1813-01-28"], cells.obs
numbered = anndata.read_h5ad("Y.h5ad")
assert (numbered.X != cells.X).nnz == 0 and numbered.var_names.tolist() == list("0123")
backed = anndata.read_h5ad("X.h5ad", backed="r")
assert backed.X[1:3].toarray().ravel().tolist() == {VALUES:?}[4:], backed
cells.write_h5ad("Z.h5ad")
print("READ")
"#
    );
    match testkit::run(&python, folder.path(), &script).trim() {
        "READ" => assert_eq!(
            rows(&Counts::open(folder.path().join("Z.h5ad")).unwrap()),
            expected
        ),
        _ => eprintln!("SKIPPED: this Python has no anndata, which reads what write_h5ad wrote"),
    }
}

/// More counts than fit a chunk, and a number of them that no chunk divides.
#[test]
fn counts_of_many_chunks_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let counts = Synthetic::new(1500, 700, 3)
        .seed(1)
        .generate()
        .unwrap()
        .counts();
    let written = counts
        .write_h5ad(folder.path().join("X.h5ad"), None, None)
        .unwrap();
    assert!(written.summary().unwrap().nonzeros() > 3 << 17);
    assert_eq!(rows(&written), rows(&counts));
}

#[test]
fn a_matrix_without_counts_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let counts = Counts::dense(2, 3, vec![0u8; 6]).unwrap();
    let written = counts
        .write_h5ad(folder.path().join("X.h5ad"), None, None)
        .unwrap();
    assert_eq!(rows(&written), [0.0; 6]);
}

#[test]
fn what_does_not_fit_is_refused_and_the_file_stays() {
    let (folder, path) = testkit::temp_path("X.h5ad");
    std::fs::write(&path, "kept").unwrap();
    let counts = Counts::dense(3, 4, VALUES.to_vec()).unwrap();
    let large = Counts::dense(1, 2, vec![1u32, 1 << 25]).unwrap();
    let negative = Counts::dense(1, 2, vec![1.0f32, -1.0]).unwrap();
    let two = Terms::new(["a", "b"]).unwrap();
    let one = Documents::new(["a"]).unwrap();
    let index = documents().with_numbers("_index", [1, 2, 3]).unwrap();
    let slash = documents().with_labels("a/b", ["x", "y", "z"]).unwrap();
    refused! {
        counts.write_h5ad(&path, Some(&two), None) => Shape, "4 terms";
        counts.write_h5ad(&path, None, Some(&one)) => Shape, "3 rows";
        counts.write_h5ad(&path, None, Some(&index)) => Table, "\"_index\"";
        counts.write_h5ad(&path, None, Some(&slash)) => Table, "\"a/b\"";
        large.write_h5ad(&path, None, None) => Value, "33554432";
        negative.write_h5ad(&path, None, None) => Value, "-1";
        counts.write_h5ad(folder.path().join("X.h5"), None, None) => Setting, "h5ad";
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"kept");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
