//! What a cell shows: blocks of the evcxr protocol, cards, and numbers as people write them.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::charts::Chart;

/// Shows a value as HTML, with text beside it for pages that take no HTML.
///
/// evcxr keeps one block per MIME type and cell, so everything a value shows belongs into one call.
pub(crate) fn show(html: &str, text: &str) {
    print(&[("text/html", html), ("text/plain", text)]);
}

/// Shows a PNG picture, with one line of text beside it.
pub(crate) fn show_png(png: &[u8], text: &str) {
    print(&[("image/png", &STANDARD.encode(png)), ("text/plain", text)]);
}

/// Shows text alone: what is left to show when a picture could not be drawn.
pub(crate) fn show_text(text: &str) {
    print(&[("text/plain", text)]);
}

/// All blocks in one write, so that no other thread's line falls between them.
fn print(contents: &[(&str, &str)]) {
    let mut out = std::io::stdout().lock();
    // A closed standard output ends the page, not the computation.
    let _ = out
        .write_all(blocks(contents).as_bytes())
        .and_then(|()| out.flush());
}

fn blocks(contents: &[(&str, &str)]) -> String {
    contents
        .iter()
        .map(|(mime, content)| {
            let content = content.trim_end_matches('\n');
            format!("EVCXR_BEGIN_CONTENT {mime}\n{content}\nEVCXR_END_CONTENT\n")
        })
        .collect()
}

/// A title, labelled values, notes, and perhaps a small picture: how a value of ours introduces itself.
#[derive(Default)]
pub(crate) struct Card {
    title: String,
    rows: Vec<(String, String)>,
    grid: Option<Grid>,
    notes: Vec<String>,
    picture: Option<Chart>,
}

/// Columns with headings; the last one holds numbers.
struct Grid {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Card {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a labelled value.
    pub(crate) fn row(mut self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.rows.push((label.into(), value.into()));
        self
    }

    /// Sets the table below the values; its last column is aligned right.
    pub(crate) fn grid(mut self, headings: &[&str], rows: Vec<Vec<String>>) -> Self {
        self.grid = Some(Grid {
            headings: headings.iter().map(|heading| heading.to_string()).collect(),
            rows,
        });
        self
    }

    /// Adds a sentence below the values.
    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Sets the picture below the notes. One that cannot be drawn is left out: the values matter more.
    pub(crate) fn picture(mut self, chart: Chart) -> Self {
        self.picture = Some(chart);
        self
    }

    pub(crate) fn show(&self) {
        show(&self.html(), &self.text());
    }

    /// A plain table. Colours are the page's own, and `align` stands beside `style` because GitHub drops
    /// the one and JupyterLab overrides the other.
    pub(crate) fn html(&self) -> String {
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
        if let Some(chart) = &self.picture
            && let Ok(png) = chart.to_png()
        {
            let (width, height) = chart.css_size();
            html.push_str(&format!(
                "<p><img width=\"{width}\" height=\"{height}\" alt=\"{}\" src=\"data:image/png;base64,{}\"></p>\n",
                escape(&chart.describe()),
                STANDARD.encode(png)
            ));
        }
        html
    }

    /// The same as text, the values below each other.
    pub(crate) fn text(&self) -> String {
        let width = self.rows.iter().map(|row| width(&row.0)).max().unwrap_or(0);
        let mut text = format!("{}\n", self.title);
        for (label, value) in &self.rows {
            text.push_str(&format!("  {}  {value}\n", pad_right(label, width)));
        }
        if let Some(grid) = &self.grid {
            text.push_str(&grid.text());
        }
        for note in &self.notes {
            text.push_str(&format!("{note}\n"));
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
                format!("  {}\n", cells.join("  ").trim_end())
            })
            .collect()
    }
}

/// One cell of an HTML table, its text escaped.
pub(crate) fn cell(tag: &str, align: &str, text: &str) -> String {
    format!(
        "<{tag} align=\"{align}\" style=\"text-align:{align}\">{}</{tag}>",
        escape(text)
    )
}

/// Text as HTML shows it literally.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Columns that a text takes on a page of one-column characters.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Spaces after the text. (`{:<w$}` pads too, but this keeps the two directions alike.)
pub(crate) fn pad_right(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(width(text))))
}

/// Spaces before the text.
pub(crate) fn pad_left(text: &str, to: usize) -> String {
    format!("{}{text}", " ".repeat(to.saturating_sub(width(text))))
}

