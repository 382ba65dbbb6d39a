//! Tables: Polars DataFrames with text and HTML forms, and CSV and Parquet files.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use polars::prelude::{
    AnyValue, Column, CsvWriter, DataFrame, ParquetWriter, PolarsError, SerWriter,
};

use crate::error::{Error, ErrorKind, Result};
use crate::system::write_atomic;
use crate::text::{
    cell, count, counted, decimals_for, escape, fixed, pad_left, pad_right, shorten, width,
};

/// Rows and columns that a cell shows; further ones are only counted.
const ROWS_SHOWN: usize = 20;
const COLUMNS_SHOWN: usize = 12;
/// Characters that a cell shows of a text value.
const TEXT_SHOWN: usize = 60;

/// A table with a Polars DataFrame inside.
///
/// It dereferences to the DataFrame, so every read-only method of Polars works on it; [`Table::into_inner`] gives
/// the DataFrame itself. Being a type of this crate, it needs no type annotation in a notebook when it is kept in a
/// variable, as by `let table = fit.top_terms(10);`. Cloning is cheap: Polars shares the columns.
///
/// ```
/// use topicbook::Table;
/// use topicbook::polars::prelude::*;
/// let table = Table::from(df!("term" => ["model", "data"], "probability" => [0.31, 0.2])?);
/// assert_eq!(table.height(), 2);
/// let probabilities: DataFrame = table.into_inner();
/// # Ok::<(), PolarsError>(())
/// ```
#[derive(Clone)]
#[doc(alias = "DataFrame")]
pub struct Table(DataFrame);

impl Table {
    /// A table of columns that have one height and different names by construction.
    ///
    /// Polars has no other reason to refuse columns: a debug build then panics, a release build gives an empty table.
    pub(crate) fn from_columns(columns: Vec<Column>) -> Self {
        let frame = DataFrame::new_infer_height(columns);
        debug_assert!(frame.is_ok(), "{frame:?}");
        Self(frame.unwrap_or_default())
    }

    /// The DataFrame of the table.
    ///
    /// ```
    /// use topicbook::{Table, polars::prelude::*};
    /// let frame = df!("term" => ["model", "data"], "probability" => [0.31, 0.2])?;
    /// assert_eq!(Table::from(frame.clone()).into_inner(), frame);
    /// # Ok::<(), PolarsError>(())
    /// ```
    pub fn into_inner(self) -> DataFrame {
        self.0
    }

    /// Writes a CSV file with a header line. The write is atomic: on an error, an existing file stays unchanged.
    ///
    /// ```
    /// use topicbook::{Table, polars::prelude::*};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// Table::from(df!("term" => ["model", "data"], "count" => [31, 20])?).write_csv("terms.csv")?;
    /// assert_eq!(std::fs::read_to_string("terms.csv")?, "term,count\nmodel,31\ndata,20\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written, or a column has a type without a form in CSV, such as lists.
    #[doc(alias = "to_csv")]
    pub fn write_csv(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        write_atomic(path, |file| {
            CsvWriter::new(file)
                .finish(&mut self.0.clone())
                .map_err(|error| not_written(path, error))
        })
    }

    /// Writes a Parquet file. The write is atomic: on an error, an existing file stays unchanged.
    ///
    /// ```
    /// use topicbook::{Counts, Table, polars::prelude::*};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// Table::from(df!("doc" => [0, 1], "term" => [2, 0], "count" => [3, 1])?).write_parquet("X.parquet")?;
    /// assert_eq!(Counts::open("X.parquet")?.shape(), (2, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written.
    #[doc(alias = "to_parquet")]
    pub fn write_parquet(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        write_atomic(path, |file| {
            ParquetWriter::new(file)
                .finish(&mut self.0.clone())
                .map(|_| ())
                .map_err(|error| not_written(path, error))
        })
    }

