//! HTML and Markdown of one's own below a cell.

use std::fmt;

use crate::evcxr::show_as;

/// HTML or Markdown that a cell shows; [`html`] and [`markdown`] make it.
///
/// ```
/// use topicbook::prelude::*;
/// let said = markdown(format!("Topic **{}** has {} documents.", "Law", 12));
/// assert_eq!(said.to_string(), "Topic **Law** has 12 documents.");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    mime: &'static str,
    content: String,
}

/// Shows HTML below a cell, as it is: nothing is escaped. [`Chart::to_svg`](crate::Chart::to_svg) puts a chart into it.
/// JupyterLab removes scripts and styles of notebooks that are not trusted.
///
/// ```
/// use topicbook::prelude::*;
/// let chart = Chart::bars([("sport", 12.0), ("law", 30.0)]);
/// let said = html(format!("<p>Most documents are about <b>law</b>.</p>{}", chart.to_svg()?));
/// assert!(said.to_string().contains("<svg"));
/// # Ok::<(), Error>(())
/// ```
#[doc(alias = "display")]
pub fn html(content: impl fmt::Display) -> Shown {
    Shown {
        mime: "text/html",
        content: content.to_string(),
    }
}

/// Shows Markdown below a cell.
///
/// ```
/// use topicbook::prelude::*;
/// let fits = [(2, 61.5), (4, 48.25)];
/// let rows: String = fits.iter().map(|(k, perplexity)| format!("| {k} | {perplexity} |\n")).collect();
/// let table = markdown(format!("| topics | perplexity |\n|---|---|\n{rows}"));
/// assert!(table.to_string().ends_with("| 4 | 48.25 |\n"));
/// ```
#[doc(alias = "md")]
pub fn markdown(content: impl fmt::Display) -> Shown {
    Shown {
        mime: "text/markdown",
        content: content.to_string(),
    }
}

impl Shown {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show_as(self.mime, &self.content);
    }
}

/// The HTML or Markdown itself.
impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.content)
    }
}
