//! Tables with one row per document: a list of terms, and a list of their counts.

use std::path::Path;

use polars::prelude::{ChunkExplode, Column, DataFrame, ExplodeOptions, PolarsError};

use crate::error::{Error, Result};
use crate::text::counted;

use super::COLUMNS;
use super::columns::{column, first_null};
use super::row_groups::DAMAGED;

/// Row numbers that name the triplets of a table in messages, counted from 1 without the header.
pub(super) struct RowNumbers {
    /// The row of the table that is the first of these.
    first: usize,
    /// Where the lists of the rows begin, and where the last ends; `None` where each row has one triplet.
    starts: Option<Vec<usize>>,
}

impl RowNumbers {
    pub(super) fn from(first: usize) -> Self {
        Self {
            first,
            starts: None,
        }
    }

    pub(super) fn name(&self, triplet: usize) -> String {
        let Some(starts) = &self.starts else {
            return format!("data row {}", self.first + triplet + 1);
        };
        let row = starts.partition_point(|&start| start <= triplet).max(1) - 1;
        let value = triplet - starts[row] + 1;
        format!(
            "data row {}, value {value} of its list",
            self.first + row + 1
        )
    }

    /// Numbers the triplets by the row that they come from, counted from 0 in these rows.
    pub(super) fn of_triplets(&self) -> impl Iterator<Item = usize> {
        let starts = self.starts.as_deref().unwrap_or_default();
        let lengths = starts.windows(2).map(|pair| pair[1] - pair[0]);
        lengths
            .enumerate()
            .flat_map(|(row, length)| std::iter::repeat_n(row, length))
    }
}

/// The terms and counts of lists as columns with one value per row.
pub(super) fn flatten(
    path: &Path,
    table: &DataFrame,
    first: usize,
) -> Result<(DataFrame, RowNumbers)> {
    let [_, term, count] = COLUMNS;
    let (terms, starts) = values(path, column(path, table, term)?, first)?;
    let (counts, count_starts) = values(path, column(path, table, count)?, first)?;
    if let Some(end) = (0..starts.len()).find(|&row| starts[row] != count_starts[row]) {
        // Lists before this row have the same lengths.
        let row = end - 1;
        let [terms, counts] = [&starts, &count_starts].map(|starts| starts[end] - starts[row]);
        let what = format!(
            "{} for {}",
            counted(counts, "count"),
            counted(terms, "term")
        );
        return Err(Error::format(path, what)
            .at(RowNumbers::from(first).name(row))
            .fix("write one count for each term of a document"));
    }
    let rows = RowNumbers {
        first,
        starts: Some(starts),
    };
    let table =
        DataFrame::new_infer_height(vec![terms, counts]).map_err(|e| unreadable(path, e))?;
    Ok((table, rows))
}

/// The values of the lists of a column, and where each list begins.
pub(super) fn values(path: &Path, column: &Column, first: usize) -> Result<(Column, Vec<usize>)> {
    let rows = RowNumbers::from(first);
    first_null(path, column, &rows, "no list", "write an empty list")?;
    let lists = column.list().map_err(|source| unreadable(path, source))?;
    let options = ExplodeOptions {
        empty_as_null: false,
        keep_nulls: false,
    };
    let (values, offsets) = lists
        .explode_and_offsets(options)
        .map_err(|source| unreadable(path, source))?;
    let begin = offsets.first();
    let starts: Vec<usize> = offsets
        .iter()
        .map(|offset| (offset - begin) as usize)
        .collect();
    if starts.len() != column.len() + 1 || starts.last() != Some(&values.len()) {
        let what = format!("column {} has lists that do not add up", column.name());
        return Err(Error::format(path, what).fix(DAMAGED));
    }
    Ok((values.into(), starts))
}

