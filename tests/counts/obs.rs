//! The columns of `obs` as documents: files that anndata and h5py wrote (`golden/make.py`), and malformed tables.

use std::path::Path;

use crate::rows::{CELLS, golden};
use hdf5_pure::{AttrValue, FileBuilder, GroupBuilder};
use topicbook::{Cells, Documents, ErrorKind};

fn documents(name: &str) -> Documents {
    Cells::open(golden(name)).unwrap().documents().unwrap()
}

fn assert_labels(documents: &Documents, column: &str, expected: [Option<&str>; 4]) {
    let found = documents.labels(column).unwrap();
    let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
    assert_eq!(found, expected, "{column}");
}

/// Numbers as texts, in which one NaN is as another.
fn assert_numbers(documents: &Documents, column: &str, expected: [f64; 4]) {
    let found = documents.numbers(column).unwrap();
    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{column}");
}

#[test]
fn columns_of_anndata_are_labels_and_numbers() {
    let found = documents("layers.h5ad");
    assert_eq!(found.names(), CELLS);
    assert_eq!(
        found.column_names(),
        ["tissue", "age", "batch", "note", "doublet", "score"]
    );
    assert_labels(
        &found,
        "tissue",
        [Some("liver"), None, Some("kidney"), Some("liver")],
    );
    assert_numbers(&found, "age", [3.5, 4.0, f64::NAN, 1.0]);
    assert_numbers(&found, "batch", [1.0, 1.0, 2.0, 2.0]);
    assert_labels(&found, "note", [Some("a"), Some("b"), Some("c"), Some("d")]);
    assert_numbers(&found, "doublet", [0.0, 0.0, 1.0, 0.0]);
    assert_numbers(&found, "score", [1.0, f64::NAN, 3.0, 4.0]);
    assert_eq!(
        found.to_string(),
        "4 documents with tissue, age, batch, note, doublet, score"
    );
}

#[test]
fn every_encoding_of_columns_is_read_or_left_out_by_name() {
    let found = documents("obs.h5ad");
    assert_labels(&found, "grade", [Some("3"), Some("1"), None, Some("3")]);
    assert_labels(
        &found,
        "dose",
        [Some("0.5"), Some("0.5"), Some("1.25"), None],
    );
    assert_numbers(&found, "seen", [1.0, f64::NAN, 0.0, 1.0]);
    // No `f64` is 2^53 + 1.
    assert_labels(
        &found,
        "id",
        [Some("9007199254740993"), Some("1"), Some("2"), Some("3")],
    );
    assert_labels(
        &found,
        "hash",
        [
            Some("18446744073709551615"),
            Some("0"),
            Some("1"),
            Some("2"),
        ],
    );
    assert_numbers(&found, "small", [1.0, 2.0, 3.0, 4.0]);
    assert_numbers(&found, "half", [0.5, 1.5, 2.5, 3.5]);
    assert_labels(&found, "remark", [Some("a"), None, Some("Ü"), None]);
    for documents in [&found, &found.select([2, 0]).unwrap()] {
        let shown = documents.to_string();
        testkit::assert_has(
            &shown,
            [
                "left out: document (the name",
                "pair (values of type compound",
            ],
        );
        testkit::refused! { documents.labels("pair"), "was left out"; }
    }
}

#[test]
fn categories_of_anndata_0_7_are_labels() {
    let found = documents("obs-0.7.h5ad");
    assert_eq!(found.column_names(), ["tissue", "age"]);
    assert_labels(
        &found,
        "tissue",
        [Some("liver"), None, Some("kidney"), Some("liver")],
    );
    assert_numbers(&found, "age", [3.5, 4.0, f64::NAN, 1.0]);
}

#[test]
fn barcodes_are_the_names_of_other_files() {
    for name in ["tenx.h5", "10x", "csr-none.h5ad"] {
        let found = documents(name);
        assert_eq!(found.names(), CELLS, "{name}");
        assert!(found.column_names().is_empty(), "{name}");
    }
}

/// Writes a file whose `obs` has two rows and what `fill` adds.
fn write_obs(path: &Path, columns: &[&str], fill: impl FnOnce(&mut GroupBuilder)) {
    let mut file = FileBuilder::new();
    let mut obs = file.create_group("obs");
    obs.set_attr("_index", AttrValue::String("_index".into()));
    let order = columns.iter().map(ToString::to_string).collect();
    obs.set_attr("column-order", AttrValue::StringArray(order));
    obs.create_dataset("_index").with_vlen_strings(&["a", "b"]);
    fill(&mut obs);
    file.add_group(obs.finish());
    file.write(path).unwrap();
}

fn group(obs: &mut GroupBuilder, encoding: &str, fill: impl FnOnce(&mut GroupBuilder)) {
    let mut column = obs.create_group("x");
    column.set_attr("encoding-type", AttrValue::String(encoding.into()));
    fill(&mut column);
    obs.add_group(column.finish());
}

