//! The rows and columns of a table that a cell shows, as text and as HTML.

use std::fmt;

use polars::prelude::{AnyValue, Column, DataFrame, DataType};

use crate::text::{
    cell, count, counted, decimals_of, escape, fixed, pad_left, pad_right, printable, shorten,
    width,
};

use super::Table;
use super::error::attempt;

/// Rows that a cell shows unless [`Table::rows`](super::Table::rows) says otherwise.
pub(super) const ROWS_SHOWN: usize = 20;
/// Columns that a cell shows; one more says how many are left out.
const COLUMNS_SHOWN: usize = 30;
/// A short table with more text columns than this is shown transposed: a line for each column.
const TEXT_COLUMNS_SHOWN: usize = 10;
/// Characters that a cell shows of a text value.
const TEXT_SHOWN: usize = 60;

/// The rows and columns of a table that are shown, as text.
pub(super) struct View {
    columns: Vec<Shown>,
    /// Number of lines: rows, and the line between the first and the last rows where some are left out.
    lines: usize,
    /// The size of the whole table in words.
    size: String,
}

/// A column as text, one cell a line.
struct Shown {
    name: String,
    numeric: bool,
    cells: Vec<String>,
}

impl View {
    /// A view of the rows that a cell shows, the first three quarters of them from the top.
    pub(super) fn new(table: &Table) -> Self {
        let (frame, most_rows) = (&table.frame, table.rows_shown);
        let mut size = format!(
            "{} × {}",
            counted(frame.height(), "row"),
            counted(frame.width(), "column")
        );
        if let Some(note) = &table.note {
            size = format!("{size}; {note}");
        }
        match turned(frame) {
            Some(turned) => Self::upright(
                &turned,
                most_rows.max(COLUMNS_SHOWN),
                format!("{size}, shown with columns as rows"),
            ),
            None => Self::upright(frame, most_rows, size),
        }
    }

    fn upright(frame: &DataFrame, most_rows: usize, size: String) -> Self {
        let (height, width) = (frame.height(), frame.width());
        let last = if height > most_rows { most_rows / 4 } else { 0 };
        let first = height.min(most_rows) - last;
        let rows: Vec<usize> = (0..first).chain(height - last..height).collect();
        let gap = (rows.len() < height).then_some(first);
        let mut columns: Vec<Shown> = frame
            .columns()
            .iter()
            .take(COLUMNS_SHOWN)
            .map(|column| Shown::new(column, &rows, gap))
            .collect();
        let lines = rows.len() + usize::from(gap.is_some());
        if width > COLUMNS_SHOWN {
            columns.push(Shown {
                name: format!("… {} more", count((width - COLUMNS_SHOWN) as u64)),
                numeric: false,
                cells: vec!["…".into(); lines],
            });
        }
        Self {
            columns,
            lines,
            size,
        }
    }

    /// Aligned columns, and the size below them.
    pub(super) fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = self.columns.iter().map(Shown::width).collect();
        let line = |pick: &dyn Fn(&Shown) -> String| {
            let cells: Vec<String> = self
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
        writeln!(f, "{}", printable(&line(&|column| column.name.clone())))?;
        for row in 0..self.lines {
            let line = line(&|column| column.cells[row].clone());
            writeln!(f, "{}", printable(&line))?;
        }
        write!(f, "{}", self.size)
    }

