//! A table below a cell: plain HTML, to which a script adds pages, an order and a search.

use polars::prelude::{Column, DataType};
use serde::Serialize;

use crate::text::{count, inside_script};

use super::Table;
use super::view::{Layout, ROWS_SHOWN, Shown, TEXT_SHOWN, View, beginning};

const SCRIPT: &str = include_str!("viewer.js");
/// Bytes of the plain table.
const PLAIN_BYTES: usize = 100_000;
/// Bytes of the rows for the script, and of those where more than `ROWS_SHOWN` are asked for.
const DATA_BYTES: usize = 90_000;
const MORE_DATA_BYTES: usize = 190_000;
/// The most rows of a page.
pub(super) const ROWS_OF_PAGE: usize = 100;
/// A table with more rows has a script.
const MOST_ROWS_WITHOUT_SCRIPT: usize = 30;
/// The most characters of a text that a click shows.
const MOST_CHARACTERS: usize = 5_000;

/// How much of a table is written.
#[derive(Clone, Copy)]
struct Extent {
    rows: usize,
    columns: usize,
    /// Of each text.
    characters: usize,
}

/// What the script reads.
#[derive(Serialize)]
struct Data {
    page: usize,
    /// Characters of a text that is not cut.
    longest: usize,
    /// What is left out of the data.
    remark: String,
    columns: Vec<DataColumn>,
}

#[derive(Serialize)]
struct DataColumn {
    name: String,
    align: &'static str,
    undivided: bool,
    cells: Vec<Option<String>>,
    /// The order of numbers and times, equal for equal values; `None` for texts, which the script compares.
    ranks: Option<Vec<Option<u32>>>,
}

/// A table as HTML, within the bytes above.
pub(super) fn html(table: &Table) -> String {
    let layout = Layout::new(table);
    let (height, width) = layout.frame.shape();
    let whole = Extent {
        // The HTML of a row has 50 bytes or more.
        rows: layout.most_rows.min(PLAIN_BYTES / 50),
        columns: width,
        characters: MOST_CHARACTERS,
    };
    let (plain, shown) = fitted(whole, PLAIN_BYTES, |extent| {
        View::new(&layout, extent.rows, extent.columns).html(extent.characters)
    });
    let is_small = height <= shown.rows.min(MOST_ROWS_WITHOUT_SCRIPT);
    if width == 0 || (is_small && shown.columns == width) {
        return plain;
    }
    let is_asked = layout.most_rows > ROWS_SHOWN;
    let limit = if is_asked {
        MORE_DATA_BYTES
    } else {
        DATA_BYTES
    };
    let whole = Extent {
        // A value has two bytes or more.
        rows: height.min((limit / (2 * width)).max(ROWS_SHOWN)),
        ..whole
    };
    let (data, _) = fitted(whole, limit, |extent| {
        let data = Data {
            page: layout.most_rows.clamp(1, ROWS_OF_PAGE),
            longest: TEXT_SHOWN,
            remark: left_out(height, width, extent, is_asked),
            columns: columns(&layout, extent),
        };
        // Texts, numbers and lists of them can be written.
        inside_script(&serde_json::to_string(&data).unwrap_or_default())
    });
    format!(
        "<div data-topicbook-table=\"\" data-lm-suppress-shortcuts=\"true\">\n{plain}\
         <script type=\"application/json\">{data}</script>\n</div>\n<script>\n{SCRIPT}</script>\n"
    )
}

/// What `write` gives of the largest extent whose bytes are below a limit.
fn fitted(mut extent: Extent, limit: usize, write: impl Fn(Extent) -> String) -> (String, Extent) {
    loop {
        let text = write(extent);
        if text.len() <= limit || !extent.shrink(0.95 * limit as f64 / text.len() as f64) {
            return (text, extent);
        }
    }
}

impl Extent {
    /// Fewer rows, but those of a page; then shorter texts, and fewer columns. Returns whether it was not yet the least.
    fn shrink(&mut self, factor: f64) -> bool {
        let parts = [
            (&mut self.rows, ROWS_SHOWN),
            (&mut self.characters, 4 * TEXT_SHOWN),
            (&mut self.columns, 1),
        ];
        let part = parts.into_iter().find(|(part, least)| **part > *least);
        part.map(|(part, least)| *part = ((*part as f64 * factor) as usize).max(least))
            .is_some()
    }
}

fn columns(layout: &Layout, extent: Extent) -> Vec<DataColumn> {
    let columns = layout.frame.columns().iter().take(extent.columns);
    let columns = columns.map(|column| {
        let shown = Shown::new(column, 0..extent.rows);
        let cells = shown.cells.iter();
        DataColumn {
            align: shown.align(),
            cells: cells
                .map(|cell| Some(beginning(cell.as_ref()?, extent.characters)))
                .collect(),
            ranks: ranks(column, extent.rows),
            name: shown.name,
            undivided: shown.undivided,
        }
    });
    columns.collect()
}

