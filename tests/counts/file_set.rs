//! Several files in one handle: the same rows, passes and fits as the same counts in one file.

use std::path::{Path, PathBuf};

use crate::rows::rows;
use testkit::Random;
use topicbook::{
    Counts, Device, Dtype, ErrorKind, Location, Reading, Solver, Synthetic, TopicModel,
};

const TERMS: usize = 40;

/// Counts of a few hundred documents, some of them empty.
fn source() -> Counts {
    let mut random = Random::new(5);
    let values: Vec<u16> = (0..300 * TERMS)
        .map(|at| match at / TERMS % 17 {
            3 => 0,
            _ if random.uniform() < 0.1 => 1 + (300.0 * random.uniform()) as u16,
            _ => 0,
        })
        .collect();
    Counts::dense(300, TERMS, values).unwrap()
}

/// Writes the documents into files of uneven sizes; the last name sorts before the others as a number would not.
fn write(counts: &Counts, folder: &Path, extension: &str) -> PathBuf {
    let bounds = [0, 1, 7, 120, 121, 300];
    for (name, bound) in ["a", "b", "c-10", "c-2", "d"]
        .into_iter()
        .zip(bounds.windows(2))
    {
        let block = counts.select(bound[0]..bound[1]).unwrap();
        let path = folder.join(format!("{name}.{extension}"));
        match extension {
            "npz" => block.write_npz(path),
            "tbc" => block.write_packed(path),
            _ => block.write_npy(path),
        }
        .unwrap();
    }
    folder.join(format!("*.{extension}"))
}

/// For each format the files as one handle, and the same counts in one file.
fn pairs(folder: &Path) -> Vec<(Counts, Counts)> {
    let counts = source();
    std::fs::create_dir(folder.join("one")).unwrap();
    ["npy", "npz", "tbc"]
        .map(|extension| {
            let pattern = write(&counts, folder, extension);
            let path = folder.join("one").join(format!("X.{extension}"));
            let one = match extension {
                "npz" => counts.write_npz(path),
                "tbc" => counts.write_packed(path),
                _ => counts.write_npy(path),
            };
            (Counts::open(pattern).unwrap(), one.unwrap())
        })
        .into()
}

#[test]
fn rows_and_passes_are_those_of_one_file() {
    let folder = tempfile::tempdir().unwrap();
    for (joined, one) in pairs(folder.path()) {
        assert_eq!(joined.shape(), one.shape());
        assert_eq!(
            (joined.dtype(), joined.layout()),
            (one.dtype(), one.layout())
        );
        assert!(matches!(joined.location(), Location::Files(paths) if paths.len() == 5));
        let picked = [299, 0, 121, 120, 6, 7, 0];
        let mut found = [vec![f32::NAN; 7 * TERMS], vec![f32::NAN; 7 * TERMS]];
        joined.fill_rows(&picked, &mut found[0]).unwrap();
        one.fill_rows(&picked, &mut found[1]).unwrap();
        assert_eq!(found[0], found[1], "{joined}");
        assert_eq!(
            rows(&joined.select(picked).unwrap()),
            rows(&one.select(picked).unwrap())
        );
        assert_eq!(joined.summary().unwrap(), one.summary().unwrap());
        assert_eq!(rows(&joined), rows(&one));

        let (kept, held_out) = joined.split(0.3, 4).unwrap();
        let (kept_one, held_out_one) = one.split(0.3, 4).unwrap();
        assert_eq!(
            (rows(&kept), rows(&held_out)),
            (rows(&kept_one), rows(&held_out_one))
        );
        let terms = [5, 0, 30];
        let (few, few_one) = (joined.select_terms(terms), one.select_terms(terms));
        assert_eq!(rows(&few.unwrap()), rows(&few_one.unwrap()));
        let (first, second) = joined.split_tokens(2).unwrap();
        let (first_one, second_one) = one.split_tokens(2).unwrap();
        assert_eq!(
            (rows(&first), rows(&second)),
            (rows(&first_one), rows(&second_one))
        );
        let drawn = [("s.npy", &joined), ("o.npy", &one)].map(|(name, counts)| {
            rows(
                &counts
                    .resample(50)
                    .write_npy(folder.path().join("one").join(name))
                    .unwrap(),
            )
        });
        assert_eq!(drawn[0], drawn[1]);
        let again = folder.path().join("one").join("again.npz");
        assert_eq!(rows(&joined.write_npz(again).unwrap()), rows(&one));
    }
}