    /// An HTML table with its size as caption, in a box that scrolls where there are many rows.
    ///
    /// The caption is above the table, so that it is seen without scrolling. JupyterLab keeps these styles in untrusted pages
    /// too, but removes scripts, by which headers could sort.
    pub(super) fn html(&self) -> String {
        let long = self.lines > ROWS_SHOWN + 1;
        let style = if long {
            "max-height:32em;overflow:auto"
        } else {
            "overflow-x:auto"
        };
        let mut html = format!(
            "<div style=\"{style}\">\n<table>\n<caption style=\"text-align:left\">{}</caption>\n<thead>\n<tr>",
            escape(&self.size)
        );
        for column in &self.columns {
            let align = column.align();
            html.push_str(&format!(
                "<th scope=\"col\" align=\"{align}\" style=\"text-align:{align};white-space:nowrap\">{}</th>",
                escape(&column.name)
            ));
        }
        html.push_str("</tr>\n</thead>\n<tbody>\n");
        for row in 0..self.lines {
            html.push_str("<tr>");
            for column in &self.columns {
                html.push_str(&cell("td", column.align(), &column.cells[row]));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n</table>\n</div>\n");
        html
    }
}

/// The transposed table, if that reads better: it has few rows, which its first column numbers, and many columns of text, such
/// as the top terms of many topics.
fn turned(frame: &DataFrame) -> Option<DataFrame> {
    let (first, texts) = frame.columns().split_first()?;
    let fits = texts.len() > TEXT_COLUMNS_SHOWN
        && (1..=TEXT_COLUMNS_SHOWN).contains(&frame.height())
        && texts
            .iter()
            .all(|column| column.dtype() == &DataType::String);
    if !fits {
        return None;
    }
    let names: Vec<&str> = texts.iter().map(|column| column.name().as_str()).collect();
    let mut columns = vec![Column::new(first.name().clone(), names)];
    for row in 0..frame.height() {
        let cells: Vec<Option<String>> = texts
            .iter()
            .map(|column| Some(column.get(row).ok()?.get_str()?.to_string()))
            .collect();
        let name = first.get(row).ok()?.str_value().to_string();
        columns.push(Column::new(name.into(), cells));
    }
    // Rows with the same number cannot become columns: names of columns are unique.
    DataFrame::new_infer_height(columns).ok()
}

impl Shown {
    /// The given rows of a column. `gap` is the number of rows before the line that stands for the rows left out.
    fn new(column: &Column, rows: &[usize], gap: Option<usize>) -> Self {
        let dtype = column.dtype();
        let values: Vec<AnyValue<'_>> = rows
            .iter()
            .map(|&row| column.get(row).unwrap_or(AnyValue::Null))
            .collect();
        let numbers = match (dtype.is_float(), dtype.is_integer()) {
            (true, _) => NumberFormat::of_floats(&values),
            (_, true) => NumberFormat::of_integers(&values),
            _ => NumberFormat::Plain,
        };
        let mut cells: Vec<String> = values.iter().map(|value| numbers.format(value)).collect();
        if let Some(gap) = gap {
            cells.insert(gap, "…".into());
        }
        Self {
            name: cell_text(column.name().as_str()),
            numeric: dtype.is_primitive_numeric(),
            cells,
        }
    }

    fn align(&self) -> &'static str {
        if self.numeric { "right" } else { "left" }
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| width(cell));
        cells.chain([width(&self.name)]).max().unwrap_or(0)
    }
}

/// The format of all numbers of a column, so that they can be compared at a glance.
#[derive(Clone, Copy)]
enum NumberFormat {
    /// With this number of decimal places, and separators between thousands. Smaller numbers are shown as `<0.0001`.
    Fixed(usize),
    /// `1.234e-7`, where the largest number is below 0.0001 or from 10^15 on.
    Scientific,
    /// Digits alone: integers of at most four digits, such as years.
    Plain,
}