/// The places of the first rows in the rising order of their values; `None` for texts.
fn ranks(column: &Column, rows: usize) -> Option<Vec<Option<u32>>> {
    let dtype = column.dtype();
    if !dtype.is_primitive_numeric() && !dtype.is_temporal() {
        return None;
    }
    let values = column.head(Some(rows)).to_physical_repr();
    let values = values.cast(&DataType::Float64).ok()?;
    let values: Vec<Option<f64>> = values.f64().ok()?.iter().collect();
    let mut present: Vec<(f64, usize)> = values
        .iter()
        .enumerate()
        .filter_map(|(row, value)| Some((value.filter(|value| !value.is_nan())?, row)))
        .collect();
    present.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = vec![None; values.len()];
    let mut rank = 0;
    for (at, &(value, row)) in present.iter().enumerate() {
        rank += u32::from(at > 0 && value != present[at - 1].0);
        ranks[row] = Some(rank);
    }
    Some(ranks)
}

/// What is left out of the data of a table of so many rows and columns, in words.
fn left_out(height: usize, width: usize, extent: Extent, is_asked: bool) -> String {
    let mut parts = Vec::new();
    let of = |shown: usize, all: usize| {
        format!("the first {} of {}", count(shown as u64), count(all as u64))
    };
    if extent.rows < height {
        let more = match is_asked {
            true => String::new(),
            false => format!(".rows({height}) has more, "),
        };
        parts.push(format!(
            "{} rows are here: {more}.filter(..) or .slice({}, {height}) the others",
            of(extent.rows, height),
            extent.rows
        ));
    }
    if extent.columns < width {
        parts.push(format!(
            "{} columns are here: .select(..) has the others",
            of(extent.columns, width)
        ));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;

    /// The data of a table's script, and the bytes of its HTML.
    fn data(table: &Table) -> (serde_json::Value, usize) {
        let html = table.html();
        assert_eq!(html.matches("<script").count(), 2);
        assert_eq!(html.matches("</script>").count(), 2);
        let (_, rest) = html.split_once("application/json\">").unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        // As a cell prints it.
        assert_eq!(crate::text::printable(data), data);
        (serde_json::from_str(data).unwrap(), html.len())
    }

    fn cells(data: &serde_json::Value) -> &Vec<serde_json::Value> {
        data["columns"][0]["cells"].as_array().unwrap()
    }

    #[test]
    fn a_small_table_has_no_script() -> Result<()> {
        for rows in [0, 1, 20, 21] {
            let table = Table::new().with_column("n", 0..rows)?;
            assert!(!table.html().contains("<script"), "{rows}");
        }
        let table = Table::new().with_column("n", 0..40)?;
        assert!(table.html().contains("<script"));
        assert!(table.rows(40).html().contains("<script"));
        Ok(())
    }

    #[test]
    fn the_bytes_below_a_cell_are_bounded() -> Result<()> {
        let numbers = Table::new().with_column("n", 0..200_000)?;
        let (data_, bytes) = data(&numbers);
        assert!(bytes < 200_000, "{bytes}");
        assert!((5_000..10_000).contains(&cells(&data_).len()));
        let remark = data_["remark"].as_str().unwrap();
        assert!(
            remark.contains("of 200,000 rows are here: .rows(200000) has more"),
            "{remark}"
        );
        let (more, bytes) = data(&numbers.rows(200_000));
        assert!(bytes < 300_000 && cells(&more).len() > cells(&data_).len());
        assert!(
            more["remark"]
                .as_str()
                .is_some_and(|remark| remark.contains("here: .filter(..)"))
        );

        let long = Table::new().with_column("text", vec!["é<\n".repeat(50_000); 40])?;
        let (data_, bytes) = data(&long.rows(40));
        assert!(bytes < 300_000, "{bytes}");
        assert_eq!(cells(&data_).len(), 20);
        let text = cells(&data_)[0].as_str().unwrap();
        assert!(text.ends_with("of 150,000 characters)"), "{text}");

        let mut wide = Vec::new();
        for number in 0..20_000 {
            wide.push(Column::new(
                format!("column {number}").into(),
                [0.5f32, 2.25, -1e-9],
            ));
        }
        let (data_, bytes) = data(&Table::from_columns(wide));
        assert!(bytes < 300_000, "{bytes}");
        assert_eq!(cells(&data_).len(), 3);
        assert!(
            data_["remark"]
                .as_str()
                .is_some_and(|remark| remark.contains("of 20,000 columns"))
        );
        Ok(())
    }

    #[test]
    fn texts_neither_end_the_script_nor_the_cell() -> Result<()> {
        let hostile = "</script><!-- <script> ' \" \\ \u{7f}\u{85}\u{1b}\u{2028} ]]> &amp; شكرا";
        let rows = (0..40)
            .map(|row| format!("{hostile} {row}"))
            .collect::<Vec<_>>();
        let (data, _) = data(&Table::new().with_column(hostile, &rows)?);
        assert_eq!(cells(&data)[39], rows[39]);
        Ok(())
    }

    #[test]
    fn ranks_follow_the_values_and_not_their_texts() -> Result<()> {
        let column = |values: Vec<f64>| Column::new("x".into(), values);
        let found = ranks(&column(vec![1e-9, 2e-9, -1.0, f64::NAN, 1e-9, 5.0]), 5);
        assert_eq!(found, Some(vec![Some(1), Some(2), Some(0), None, Some(1)]));
        assert_eq!(ranks(&Column::new("x".into(), ["a", "b"]), 2), None);
        Ok(())
    }
}