type Case = (&'static str, fn(&mut GroupBuilder), &'static [&'static str]);

/// What `obs/x` holds, and what the error says.
const CASES: &[Case] = &[
    ("no such column", |_| {}, &["has no dataset obs/x"]),
    (
        "a column that is too long",
        |obs| {
            obs.create_dataset("x").with_f64_data(&[1.0, 2.0, 3.0]);
        },
        &["obs/x", "3 values, and obs has 2 rows"],
    ),
    (
        "texts that are too few",
        |obs| {
            obs.create_dataset("x").with_vlen_strings(&["p"]);
        },
        &["obs/x", "1 value, and obs has 2 rows"],
    ),
    (
        "a code above the categories",
        |obs| {
            group(obs, "categorical", |x| {
                x.create_dataset("codes").with_i8_data(&[1, 2]);
                x.create_dataset("categories")
                    .with_vlen_strings(&["p", "q"]);
            })
        },
        &["obs/x/codes", "code 2 in row 1, for 2 labels"],
    ),
    (
        "a negative code",
        |obs| {
            group(obs, "categorical", |x| {
                x.create_dataset("codes").with_i8_data(&[-2, 0]);
                x.create_dataset("categories")
                    .with_vlen_strings(&["p", "q"]);
            })
        },
        &["code -2 in row 0"],
    ),
    (
        "codes that are fractions",
        |obs| {
            group(obs, "categorical", |x| {
                x.create_dataset("codes").with_f32_data(&[0.0, 0.5]);
                x.create_dataset("categories")
                    .with_vlen_strings(&["p", "q"]);
            })
        },
        &["code 0.5 in row 1"],
    ),
    (
        "codes that are texts",
        |obs| {
            group(obs, "categorical", |x| {
                x.create_dataset("codes").with_vlen_strings(&["p", "q"]);
                x.create_dataset("categories")
                    .with_vlen_strings(&["p", "q"]);
            })
        },
        &["obs/x/codes", "no whole numbers"],
    ),
    (
        "no categories",
        |obs| {
            group(obs, "categorical", |x| {
                x.create_dataset("codes").with_i8_data(&[0, 0]);
            })
        },
        &["has no dataset obs/x/categories"],
    ),
    (
        "no codes",
        |obs| {
            group(obs, "categorical", |x| {
                x.create_dataset("categories").with_vlen_strings(&["p"]);
            })
        },
        &["has no dataset obs/x/codes"],
    ),
    (
        "codes that are too few",
        |obs| {
            group(obs, "categorical", |x| {
                x.create_dataset("codes").with_i8_data(&[0]);
                x.create_dataset("categories").with_vlen_strings(&["p"]);
            })
        },
        &["obs/x/codes", "1 value, and obs has 2 rows"],
    ),
    (
        "no mask",
        |obs| {
            group(obs, "nullable-integer", |x| {
                x.create_dataset("values").with_i64_data(&[1, 2]);
            })
        },
        &["has no dataset obs/x/mask"],
    ),
    (
        "a mask that is too long",
        |obs| {
            group(obs, "nullable-integer", |x| {
                x.create_dataset("values").with_i64_data(&[1, 2]);
                x.create_dataset("mask").with_u8_data(&[0, 1, 0]);
            })
        },
        &["obs/x/mask", "3 values, and obs has 2 rows"],
    ),
    (
        "a mask of texts",
        |obs| {
            group(obs, "nullable-integer", |x| {
                x.create_dataset("values").with_i64_data(&[1, 2]);
                x.create_dataset("mask").with_vlen_strings(&["p", "q"]);
            })
        },
        &["obs/x/mask", "neither of truth values nor of numbers"],
    ),
];

#[test]
fn malformed_tables_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (at, (name, fill, fragments)) in CASES.iter().enumerate() {
        let path = folder.path().join(format!("case-{at}.h5ad"));
        write_obs(&path, &["x"], fill);
        let Err(error) = Cells::open(&path).and_then(|cells| cells.documents()) else {
            wrong.push(format!("{name}: it was read"));
            continue;
        };
        let text = error.to_string();
        let file = format!("case-{at}.h5ad");
        let complete = error.kind() == ErrorKind::Format && error.remedy().is_some();
        for fragment in fragments.iter().copied().chain([file.as_str()]) {
            if !complete || !text.contains(fragment) {
                wrong.push(format!("{name}: no {fragment:?} in {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn groups_of_other_encodings_are_left_out_by_name() {
    let (_folder, path) = testkit::temp_path("other.h5ad");
    write_obs(&path, &["x", "y"], |obs| {
        group(obs, "awkward-array", |_| {});
        obs.create_dataset("y")
            .with_f64_data(&[1.0, 2.0, 3.0, 4.0])
            .with_shape(&[2, 2]);
    });
    let shown = Cells::open(&path).unwrap().documents().unwrap().to_string();
    testkit::assert_has(
        &shown,
        [
            "x (the encoding \"awkward-array\")",
            "y (an array of shape [2, 2])",
        ],
    );
}

/// Documents, or an error that names the file: no panic, and never documents of another number.
fn read(path: &Path) -> Option<Documents> {
    let read = || Cells::open(path).and_then(|cells| cells.documents());
    match std::panic::catch_unwind(read) {
        Err(_) => panic!("{}: a panic", path.display()),
        Ok(Ok(documents)) => Some(documents),
        Ok(Err(error)) => {
            let name = path.file_name().unwrap().to_string_lossy();
            assert!(error.to_string().contains(&*name), "{error}");
            assert!(error.remedy().is_some(), "{error}");
            None
        }
    }
}

#[test]
fn cut_tables_are_refused_and_damaged_ones_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["layers.h5ad", "obs.h5ad", "obs-0.7.h5ad"] {
        let bytes = std::fs::read(golden(name)).unwrap();
        let path = folder.path().join(name);
        for length in (0..bytes.len()).step_by(1024) {
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(
                read(&path).is_none(),
                "{name} cut to {length} bytes was read"
            );
        }
        for (round, at) in (0..bytes.len()).step_by(37).enumerate() {
            let mut damaged = bytes.clone();
            let end = (at + 1 + round % 4).min(bytes.len());
            damaged[at..end].fill([0x00, 0xff, 0x7f][round % 3]);
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, damaged).unwrap();
            if let Some(documents) = read(&path) {
                for column in documents.column_names() {
                    let labels = documents.labels(&column).unwrap();
                    assert_eq!(labels.len(), documents.len(), "{name} at {at}: {column}");
                }
            }
        }
    }
}
