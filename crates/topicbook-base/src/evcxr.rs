//! The protocol of evcxr, by which a cell shows HTML and pictures: blocks by MIME type on standard output.

use std::cell::RefCell;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::Error;
use crate::text::{Card, escape, printable};

/// A picture below a card.
pub struct Picture {
    pub png: Vec<u8>,
    /// Width and height on the page, in CSS pixels.
    pub size: (u32, u32),
    pub description: String,
    /// A sentence below the picture: what is missing in it.
    pub note: Option<String>,
}

impl Picture {
    fn html(&self) -> String {
        let (width, height) = self.size;
        let mut html = format!(
            "<p><img width=\"{width}\" height=\"{height}\" alt=\"{}\" src=\"data:image/png;base64,{}\"></p>\n",
            escape(&self.description),
            STANDARD.encode(&self.png)
        );
        if let Some(note) = &self.note {
            html.push_str(&format!("<p>{}</p>\n", escape(note)));
        }
        html
    }
}

/// Shows a value as HTML, and as text for front ends without HTML.
///
/// evcxr keeps one block per MIME type and cell, so a value must be shown by a single call.
pub fn show(html: &str, text: &str) {
    print(&[("text/html", html), ("text/plain", text)]);
}

/// Shows a text of this MIME type, and as it is for other front ends.
pub fn show_as(mime: &str, text: &str) {
    print(&[(mime, text), ("text/plain", text)]);
}

/// Shows a card and a small picture below it.
pub fn show_card(card: &Card, picture: Option<Picture>) {
    show(&card_html(card, picture), &card.text());
}

impl Card {
    /// Shows the card.
    pub fn show(&self) {
        show_card(self, None);
    }
}

/// What a cell shows of a value.
pub trait Shown {
    fn show_below(&self);
}

impl Shown for Card {
    fn show_below(&self) {
        self.show();
    }
}

impl Shown for String {
    fn show_below(&self) {
        show(&escape(self), self);
    }
}

/// Has cells show values of these types as a card or a text.
#[macro_export]
macro_rules! shown {
    ($($T:ty: |$value:ident| $shown:expr;)+) => {$(
        impl $T {
            #[doc(hidden)]
            pub fn evcxr_display(&self) {
                let $value = self;
                $crate::evcxr::Shown::show_below(&$shown);
            }
        }
    )+};
}

pub use crate::shown;

/// A card as HTML, with a small picture below it.
pub fn card_html(card: &Card, picture: Option<Picture>) -> String {
    let mut html = card.html();
    if let Some(picture) = picture {
        html.push_str(&picture.html());
    }
    html
}

/// Shows a picture with its note.
pub fn show_picture(picture: &Picture) {
    let note = picture.note.as_deref().unwrap_or_default();
    show(&picture.html(), &format!("{}\n{note}", picture.description));
}

/// Shows a PNG picture, and a line of text for front ends without pictures.
pub fn show_png(png: &[u8], text: &str) {
    print(&[("image/png", &STANDARD.encode(png)), ("text/plain", text)]);
}

/// Shows only text, for pictures that could not be drawn.
pub fn show_text(text: &str) {
    print(&[("text/plain", text)]);
}

/// Shows an error for a value that cannot be shown. In our kernel the cell fails by it, as by a `?`, so that no later cell runs;
/// its variables stay.
pub fn show_error(error: &Error) {
    let is_captured = CAPTURED.with_borrow(Option::is_some);
    if is_captured || !crate::system::in_own_kernel() {
        return show_text(&error.to_string());
    }
    eprintln!("{error}");
    println!("TOPICBOOK_FAILED");
}

thread_local! {
    /// What this thread shows, while it is not shown below a cell.
    static CAPTURED: RefCell<Option<Vec<(String, String)>>> = const { RefCell::new(None) };
}

/// Calls `show`, and returns what it shows, by MIME type, in the place of showing it.
pub fn captured(show: impl FnOnce()) -> Vec<(String, String)> {
    CAPTURED.set(Some(Vec::new()));
    show();
    CAPTURED.take().unwrap_or_default()
}

/// Prints all blocks in one write, so that no line of another thread falls between them.
fn print(contents: &[(&str, &str)]) {
    let owned =
        |&(mime, content): &(&str, &str)| (mime.to_owned(), printable(content).into_owned());
    let is_captured = CAPTURED.with_borrow_mut(|captured| {
        let captured = captured.as_mut();
        captured
            .map(|captured| captured.extend(contents.iter().map(owned)))
            .is_some()
    });
    if is_captured {
        return;
    }
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

impl Error {
    /// Shows the message below a cell, for an error that is in a variable.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let text = self.to_string();
        // Long lines are broken between words.
        let style = "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere";
        show(
            &format!("<pre style=\"{style}\">{}</pre>", escape(&text)),
            &text,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_description_and_its_note() {
        let picture = Picture {
            png: vec![1],
            size: (2, 3),
            description: "a < b".into(),
            note: Some("no font & no letters".into()),
        };
        let html = card_html(&Card::new("Card"), Some(picture));
        assert!(html.contains("alt=\"a &lt; b\""), "{html}");
        assert!(html.ends_with("<p>no font &amp; no letters</p>\n"));
    }

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
}