impl NumberFormat {
    /// The decimal places that the numbers have, at most four or so; none if all are integers.
    fn of_floats(values: &[AnyValue<'_>]) -> Self {
        let numbers = values.iter().filter_map(float);
        let numbers = numbers.filter(|number| number.is_finite());
        let largest = numbers.clone().map(f64::abs).fold(0.0, f64::max);
        if largest >= 1e15 || (largest > 0.0 && largest < 1e-4) {
            return Self::Scientific;
        }
        match numbers.clone().all(|number| number.fract() == 0.0) {
            true => Self::Fixed(0),
            false => Self::Fixed(decimals_of(numbers).max(1)),
        }
    }

    fn of_integers(values: &[AnyValue<'_>]) -> Self {
        let mut numbers = values.iter().filter_map(AnyValue::extract::<f64>);
        match numbers.all(|number| number.abs() < 1e4) {
            true => Self::Plain,
            false => Self::Fixed(0),
        }
    }

    fn format(self, value: &AnyValue<'_>) -> String {
        match value {
            AnyValue::Null => return "–".into(),
            AnyValue::Boolean(truth) => return truth.to_string(),
            // This build of Polars knows no time zones; times with a zone are stored in UTC.
            AnyValue::Datetime(time, unit, Some(_)) => {
                return format!("{} UTC", text_of(&AnyValue::Datetime(*time, *unit, None)));
            }
            _ => {}
        }
        if let Some(text) = value.get_str() {
            return cell_text(text);
        }
        match (self, float(value)) {
            (_, Some(number)) if !number.is_finite() => number.to_string(),
            (Self::Scientific, Some(number)) => format!("{number:.3e}"),
            // With fixed decimal places, a small number would be shown as zero.
            (Self::Fixed(decimals), Some(number)) if rounds_to_zero(number, decimals) => {
                let smallest = fixed(0.1f64.powi(decimals as i32), decimals);
                match number > 0.0 {
                    true => format!("<{smallest}"),
                    false => format!(">-{smallest}"),
                }
            }
            // Above 2^53, `f64` does not hold every integer.
            (Self::Fixed(decimals), Some(number)) if number.abs() < 9e15 => fixed(number, decimals),
            _ => shorten(&text_of(value), TEXT_SHOWN),
        }
    }
}

/// The text that Polars has for a value. It has none for dates after the year 262,142, which damaged files have.
fn text_of(value: &AnyValue<'_>) -> String {
    attempt(|| Ok(value.to_string())).unwrap_or_else(|problem| format!("({})", problem.sentence))
}

/// A number. An `f32` has the digits that tell it from its neighbours: 16777.19, not 16777.189453125.
fn float(value: &AnyValue<'_>) -> Option<f64> {
    match value {
        AnyValue::Float32(number) => number.to_string().parse().ok(),
        _ => value.extract(),
    }
}

/// Whether a number other than zero is shown as zero.
fn rounds_to_zero(number: f64, decimals: usize) -> bool {
    number != 0.0 && number.abs() < 0.5 * 0.1f64.powi(decimals as i32)
}

/// A text without line breaks, which would end the row.
fn cell_text(text: &str) -> String {
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
    shorten(&line, TEXT_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::*;
    use crate::error::Result;

    #[test]
    fn many_text_columns_are_shown_as_rows() -> Result<()> {
        let table = |texts: usize, rows: u32| {
            (0..texts).try_fold(
                Table::new().with_column("rank", (1..=rows).collect::<Vec<_>>())?,
                |table, topic| {
                    let terms: Vec<String> = (0..rows)
                        .map(|rank| format!("term {topic}.{rank}"))
                        .collect();
                    table.with_column(format!("topic {topic}"), terms)
                },
            )
        };
        // Each topic is a line with its name and its terms; none is left out.
        let text = table(25, 3)?.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("rank") && lines[0].ends_with('3'),
            "{text}"
        );
        assert!(
            lines[25].starts_with("topic 24") && lines[25].ends_with("term 24.2"),
            "{text}"
        );
        assert_eq!(lines[26], "3 rows × 26 columns, shown with columns as rows");
        // Few topics and long lists stay as they are.
        for (texts, rows) in [(10, 3), (25, 11)] {
            assert!(table(texts, rows)?.to_string().starts_with("rank  topic 0"));
        }
        Ok(())
    }

    #[test]
    fn html_shows_text_literally_and_aligns_numbers_right() -> Result<()> {
        let table = Table::new()
            .with_column("<b>", ["<script>alert('x')</script>", "a & \"b\""])?
            .with_column("count", [1_234_567u32, 2])?;
        let html = table.html();
        assert!(!html.contains("<b>") && !html.contains("<script"));
        assert!(html.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
        assert!(html.contains("a &amp; &quot;b&quot;"));
        assert!(html.contains("<td align=\"right\" style=\"text-align:right\">1,234,567</td>"));
        assert!(html.contains("<th scope=\"col\" align=\"right\""));
        assert!(html.contains("2 rows × 2 columns"));
        Ok(())
    }

    #[test]
    fn wide_tables_say_in_place_how_many_columns_are_left_out() -> Result<()> {
        let mut table = Table::new();
        for topic in 0..100 {
            table = table.with_column(format!("topic {topic}"), vec![0.5f32; 3])?;
        }
        let html = table.html();
        assert_eq!(html.matches("<th ").count(), COLUMNS_SHOWN + 1);
        assert!(html.contains(">… 70 more</th></tr>"));
        assert!(html.contains("3 rows × 100 columns"));
        // The proportions of thirteen topics are all shown.
        let all = table.select(&table.column_names()[..13])?;
        assert_eq!(all.html().matches("<th ").count(), 13);
        Ok(())
    }

    #[test]
    fn long_tables_show_their_first_and_last_rows() -> Result<()> {
        let table = Table::new().with_column("document", 0..3000)?;
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines.len(), 1 + ROWS_SHOWN + 1 + 1);
        assert_eq!(
            (lines[1], lines[15], lines[16], lines[17]),
            ("0", "14", "…", "2995")
        );
        assert_eq!((lines[21], lines[22]), ("2999", "3,000 rows × 1 column"));
        assert!(table.html().contains("overflow-x"));

        let more = table.rows(1000);
        assert_eq!(more.html().matches("<tr>").count(), 1 + 1000 + 1);
        assert!(more.html().contains("max-height"));
        assert_eq!(table.rows(3000).to_string().matches('…').count(), 0);
        assert_eq!(
            table.rows(1).to_string().lines().nth(1).map(str::trim),
            Some("0")
        );
        assert_eq!(table.rows(0).to_string().lines().count(), 3);
        Ok(())
    }

    #[test]
    fn a_column_has_one_number_format() -> Result<()> {
        let table = Table::new()
            .with_column("term", [Some("model\nline"), None, Some("data")])?
            .with_column("probability", [0.531_234, 0.001_2, 3e-9])?
            .with_column("change", [-1e-9, 0.25, 0.0])?
            .with_column("small", [4.581e-7, 1e-9, 0.0])?
            .with_column("loss", [f64::NAN, 1234.0, f64::INFINITY])?
            .with_column("price", [0.99, 119.95, 1234.5])?
            .with_column("single", [16_777.19f32, 119.95, 0.1])?
            .with_column("year", [1987, 1998, 2003])?
            .with_column("tokens", [1987, 19_982, 5])?
            .with_column("kept", [true, false, true])?
            .with_column("big", [u64::MAX, 0, 1])?;
        let expected = "\
term        probability    change      small   loss     price     single  year  tokens  kept                    big
model line       0.5312  >-0.0001  4.581e-7    NaN      0.99  16,777.19  1987   1,987  true   18446744073709551615
–                0.0012    0.2500  1.000e-9  1,234    119.95     119.95  1998  19,982  false                     0
data            <0.0001    0.0000   0.000e0    inf  1,234.50       0.10  2003       5  true                      1
3 rows × 11 columns";
        let lines = |text: &str| -> Vec<String> {
            let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().map(line).collect()
        };
        assert_eq!(lines(&table.to_string()), lines(expected));
        Ok(())
    }

    #[test]
    fn an_empty_table_is_shown_too() -> Result<()> {
        assert!(Table::new().html().contains("0 rows × 0 columns"));
        let none: [f64; 0] = [];
        let table = Table::new().with_column("x", none)?;
        assert!(table.to_string().contains("0 rows"));
        Ok(())
    }
}