#[test]
fn fits_are_those_of_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let model = TopicModel::new(3)
        .epochs(4)
        .device(Device::Cpu)
        .quiet()
        .seed(2);
    for (joined, one) in pairs(folder.path()) {
        for reading in [
            Reading::Stream {
                block: 5,
                blocks: 6,
            },
            Reading::InPlace,
        ] {
            for solver in [None, Some(Solver::em()), Some(Solver::coordinate_descent())] {
                let model = match solver {
                    Some(solver) => model.solver(solver),
                    None => model.batch_size(16),
                };
                // Opened again, so that rows are not in memory because of the fit before.
                let Location::Files(paths) = joined.location() else {
                    panic!("{joined}");
                };
                let fits = [Counts::open_files(paths).unwrap(), one.clone()]
                    .map(|counts| model.clone().reading(reading).fit(&counts).unwrap());
                assert!(fits[0].l().values() == fits[1].l().values(), "{joined}");
                assert!(fits[0].f().values() == fits[1].f().values(), "{joined}");
            }
        }
    }
}

#[test]
fn one_file_is_opened_as_itself() {
    let (folder, path) = testkit::temp_path("X[1].npy");
    let counts = Counts::dense(1, 2, vec![1u8, 2]).unwrap();
    counts.write_npy(&path).unwrap();
    assert_eq!(
        Counts::open(&path).unwrap().location(),
        Location::File(path.clone())
    );
    let pattern = folder.path().join("X?1?.n*");
    assert_eq!(
        Counts::open(pattern).unwrap().location(),
        Location::File(path)
    );
}

#[test]
#[cfg(feature = "polars")]
fn tables_have_the_terms_up_to_the_largest_id_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("1.csv"), "doc,term,count\n0,1,2\n2,0,3\n").unwrap();
    std::fs::write(at("2.csv"), "doc,term,count\n1,4,5\n").unwrap();
    let counts = Counts::open(at("*.csv")).unwrap();
    assert_eq!(
        (counts.shape(), counts.layout()),
        ((5, 5), topicbook::Layout::Csr)
    );
    let mut expected = vec![0.0; 25];
    (expected[1], expected[10], expected[24]) = (2.0, 3.0, 5.0);
    assert_eq!(rows(&counts), expected);
}

#[test]
fn files_that_do_not_fit_together_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0]).unwrap();
    counts.write_npy(at("a.npy")).unwrap();
    counts.write_npz(at("a.npz")).unwrap();
    counts.write_npy_as(at("wide.npy"), Dtype::F32).unwrap();
    let fewer = Counts::dense(1, 2, vec![1u8, 0]).unwrap();
    fewer.write_npy(at("fewer.npy")).unwrap();
    let negative = Counts::dense(2, 3, vec![0.0f32, 0.0, 0.0, 0.0, -1.0, 0.0]).unwrap();
    negative.write_npy(at("negative.npy")).unwrap();
    std::fs::write(at("cut.npy"), b"\x93NUMPY").unwrap();
    #[rustfmt::skip] // one case a line
    let cases: [(&[&str], ErrorKind, &[&str]); 7] = [
        (&["a.npy", "fewer.npy"], ErrorKind::Shape, &["a.npy", "fewer.npy", "3 and 2 terms"]),
        (&["a.npy", "a.npy", "wide.npy"], ErrorKind::Shape, &["a.npy", "wide.npy", "u8 and of f32"]),
        (&["a.npy", "a.npz"], ErrorKind::Shape, &["a.npy", "a.npz", "two formats"]),
        (&["a.npy", "cut.npy"], ErrorKind::Format, &["cut.npy", "does not start"]),
        (&["a.npy", "missing.npy"], ErrorKind::Io, &["missing.npy"]),
        (&[], ErrorKind::Setting, &["no file of counts"]),
        // The row is counted in the file that the message names.
        (&["wide.npy", "negative.npy"], ErrorKind::Value, &["negative.npy", "row 1, column 1"]),
    ];
    for (names, kind, fragments) in cases {
        let opened = Counts::open_files(names.iter().map(|name| at(name)));
        let error = opened.and_then(|counts| counts.summary()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        for fragment in fragments {
            assert!(error.to_string().contains(fragment), "{fragment}: {error}");
        }
        assert!(error.remedy().is_some(), "{error}");
    }
    for (pattern, fragment) in [
        ("none-*.npy", "no file matches"),
        ("a**b.npy", "is no pattern"),
    ] {
        testkit::refused! { Counts::open(at(pattern)), fragment; }
    }
}

#[test]
fn a_file_that_changes_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = Synthetic::new(40, 30, 2).seed(4);
    for name in ["a.npy", "b.npy"] {
        recipe.write_npy(folder.path().join(name)).unwrap();
    }
    let counts = Counts::open(folder.path().join("*.npy")).unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(folder.path().join("b.npy"))
        .unwrap();
    file.set_len(200).unwrap();
    testkit::refused! { counts.summary() => Format, "b.npy"; }
}
