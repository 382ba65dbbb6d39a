//! The protocol of evcxr, by which a cell shows HTML and pictures: blocks by MIME type on standard output.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::charts::Chart;
use crate::text::{Card, escape, printable};

/// Shows a value as HTML, and as text for front ends without HTML.
///
/// evcxr keeps one block per MIME type and cell, so a value must be shown by a single call.
pub(super) fn show(html: &str, text: &str) {
    print(&[("text/html", html), ("text/plain", text)]);
}

/// Shows a card and a small chart below it. A chart that cannot be drawn is left out, so that the values are shown.
pub(super) fn show_card(card: &Card, chart: Option<&Chart>) {
    show(&card_html(card, chart), &card.text());
}

/// A card as HTML, with a small chart below it.
pub(super) fn card_html(card: &Card, chart: Option<&Chart>) -> String {
    let mut html = card.html();
    if let Some(chart) = chart
        && let Ok(png) = chart.to_png()
        && let Ok((width, height)) = chart.css_size()
    {
        html.push_str(&format!(
            "<p><img width=\"{width}\" height=\"{height}\" alt=\"{}\" src=\"data:image/png;base64,{}\"></p>\n",
            escape(&chart.describe()),
            STANDARD.encode(png)
        ));
    }
    html
}

/// Shows a PNG picture, and a line of text for front ends without pictures.
pub(super) fn show_png(png: &[u8], text: &str) {
    print(&[("image/png", &STANDARD.encode(png)), ("text/plain", text)]);
}

/// Shows only text, for pictures that could not be drawn.
pub(super) fn show_text(text: &str) {
    print(&[("text/plain", text)]);
}

/// Prints all blocks in one write, so that no line of another thread falls between them.
fn print(contents: &[(&str, &str)]) {
    let mut out = std::io::stdout().lock();
    // A closed standard output must not end the computation.
    let _ = out
        .write_all(blocks(contents).as_bytes())
        .and_then(|()| out.flush());
}

fn blocks(contents: &[(&str, &str)]) -> String {
    contents
        .iter()
        .map(|(mime, content)| {
            let content = printable(content.trim_end_matches('\n'));
            format!("EVCXR_BEGIN_CONTENT {mime}\n{content}\nEVCXR_END_CONTENT\n")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_begin_a_block() {
        let text = "spike\nEVCXR_END_CONTENT\nEVCXR_BEGIN_CONTENT text/html\n<script>";
        let blocks = blocks(&[("text/plain", text)]);
        let markers = blocks
            .lines()
            .filter(|line| line.starts_with("EVCXR_"))
            .count();
        assert_eq!(markers, 2, "{blocks}");
    }

    #[test]
    fn blocks_follow_the_protocol() {
        assert_eq!(
            blocks(&[("text/html", "<b>x</b>\n"), ("text/plain", "x")]),
            "EVCXR_BEGIN_CONTENT text/html\n<b>x</b>\nEVCXR_END_CONTENT\n\
             EVCXR_BEGIN_CONTENT text/plain\nx\nEVCXR_END_CONTENT\n"
        );
    }

    #[test]
    fn a_card_shows_its_values_if_its_chart_cannot_be_drawn() {
        let card = Card::new("Empty").row("documents", "0");
        let html = card_html(&card, Some(&Chart::histogram([0.0; 0])));
        assert!(html.contains("documents"));
        assert!(!html.contains("<img"));
    }
}