/// At most `longest` characters, the last one an ellipsis where some were left out.
pub(crate) fn shorten(text: &str, longest: usize) -> String {
    if width(text) <= longest {
        return text.into();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Bytes in binary units: `512 B`, `1.5 GiB`, `186 GiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.5 would be written as 1024.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 99.95 { 1 } else { 0 };
    let number = format!("{value:.digits$}");
    format!("{} {}", number.trim_end_matches(".0"), UNITS[unit])
}

/// A whole number with separators: `1,304,438`.
pub(crate) fn count(count: u64) -> String {
    separate(&count.to_string())
}

/// A number of things: `1 topic`, `5,000 documents`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{} {thing}s", count(number as u64)),
    }
}

/// A duration: `0.3 ms`, `48 ms`, `2.3 s`, `2 min 05 s`, `3 h 07 min`.
pub(crate) fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".into();
    }
    let whole = seconds.round() as u64;
    match seconds {
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 59.95 => format!("{s:.1} s"),
        _ if whole < 3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A share as percent: `3.2%`, `100%`.
pub(crate) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value.abs() {
        v if !v.is_finite() => "unknown".into(),
        0.0 => "0%".into(),
        v if v < 0.095 => format!("{value:.3}%"),
        v if v < 9.95 => format!("{value:.1}%"),
        _ => format!("{value:.0}%"),
    }
}

/// A number with about four digits that matter: `1,234.6`, `0.01234`, `5.1e-9`, whole numbers in full.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        value.to_string()
    } else if value.fract() == 0.0 && size < 1e15 {
        fixed(value, 0)
    } else if !(1e-4..1e15).contains(&size) {
        format!("{value:.3e}")
    } else {
        let written = fixed(value, decimals_for(size).max(1));
        written.trim_end_matches(".0").to_string()
    }
}

/// Digits after the point that show four digits of a number of this size.
pub(crate) fn decimals_for(size: f64) -> usize {
    if !size.is_finite() || size <= 0.0 {
        return 0;
    }
    (3 - size.log10().floor() as i32).clamp(0, 9) as usize
}

/// A number with a fixed number of digits after the point and separators before it.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    separate(&format!("{value:.decimals$}"))
}

/// Separators between the thousands of a written number.
fn separate(number: &str) -> String {
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (whole, fraction) = match number.find('.') {
        Some(point) => number.split_at(point),
        None => (number, ""),
    };
    let mut separated = String::from(sign);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position) % 3 == 0 {
            separated.push(',');
        }
        separated.push(digit);
    }
    separated + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_the_protocol() {
        assert_eq!(
            blocks(&[("text/html", "<b>x</b>\n"), ("text/plain", "x")]),
            "EVCXR_BEGIN_CONTENT text/html\n<b>x</b>\nEVCXR_END_CONTENT\n\
             EVCXR_BEGIN_CONTENT text/plain\nx\nEVCXR_END_CONTENT\n"
        );
    }

    #[test]
    fn numbers_read_as_people_write_them() {
        let table = [
            (bytes(0), "0 B"),
            (bytes(1023), "1023 B"),
            (bytes(1024), "1 KiB"),
            (bytes(1024 * 1024 - 1), "1 MiB"),
            (bytes(3 << 29), "1.5 GiB"),
            (bytes(186 << 30), "186 GiB"),
            (bytes(u64::MAX), "16 EiB"),
            (count(0), "0"),
            (count(999), "999"),
            (count(1_304_438), "1,304,438"),
            (seconds(0.000_31), "0.3 ms"),
            (seconds(0.048), "48 ms"),
            (seconds(0.9999), "1.00 s"),
            (seconds(12.34), "12.3 s"),
            (seconds(59.97), "1 min 00 s"),
            (seconds(125.0), "2 min 05 s"),
            (seconds(3599.8), "1 h 00 min"),
            (seconds(11_220.0), "3 h 07 min"),
            (seconds(f64::NAN), "unknown"),
            (percent(0.0317), "3.2%"),
            (percent(1.0), "100%"),
            (percent(0.0), "0%"),
            (number(-24_873_012.0), "-24,873,012"),
            (number(1234.56), "1,234.6"),
            (number(63_309.03), "63,309"),
            (number(0.012_342), "0.01234"),
            (number(5.123e-9), "5.123e-9"),
            (number(f64::NAN), "NaN"),
            (fixed(-1234.5, 2), "-1,234.50"),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
    }

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

    #[test]
    fn a_card_with_a_chart_that_cannot_be_drawn_keeps_its_values() {
        let card = Card::new("Empty")
            .row("documents", "0")
            .picture(Chart::histogram(&[], "words", "documents"));
        assert!(card.html().contains("documents"));
        assert!(!card.html().contains("<img"));
    }

    #[test]
    fn long_text_ends_in_an_ellipsis() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("Überlänge", 5), "Über…");
        assert_eq!(shorten("a b", 2), "a…");
    }
}