fn unreadable(path: &Path, source: PolarsError) -> Error {
    Error::format(path, format!("cannot be read: {source}"))
        .fix(DAMAGED)
        .because(source)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, Series};

    use super::super::{open, open_within};
    use crate::Counts;
    use crate::error::ErrorKind;

    fn write(path: &Path, columns: Vec<Column>) {
        let mut frame = DataFrame::new_infer_height(columns).unwrap();
        ParquetWriter::new(std::fs::File::create(path).unwrap())
            .with_row_group_size(Some(10))
            .finish(&mut frame)
            .unwrap();
    }

    fn lists<T>(name: &str, lists: &[Vec<T>]) -> Column
    where
        Series: NamedFrom<Vec<T>, [T]>,
        T: Clone,
    {
        let lists: Vec<Series> = lists
            .iter()
            .map(|list| Series::new("".into(), list.clone()))
            .collect();
        of_series(name, lists)
    }

    fn of_series(name: &str, lists: Vec<Series>) -> Column {
        Column::new(name.into(), lists)
    }

    fn rows(counts: &Counts) -> Vec<f32> {
        let (documents, terms) = counts.shape();
        let mut rows = vec![-1.0; documents * terms];
        let order: Vec<usize> = (0..documents).collect();
        counts.fill_rows(&order, &mut rows).unwrap();
        rows
    }

    /// 40 documents, of which some have no terms, also the last, and the dense rows of their counts.
    fn table() -> (Vec<Vec<i64>>, Vec<Vec<u32>>, Vec<f32>) {
        let mut dense = vec![0.0; 40 * 7];
        let (mut terms, mut counts) = (Vec::new(), Vec::new());
        for document in 0..40 {
            let found: Vec<i64> = (0..7)
                .filter(|term| (document * 5 + term * 3) % 4 == 0)
                .collect();
            let found = if document % 6 == 3 { Vec::new() } else { found };
            counts.push(
                found
                    .iter()
                    .map(|&term| (document + term + 1) as u32)
                    .collect(),
            );
            for &term in &found {
                dense[(document * 7 + term) as usize] = (document + term + 1) as f32;
            }
            terms.push(found);
        }
        (terms, counts, dense)
    }

    #[test]
    fn lists_are_read_whole_and_by_row_groups() {
        let (folder, path) = testkit::temp_path("X.parquet");
        let (terms, counts, dense) = table();
        assert!(terms[39].is_empty());
        let (term, count) = (lists("term", &terms), lists("count", &counts));
        write(&path, vec![count.clone(), term.clone()]);
        for limit in [2_000, 1 << 20] {
            let found = open_within(&path, None, limit).unwrap();
            assert_eq!(
                (found.shape(), rows(&found) == dense),
                ((40, 7), true),
                "{limit}"
            );
            let wider = open_within(&path, Some((50, 9)), limit).unwrap();
            assert_eq!(wider.shape(), (50, 9));
            assert_eq!(
                wider.summary().unwrap().total(),
                found.summary().unwrap().total()
            );
        }
        // The documents in another order, numbered by a column.
        let backwards: Vec<i64> = (0..40).rev().collect();
        let reversed: Vec<f32> = dense.chunks(7).rev().flatten().copied().collect();
        write(
            &path,
            vec![Column::new("doc".into(), backwards), term, count],
        );
        for limit in [2_000, 1 << 20] {
            let found = open_within(&path, Some((40, 7)), limit).unwrap();
            assert!(rows(&found) == reversed, "{limit}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn malformed_lists_are_located() {
        let (_folder, path) = testkit::temp_path("X.parquet");
        let terms = || lists("term", &[vec![0i64, 2], vec![], vec![1, 3]]);
        let counts = |last: f64| lists("count", &[vec![1.0, 2.0], vec![], vec![3.0, last]]);
        let text = lists("term", &[vec!["a", "b"], vec![], vec!["a", "c"]]);
        let nulls = lists(
            "count",
            &[vec![Some(1i64), None], vec![], vec![Some(3), Some(4)]],
        );
        let nested: Vec<Series> = (0..3)
            .map(|_| Series::new("".into(), [Series::new("".into(), [1i64])]))
            .collect();
        let cases: Vec<(Vec<Column>, &[&str])> = vec![
            (vec![terms()], &["has no column named count"]),
            (
                vec![
                    terms(),
                    lists("count", &[vec![1i64, 2], vec![1], vec![3, 4]]),
                ],
                &["1 count for 0 terms", "data row 2"],
            ),
            (
                vec![terms(), Column::new("count".into(), [1i64, 2, 3])],
                &["term has lists, count has single values"],
            ),
            (
                vec![
                    lists("doc", &[vec![0i64], vec![1], vec![2]]),
                    terms(),
                    counts(4.0),
                ],
                &["doc has lists"],
            ),
            (
                vec![terms(), counts(-4.0)],
                &["data row 3, value 2 of its list", "row 2, column 3"],
            ),
            (vec![terms(), counts(0.5)], &["data row 3, value 2"]),
            (
                vec![terms(), nulls],
                &["column count is empty", "data row 1, value 2"],
            ),
            (vec![text, counts(4.0)], &["column term has type text"]),
            (
                vec![
                    lists("term", &[vec![0i64, 2], vec![], vec![-1, 3]]),
                    counts(4.0),
                ],
                &["term -1 is out of range", "data row 3, value 1"],
            ),
            (
                vec![
                    lists("term", &[vec![0i64, 2], vec![], vec![3, 3]]),
                    counts(4.0),
                ],
                &["data row 3, value"],
            ),
            (
                vec![
                    lists::<i64>("term", &[vec![], vec![]]),
                    lists::<i64>("count", &[vec![], vec![]]),
                ],
                &["all its lists are empty"],
            ),
            (
                vec![Column::new("term".into(), nested), counts(4.0)],
                &["column term has type"],
            ),
        ];
        for (columns, fragments) in cases {
            write(&path, columns);
            let error = open(&path, None).unwrap_err();
            let text = error.to_string();
            assert!(error.remedy().is_some(), "{text}");
            assert!(
                matches!(error.kind(), ErrorKind::Format | ErrorKind::Value),
                "{text}"
            );
            for fragment in fragments {
                assert!(text.contains(fragment), "{fragment}: {text}");
            }
        }
    }

    #[test]
    fn a_missing_list_and_a_document_beyond_the_shape_are_located() {
        let (_folder, path) = testkit::temp_path("X.parquet");
        let missing: Vec<Option<Series>> = vec![Some(Series::new("".into(), [0i64])), None];
        let column = Column::new("term".into(), missing);
        write(&path, vec![column, lists("count", &[vec![1i64], vec![]])]);
        let error = open(&path, None).unwrap_err();
        testkit::assert_has(&error, ["column term is empty or no list"]);
        assert_eq!(error.place(), Some("data row 2"));
        let terms = lists("term", &[vec![0i64, 2], vec![], vec![1, 3]]);
        let counts = lists("count", &[vec![1.0, 2.0], vec![], vec![3.0, 4.0]]);
        write(&path, vec![terms, counts]);
        testkit::refused! { open(&path, Some((2, 5))), "3 rows for 2 documents"; }
    }
}
