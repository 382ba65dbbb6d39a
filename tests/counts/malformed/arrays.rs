//! Malformed arrays in memory, lists of terms, and triplets beyond a given shape.

use topicbook::{Counts, Error, ErrorKind, Terms};

use super::check;

#[test]
#[rustfmt::skip] // one case a line
fn malformed_arrays_are_refused() {
    use ErrorKind::{Shape, Value};
    let good = || (vec![0u64, 2, 3], vec![0u32, 2, 1], vec![1.0f32, 2.0, 3.0]);
    type Change = dyn Fn(&mut Vec<u64>, &mut Vec<u32>, &mut Vec<f32>);
    let csr = |change: &Change| {
        let (mut indptr, mut indices, mut values) = good();
        change(&mut indptr, &mut indices, &mut values);
        Counts::csr(2, 3, indptr, indices, values)
    };
    let dense = |values: Vec<f32>| Counts::dense(1, 2, values);
    let counts = Counts::dense(2, 3, vec![1u8; 6]).unwrap();
    let fill = |rows: &[usize], length| counts.fill_rows(rows, &mut vec![0.0; length]);
    type Outcome = Result<(), Error>;
    let summed = |counts: Result<Counts, Error>| counts.and_then(|counts| counts.summary()).map(drop);
    let cases: Vec<(&str, Outcome, ErrorKind, &[&str])> = vec![
        ("too few values", Counts::dense(2, 3, vec![1u8; 5]).map(drop), Shape, &["2 documents × 3 terms", "5 values"]),
        ("too many values", Counts::dense(2, 3, vec![1i64; 7]).map(drop), Shape, &["7 values"]),
        ("overflowing shape", Counts::dense(usize::MAX, 2, vec![1u8; 5]).map(drop), Shape, &["5 values"]),
        ("no documents", Counts::dense(0, 3, Vec::<f32>::new()).map(drop), Shape, &["0 documents"]),
        ("no terms", Counts::csr(2, 0, vec![0, 0, 0], vec![], vec![]).map(drop), Shape, &["0 terms"]),
        ("negative f32", summed(dense(vec![0.0, -1.0])), Value, &["-1", "row 0, column 1"]),
        ("NaN", summed(dense(vec![f32::NAN, 0.0])), Value, &["NaN", "row 0, column 0"]),
        ("infinite", summed(dense(vec![0.0, f32::NEG_INFINITY])), Value, &["-inf", "row 0, column 1"]),
        ("fraction", summed(dense(vec![0.0, 1e-6])), Value, &["whole number"]),
        ("negative i32", summed(Counts::dense(1, 2, vec![0, i32::MIN])), Value, &["-2147483648"]),
        ("lengths", csr(&|_, _, values| values.push(1.0)).map(drop), Shape, &["3 indices and 4 values"]),
        ("indptr too short", csr(&|indptr, _, _| indptr.truncate(2)).map(drop), Shape, &["indptr has 2 entries for 2 documents"]),
        ("no indptr", csr(&|indptr, _, _| indptr.clear()).map(drop), Shape, &["indptr has 0 entries"]),
        ("indptr starts above zero", csr(&|indptr, _, _| indptr[0] = 1).map(drop), Shape, &["starts with 1"]),
        ("decreasing indptr", csr(&|indptr, _, _| indptr[1] = 9).map(drop), Shape, &["falls from 9 to 3"]),
        ("indptr ends early", csr(&|indptr, _, _| indptr[2] = 2).map(drop), Shape, &["ends with 2"]),
        ("index out of range", csr(&|_, indices, _| indices[2] = 3).map(drop), Shape, &["column 3", "row 1"]),
        ("column twice", csr(&|_, indices, _| indices[1] = 0).map(drop), Shape, &["row 0, column 0"]),
        ("negative in CSR", summed(csr(&|_, _, values| values[2] = -3.0)), Value, &["-3", "row 1, column 1"]),
        ("fraction in CSR", summed(csr(&|_, _, values| values[1] = 0.5)), Value, &["0.5", "row 0, column 2"]),
        ("row out of range", fill(&[0, 2], 6), Shape, &["row 2 of counts with 2 documents"]),
        ("buffer too short", fill(&[0, 1], 5), Shape, &["2 rows of 3 terms", "5 values"]),
        ("select a row out of range", counts.select([7]).map(drop), Shape, &["row 7"]),
        ("select nothing", counts.select([]).map(drop), Shape, &["0 documents"]),
        ("no file", Counts::open("no/such/file.npy").map(drop), ErrorKind::Io, &["no/such/file.npy", "check the path"]),
        ("a folder", Counts::open("tests").map(drop), ErrorKind::Io, &["is a folder"]),
        ("no terms given", Terms::new([""; 0]).map(drop), Value, &["no terms"]),
        ("a blank term", Terms::new(["a", " "]).map(drop), Value, &["term 1"]),
        ("no file of terms", Terms::open("no-such.txt").map(drop), ErrorKind::Io, &["no-such.txt"]),
    ];
    let wrong: Vec<String> = cases
        .into_iter()
        .filter_map(|(name, outcome, kind, fragments)| {
            let error = outcome.err().ok_or_else(|| "it was accepted".to_string());
            check(name, error, kind, fragments).err()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn malformed_lists_of_terms_are_refused() {
    let (_folder, path) = testkit::temp_path("terms.txt");
    let cases: [(&str, &[u8], &[&str]); 4] = [
        ("empty", b"", &["is empty"]),
        (
            "blank line",
            b"spike\n\nneuron\n",
            &["blank line", "line 2"],
        ),
        ("only a line end", b"\n", &["blank line", "line 1"]),
        ("not UTF-8", b"spike\nne\xffron\n", &["UTF-8", "line 2"]),
    ];
    for (name, bytes, fragments) in cases {
        std::fs::write(&path, bytes).unwrap();
        let error = Terms::open(&path).err().ok_or_else(|| "it was read".into());
        check(name, error, ErrorKind::Format, fragments).unwrap();
    }
    std::fs::write(&path, "\u{feff}spike\r\nneuron\r\nspike").unwrap();
    let terms = Terms::open(&path).unwrap();
    assert_eq!(terms.as_slice(), ["spike", "neuron", "spike"]);
    assert_eq!(terms.duplicates(), ["spike"]);
}

#[test]
#[cfg(feature = "polars")]
fn ids_beyond_a_given_shape_are_refused() {
    let (_folder, path) = testkit::temp_path("a.csv");
    std::fs::write(&path, "doc,term,count\n0,0,1\n1,2,4\n").unwrap();
    assert_eq!(Counts::open_triplets(&path, 5, 4).unwrap().shape(), (5, 4));
    let error = Counts::open_triplets(&path, 5, 2)
        .err()
        .ok_or_else(|| "it was read".into());
    check(
        "shape",
        error,
        ErrorKind::Format,
        &["term 2 is out of range: from 0 to 1", "data row 2"],
    )
    .unwrap();
    let error = Counts::open_triplets(&path, 0, 4)
        .err()
        .ok_or_else(|| "it was read".into());
    check("no documents", error, ErrorKind::Format, &["out of range"]).unwrap();
}
