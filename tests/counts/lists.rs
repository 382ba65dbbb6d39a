//! Parquet tables with one row per document that Polars wrote from Python (`golden/make.py`).

use std::path::Path;

use topicbook::Counts;

#[test]
fn lists_that_polars_wrote_are_counts() {
    let expected = [
        0.0, 3.0, 0.0, 1.0, 0.0, //
        0.0, 0.0, 0.0, 0.0, 0.0, //
        7.0, 0.0, 0.0, 200.0, 1.0, //
        0.0, 1.0, 0.0, 0.0, 9.0,
    ];
    // Rows that number the documents count the last one, which is empty.
    for (name, documents) in [("lists-grouped.parquet", 4), ("lists-polars.parquet", 5)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counts/golden");
        let counts = Counts::open(path.join(name)).unwrap();
        assert_eq!(counts.shape(), (documents, 5), "{name}");
        let mut rows = vec![-1.0; 20];
        counts.fill_rows(&[0, 1, 2, 3], &mut rows).unwrap();
        assert_eq!(rows, expected, "{name}");
    }
}
