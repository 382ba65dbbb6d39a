//! The rows and columns of a table that a cell shows, as text and as HTML.

use std::fmt;

use polars::prelude::{AnyValue, Column, DataFrame, DataType};

use crate::text::{
    count, counted, direction, escape, pad_left, pad_right, printable, shorten, width,
};

use super::Table;
use super::number_format::NumberFormat;

/// Rows that a cell shows unless [`Table::rows`](super::Table::rows) says otherwise.
pub(super) const ROWS_SHOWN: usize = 20;
/// Columns of the text; one more says how many are left out.
const COLUMNS_SHOWN: usize = 30;
/// A short table with more text columns than this is shown transposed: a line for each column.
const TEXT_COLUMNS_SHOWN: usize = 10;
/// Characters of a text value in its cell.
pub(super) const TEXT_SHOWN: usize = 60;
/// A cell without a value.
const MISSING: &str = "–";
/// Characters of a value that are not divided between lines, such as a date.
const UNDIVIDED: usize = 20;

/// A table as it is shown: maybe transposed.
pub(super) struct Layout {
    pub frame: DataFrame,
    pub most_rows: usize,
    /// The size of the whole table in words.
    size: String,
}

/// The rows and columns of a table that are shown, as text.
pub(super) struct View {
    columns: Vec<Shown>,
    /// Number of lines: rows, and the line between the first and the last rows where some are left out.
    lines: usize,
    size: String,
}

/// A column as text, one cell a line.
pub(super) struct Shown {
    pub name: String,
    pub numeric: bool,
    /// Whether its cells are not divided between lines.
    pub undivided: bool,
    /// The whole texts; `None` for null.
    pub cells: Vec<Option<String>>,
}

impl Layout {
    pub(super) fn new(table: &Table) -> Self {
        let frame = &table.frame;
        let mut size = format!(
            "{} × {}",
            counted(frame.height(), "row"),
            counted(frame.width(), "column")
        );
        if let Some(note) = &table.note {
            size = format!("{size}; {note}");
        }
        match turned(frame) {
            Some(turned) => Self {
                most_rows: table.rows_shown.max(COLUMNS_SHOWN),
                frame: turned,
                size: format!("{size}, shown with columns as rows"),
            },
            None => Self {
                // No line says that one row is left out, because the row takes no more space.
                most_rows: match frame.height() == table.rows_shown + 1 {
                    true => frame.height(),
                    false => table.rows_shown,
                },
                frame: frame.clone(),
                size,
            },
        }
    }
}

impl View {
    /// A view of at most so many rows, the first three quarters of them from the top, and columns.
    pub(super) fn new(layout: &Layout, most_rows: usize, most_columns: usize) -> Self {
        let frame = &layout.frame;
        let (height, width) = (frame.height(), frame.width());
        let last = if height > most_rows { most_rows / 4 } else { 0 };
        let first = height.min(most_rows) - last;
        let rows: Vec<usize> = (0..first).chain(height - last..height).collect();
        let gap = (rows.len() < height).then_some(first);
        let gap_cell = || Some("…".to_string());
        let shown = frame.columns().iter().take(most_columns);
        let mut columns: Vec<Shown> = shown
            .map(|column| {
                let mut shown = Shown::new(column, rows.iter().copied());
                if let Some(gap) = gap {
                    shown.cells.insert(gap, gap_cell());
                }
                shown
            })
            .collect();
        let lines = rows.len() + usize::from(gap.is_some());
        if width > most_columns {
            columns.push(Shown {
                name: format!("… {} more", count((width - most_columns) as u64)),
                numeric: false,
                undivided: false,
                cells: vec![gap_cell(); lines],
            });
        }
        Self {
            columns,
            lines,
            size: layout.size.clone(),
        }
    }

    /// Aligned columns, and the size below them.
    pub(super) fn text(table: &Table, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = Layout::new(table);
        let view = Self::new(&layout, layout.most_rows, COLUMNS_SHOWN);
        let columns = view.columns.iter().map(|column| {
            let lines = (0..view.lines).map(|row| column.short(row));
            let lines: Vec<String> = [column.name.clone()].into_iter().chain(lines).collect();
            let most = lines.iter().map(|cell| width(cell)).max().unwrap_or(0);
            let pad = if column.numeric { pad_left } else { pad_right };
            let padded = lines.iter().map(|cell| pad(cell, most));
            padded.collect::<Vec<String>>()
        });
        let columns: Vec<Vec<String>> = columns.collect();
        for line in 0..=view.lines {
            let cells: Vec<&str> = columns.iter().map(|cells| cells[line].as_str()).collect();
            writeln!(f, "{}", printable(cells.join("  ").trim_end()))?;
        }
        write!(f, "{}", view.size)
    }

