//! Parquet tables with one row per document that Polars wrote from Python (`golden/make.py`).

use crate::rows::{VALUES, golden, rows};
use topicbook::Counts;

#[test]
fn lists_that_polars_wrote_are_counts() {
    // Rows that number the documents count the last one, which is empty.
    for (name, documents) in [("lists-grouped.parquet", 4), ("lists-polars.parquet", 5)] {
        let counts = Counts::open(golden(name)).unwrap();
        assert_eq!(counts.shape(), (documents, 5), "{name}");
        assert_eq!(rows(&counts)[..20], VALUES.map(f32::from), "{name}");
    }
}