    /// The first rows as an HTML table.
    pub(crate) fn html(&self) -> String {
        let view = View::new(&self.0);
        let mut html = String::from("<table>\n<thead>\n<tr>");
        for column in &view.columns {
            html.push_str(&cell("th", column.align(), &column.name));
        }
        html.push_str("</tr>\n</thead>\n<tbody>\n");
        for row in 0..view.rows {
            html.push_str("<tr>");
            for column in &view.columns {
                html.push_str(&cell("td", column.align(), &column.cells[row]));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n</table>\n");
        html.push_str(&format!("<p>{}</p>\n", escape(&view.size)));
        html
    }
}

/// The first 20 rows as aligned text.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view = View::new(&self.0);
        let widths: Vec<usize> = view.columns.iter().map(Shown::width).collect();
        let line = |pick: &dyn Fn(&Shown) -> String| {
            let cells: Vec<String> = view
                .columns
                .iter()
                .zip(&widths)
                .map(|(column, &width)| match column.numeric {
                    true => pad_left(&pick(column), width),
                    false => pad_right(&pick(column), width),
                })
                .collect();
            cells.join("  ").trim_end().to_string()
        };
        writeln!(f, "{}", line(&|column| column.name.clone()))?;
        for row in 0..view.rows {
            writeln!(f, "{}", line(&|column| column.cells[row].clone()))?;
        }
        write!(f, "{}", view.size)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Deref for Table {
    type Target = DataFrame;

    fn deref(&self) -> &DataFrame {
        &self.0
    }
}

impl From<DataFrame> for Table {
    fn from(frame: DataFrame) -> Self {
        Self(frame)
    }
}

fn not_written(path: &Path, error: PolarsError) -> Error {
    Error::new(
        ErrorKind::Table,
        format!("cannot write the table to {}: {error}", path.display()),
    )
    .fix("check that the folder exists and has space, and for CSV that no column contains lists")
    .because(error)
}

/// The rows and columns of a table that are shown, as text.
struct View {
    columns: Vec<Shown>,
    rows: usize,
    /// The size of the whole table in words.
    size: String,
}

/// A column as text.
struct Shown {
    name: String,
    numeric: bool,
    cells: Vec<String>,
}

impl View {
    fn new(frame: &DataFrame) -> Self {
        let (height, width) = (frame.height(), frame.width());
        let rows = height.min(ROWS_SHOWN);
        let columns = frame
            .columns()
            .iter()
            .take(COLUMNS_SHOWN)
            .map(|column| Shown::new(column, rows))
            .collect();
        let more = |all: usize, shown: usize, noun: &str| match all > shown {
            true => format!(", … {} more {noun}", count((all - shown) as u64)),
            false => String::new(),
        };
        let size = format!(
            "{} × {}{}{}",
            counted(height, "row"),
            counted(width, "column"),
            more(height, ROWS_SHOWN, "rows"),
            more(width, COLUMNS_SHOWN, "columns"),
        );
        Self {
            columns,
            rows,
            size,
        }
    }
}

impl Shown {
    fn new(column: &Column, rows: usize) -> Self {
        let numeric = column.dtype().is_primitive_numeric();
        let values: Vec<AnyValue<'_>> = (0..rows)
            .map(|row| column.get(row).unwrap_or(AnyValue::Null))
            .collect();
        // All numbers of a column have the same number of decimal places, so that their points are aligned.
        let decimals = match column.dtype().is_float() {
            true => decimals(&values),
            false => 0,
        };
        Self {
            name: shorten(column.name().as_str(), TEXT_SHOWN),
            numeric,
            cells: values
                .iter()
                .map(|value| formatted(value, decimals))
                .collect(),
        }
    }

    fn align(&self) -> &'static str {
        match self.numeric {
            true => "right",
            false => "left",
        }
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| width(cell));
        cells.chain([width(&self.name)]).max().unwrap_or(0)
    }
}