    /// An HTML table with its size as caption, in a box that scrolls where there are many rows. A text that is cut opens with a
    /// click, up to this number of its characters.
    ///
    /// The caption is above the table, so that it is seen without scrolling. JupyterLab keeps these styles in untrusted pages
    /// too, but removes scripts.
    pub(super) fn html(&self, characters: usize) -> String {
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
                html.push_str(&column.html(row, characters));
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
    /// The given rows of a column.
    pub(super) fn new(column: &Column, rows: impl Iterator<Item = usize>) -> Self {
        let dtype = column.dtype();
        let values: Vec<AnyValue<'_>> = rows
            .map(|row| column.get(row).unwrap_or(AnyValue::Null))
            .collect();
        let numbers = match (dtype.is_float(), dtype.is_integer()) {
            (true, _) => NumberFormat::of_floats(&values),
            (_, true) => NumberFormat::of_integers(&values),
            _ => NumberFormat::Plain,
        };
        let cells: Vec<Option<String>> = values
            .iter()
            .map(|value| (!value.is_null()).then(|| numbers.format(value)))
            .collect();
        let is_short = |cell: &String| width(cell) <= UNDIVIDED;
        Self {
            name: cell_text(column.name().as_str()),
            numeric: dtype.is_primitive_numeric(),
            undivided: cells.iter().flatten().all(is_short),
            cells,
        }
    }

    pub(super) fn align(&self) -> &'static str {
        if self.numeric { "right" } else { "left" }
    }

    fn short(&self, row: usize) -> String {
        self.cells[row].as_deref().map_or(MISSING.into(), cell_text)
    }

    fn html(&self, row: usize, characters: usize) -> String {
        let short = self.short(row);
        let whole = self.cells[row].as_deref().unwrap_or_default();
        let is_cut = width(whole) > TEXT_SHOWN;
        let content = match is_cut {
            false => escape(&short),
            true => format!(
                "<details><summary style=\"cursor:pointer\">{}</summary><div style=\"white-space:pre-wrap\">{}</div></details>",
                escape(&short),
                escape(&beginning(whole, characters))
            ),
        };
        format!(
            "<td{} align=\"{1}\" style=\"text-align:{1}{2}\">{content}</td>",
            direction(&short),
            self.align(),
            match (self.undivided, is_cut) {
                (true, _) => ";white-space:nowrap",
                (_, true) => ";min-width:30ch",
                _ => "",
            }
        )
    }
}

/// The first characters of a text, and how many it has in all.
pub(super) fn beginning(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.into(),
        Some((end, _)) => format!(
            "{} … (the first {} of {} characters)",
            text[..end].trim_end(),
            count(characters as u64),
            count(text.chars().count() as u64)
        ),
    }
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
        assert!(html.contains(
            "<td align=\"right\" style=\"text-align:right;white-space:nowrap\">1,234,567</td>"
        ));
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
        let text = table.to_string();
        assert!(
            text.lines()
                .next()
                .is_some_and(|head| head.ends_with("topic 29  … 70 more"))
        );
        // The page has them all.
        assert_eq!(table.html().matches("<th ").count(), 100);
        assert!(table.html().contains("3 rows × 100 columns"));
        Ok(())
    }

    #[test]
    fn a_cut_text_opens_and_a_date_is_not_divided() -> Result<()> {
        let text = "<i>".repeat(30);
        let table = Table::new()
            .with_column("review", [text.as_str(), "short"])?
            .with_column("date", ["2024-11-20", "2024-11-21"])?;
        let html = table.html();
        assert_eq!(html.matches("<details>").count(), 1);
        assert_eq!(html.matches(&escape(&text)).count(), 1);
        assert!(html.contains("white-space:nowrap\">2024-11-20</td>"));
        assert!(!html.contains("<i>") && !html.contains("<script"));
        let beginning = beginning("äöü ß", 4);
        assert_eq!(beginning, "äöü … (the first 4 of 5 characters)");
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
        // One row is never left out.
        assert_eq!(table.head(21).to_string().matches('…').count(), 0);

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
