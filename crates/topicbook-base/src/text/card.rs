//! Cards: titled boxes of labelled values, as text and as HTML.

use super::format::{pad_left, pad_right, width};
use super::html::{cell, escape};
use super::printable::one_line;

/// A titled box that a value shows in a notebook cell: labelled values, optionally a table, and notes.
#[derive(Default)]
pub struct Card {
    title: String,
    rows: Vec<(String, String)>,
    grid: Option<Grid>,
    notes: Vec<String>,
}

/// A table with headings, whose last column contains numbers.
struct Grid {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Card {
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a labelled value.
    pub fn row(mut self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.rows.push((label.into(), value.into()));
        self
    }

    /// Sets the table below the values. Its last column is aligned right.
    pub fn grid(mut self, headings: &[&str], rows: Vec<Vec<String>>) -> Self {
        self.grid = Some(Grid {
            headings: headings.iter().map(|heading| heading.to_string()).collect(),
            rows,
        });
        self
    }

    /// Adds a sentence below the values.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// The card as plain HTML tables, in the colours of the page.
    ///
    /// Cells have both an `align` attribute and a `style`, because GitHub removes `style` and the style sheet of
    /// JupyterLab overrides `align`.
    pub fn html(&self) -> String {
        let mut html = format!("<p><strong>{}</strong></p>\n", escape(&self.title));
        if !self.rows.is_empty() {
            html.push_str("<table>\n<tbody>\n");
            for (label, value) in &self.rows {
                html.push_str(&format!(
                    "<tr>{}{}</tr>\n",
                    cell("td", "left", label),
                    cell("td", "left", value)
                ));
            }
            html.push_str("</tbody>\n</table>\n");
        }
        if let Some(grid) = &self.grid {
            html.push_str(&grid.html());
        }
        for note in &self.notes {
            html.push_str(&format!("<p>{}</p>\n", escape(note)));
        }
        html
    }

    /// The card as text, one labelled value per line.
    pub fn text(&self) -> String {
        let width = self.rows.iter().map(|row| width(&row.0)).max().unwrap_or(0);
        let mut text = format!("{}\n", one_line(&self.title));
        for (label, value) in &self.rows {
            let label = pad_right(label, width);
            text.push_str(&format!("  {label}  {}\n", one_line(value)));
        }
        if let Some(grid) = &self.grid {
            text.push_str(&grid.text());
        }
        for note in &self.notes {
            text.push_str(&format!("{}\n", one_line(note)));
        }
        text
    }
}

impl Grid {
    fn html(&self) -> String {
        let align = |column: usize| match column + 1 == self.headings.len() {
            true => "right",
            false => "left",
        };
        let line = |tag: &str, texts: &[String]| -> String {
            let cells = texts.iter().enumerate();
            let cells: String = cells
                .map(|(column, text)| cell(tag, align(column), text))
                .collect();
            format!("<tr>{cells}</tr>\n")
        };
        let rows: String = self.rows.iter().map(|row| line("td", row)).collect();
        format!(
            "<table>\n<thead>\n{}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n",
            line("th", &self.headings)
        )
    }

    fn text(&self) -> String {
        let lines = || std::iter::once(&self.headings).chain(&self.rows);
        let last = self.headings.len().saturating_sub(1);
        let widths: Vec<usize> = (0..=last)
            .map(|column| lines().map(|line| width(&line[column])).max().unwrap_or(0))
            .collect();
        lines()
            .map(|line| {
                let cells = line.iter().zip(&widths).enumerate();
                let cells: Vec<String> = cells
                    .map(|(column, (text, &to))| match column == last {
                        true => pad_left(text, to),
                        false => pad_right(text, to),
                    })
                    .collect();
                format!("  {}\n", one_line(cells.join("  ").trim_end()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_aligned_as_text_and_escaped_as_html() {
        let card = Card::new("Counts <X.npy>")
            .row("documents", "5,000")
            .row("terms", "1,000")
            .note("2 terms are empty");
        assert_eq!(
            card.text(),
            "Counts <X.npy>\n  documents  5,000\n  terms      1,000\n2 terms are empty\n"
        );
        let html = card.html();
        assert!(html.contains("Counts &lt;X.npy&gt;"));
        let card = Card::new("a\nb").row("c", "d\ne").note("f\ng");
        assert_eq!(card.text(), "a\\nb\n  c  d\\ne\nf\\ng\n");
        assert!(!html.contains("<style"));
    }

    #[test]
    fn a_grid_is_aligned_in_both_forms() {
        let rows = vec![
            vec!["X <dense>".to_string(), "9 B".to_string()],
            vec!["L".to_string(), "100 B".to_string()],
        ];
        let card = Card::new("Plan").grid(&["what", "bytes"], rows);
        assert_eq!(
            card.text(),
            "Plan\n  what       bytes\n  X <dense>    9 B\n  L          100 B\n"
        );
        let html = card.html();
        assert!(html.contains("X &lt;dense&gt;"));
        assert!(html.contains("<td align=\"right\" style=\"text-align:right\">100 B</td>"));
    }
}