/// Decimal places that show four significant digits of the largest number of a column; 0 if all are integers.
fn decimals(values: &[AnyValue<'_>]) -> usize {
    let numbers = || {
        values
            .iter()
            .filter_map(AnyValue::extract::<f64>)
            .filter(|number| number.is_finite())
    };
    if numbers().all(|number| number.fract() == 0.0) {
        return 0;
    }
    let largest = numbers().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    decimals_for(largest).max(1)
}

/// A value as text; floats get `decimals` decimal places if those show them.
fn formatted(value: &AnyValue<'_>, decimals: usize) -> String {
    match value {
        AnyValue::Null => return "–".into(),
        AnyValue::Boolean(truth) => return truth.to_string(),
        _ => {}
    }
    if let Some(text) = value.get_str() {
        // A line break inside a value would end the row.
        let line: String = text
            .chars()
            .map(|character| {
                if character.is_control() {
                    ' '
                } else {
                    character
                }
            })
            .collect();
        return shorten(&line, TEXT_SHOWN);
    }
    match value.extract::<f64>() {
        Some(number) if !number.is_finite() => number.to_string(),
        // With fixed decimal places, a small nonzero number would be shown as zero.
        Some(number) if number != 0.0 && number.abs() < 0.5 * 0.1f64.powi(decimals as i32) => {
            format!("{number:.1e}")
        }
        Some(number) if number.abs() < 1e15 => fixed(number, decimals),
        Some(number) if value.is_float() => format!("{number:.3e}"),
        _ => shorten(&value.to_string(), TEXT_SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;

    fn column<T, S: ?Sized>(name: &str, values: T) -> Column
    where
        Series: NamedFrom<T, S>,
    {
        Series::new(name.into(), values).into_column()
    }

    #[test]
    fn html_shows_text_literally_and_aligns_numbers_right() {
        let table = Table::from_columns(vec![
            column("<b>", ["<script>alert('x')</script>", "a & \"b\""]),
            column("count", [1_234_567u32, 2]),
        ]);
        let html = table.html();
        assert!(!html.contains("<b>") && !html.contains("<script"));
        assert!(html.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
        assert!(html.contains("a &amp; &quot;b&quot;"));
        assert!(html.contains("<td align=\"right\" style=\"text-align:right\">1,234,567</td>"));
        assert!(html.contains("2 rows × 2 columns"));
    }

    #[test]
    fn long_and_wide_tables_are_cut_and_state_their_size() {
        let columns = (0..100).map(|topic| column(&format!("topic {topic}"), vec![0.5f32; 3000]));
        let table = Table::from_columns(columns.collect());
        let html = table.html();
        assert_eq!(html.matches("<tr>").count(), 1 + ROWS_SHOWN);
        assert_eq!(html.matches("<th ").count(), COLUMNS_SHOWN);
        assert!(html.contains("3,000 rows × 100 columns, … 2,980 more rows, … 88 more columns"));
        assert_eq!(table.to_string().lines().count(), 2 + ROWS_SHOWN);
    }

    #[test]
    fn cells_are_formatted_by_type() {
        let table = Table::from_columns(vec![
            column("term", [Some("model\nline"), None, Some("data")]),
            column("probability", [0.031_234, 0.001_2, 3e-9]),
            column("loss", [f64::NAN, 1234.0, f64::INFINITY]),
            column("kept", [true, false, true]),
            column("big", [u64::MAX, 0, 1]),
        ]);
        let expected = "\
term        probability   loss  kept                    big
model line      0.03123    NaN  true   18446744073709551615
–               0.00120  1,234  false                     0
data             3.0e-9    inf  true                      1
3 rows × 5 columns";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn an_empty_table_is_shown_too() {
        assert!(
            Table::from_columns(Vec::new())
                .html()
                .contains("0 rows × 0 columns")
        );
        let none: [f64; 0] = [];
        assert!(
            Table::from_columns(vec![column("x", none)])
                .to_string()
                .contains("0 rows")
        );
    }
}
