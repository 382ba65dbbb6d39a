//! Notebook display of what people read: the page that explains a fit, and texts.

use crate::fit::Explorer;
#[cfg(feature = "polars")]
use crate::fit::Words;
use crate::text::{bytes, escape};

use crate::evcxr::{show, show_error, show_text};

/// Height of the page in a cell, in CSS pixels: the map and 30 terms.
const HEIGHT: u32 = 960;
/// Bytes of a page that a cell shows. Jupyter's server drops outputs of more than 3 MB in three seconds, and the page is saved
/// with the notebook.
const LARGEST: usize = 2_500_000;

impl Explorer {
    /// Shows the page below a cell, or why it cannot be made.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let text = format!("Explorer: {}", self.heading());
        match self.to_html() {
            Ok(page) if page.len() > LARGEST => show_text(&format!(
                "{text}\nThe page has {}, too much for a cell: .save_html(\"topics.html\")? writes it as a file.",
                bytes(page.len() as u64)
            )),
            Ok(page) => show(&framed(&page, &text), &text),
            Err(error) => show_error(&error),
        }
    }
}

#[cfg(feature = "polars")]
impl Words {
    /// Shows the texts, their words in the colours of the topics.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show(&self.to_html(), &self.to_string());
    }
}

/// The page in a frame of its own: the styles and scripts of page and notebook do not affect each other. The frame has no
/// access to the notebook; a script next to it answers its question about the theme.
fn framed(page: &str, title: &str) -> String {
    // The page stands in single quotes, because JSON is full of double ones.
    let page = page.replace('&', "&amp;").replace('\'', "&#39;");
    format!(
        "<p>{}: shown in trusted notebooks only. Run the cell, or choose “Trust Notebook” in JupyterLab's commands.</p>\n\
         <iframe title=\"{}\" sandbox=\"allow-scripts\" style=\"width:100%;height:{HEIGHT}px;border:0\" srcdoc='{page}'></iframe>\n\
         <script>{THEME}</script>\n",
        escape(title),
        escape(title)
    )
}

/// Removes the sentence above the frame, because JupyterLab runs scripts where it shows frames. Tells the frame the theme of
/// the notebook, in JupyterLab or in VS Code.
const THEME: &str = include_str!("explorer_theme.js");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_cannot_leave_its_frame() {
        let html = framed("<p title='a' class=\"b\">&lt;</p>", "\"><script>");
        assert!(html.contains("srcdoc='<p title=&#39;a&#39; class=\"b\">&amp;lt;</p>'></iframe>"));
        assert!(html.starts_with("<p>&quot;&gt;&lt;script&gt;: shown"));
        assert!(
            html.contains("<iframe title=\"&quot;&gt;&lt;script&gt;\" sandbox=\"allow-scripts\"")
        );
    }
}
