//! A chart as a page of its own.

use crate::error::Result;
use crate::text::escape;

use super::Chart;
use super::svg::hex;
use super::theme::{DARK, LIGHT, Theme};

/// The colours of a page, as style rules of its body and its tables.
fn colours(theme: &Theme) -> String {
    format!(
        "body {{ background: {}; color: {} }} td, th {{ border-bottom: 1px solid {} }}",
        hex(theme.background),
        hex(theme.ink),
        hex(theme.faint)
    )
}

impl Chart {
    /// An HTML page with the chart and, below it, `tables`, which are HTML. The page has the light or dark colours that the
    /// reader's system prefers, and needs neither a network nor scripts.
    ///
    /// # Errors
    /// As [`Chart::to_svg`].
    #[doc(hidden)]
    pub fn html_page(&self, tables: &str) -> Result<String> {
        let heading = escape(self.heading());
        let picture = |dark| {
            let mut chart = self.clone().title("");
            chart.look.set_dark(dark);
            chart.to_svg()
        };
        let (light, dark) = (picture(false)?, picture(true)?);
        Ok(format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{heading}</title>\n<style>\n\
             :root {{ color-scheme: light dark }}\n\
             body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 900px; margin: 2em auto; padding: 0 1em }}\n\
             svg {{ max-width: 100%; height: auto }}\n\
             table {{ border-collapse: collapse; font-size: 14px }}\n\
             td, th {{ padding: 0.2em 0.7em 0.2em 0; font-variant-numeric: tabular-nums }}\n\
             {}\n.dark {{ display: none }}\n\
             @media (prefers-color-scheme: dark) {{ {} .light {{ display: none }} .dark {{ display: block }} }}\n\
             </style>\n</head>\n<body>\n<h1 dir=\"auto\">{heading}</h1>\n<div class=\"light\">\n{light}</div>\n\
             <div class=\"dark\">\n{dark}</div>\n{tables}</body>\n</html>\n",
            colours(&LIGHT),
            colours(&DARK)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_needs_nothing_else_and_escapes_its_title() {
        let chart = Chart::lines([9.0, 7.0, 6.0]).title("</title><script>alert(1)</script>");
        let page = chart.html_page("<p>below</p>\n").unwrap();
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
        assert!(page.contains("<p>below</p>"));
        // Both pictures, on their backgrounds.
        assert_eq!(page.matches("<svg ").count(), 2);
        assert!(page.contains("fill=\"#FFFFFF\"") && page.contains("fill=\"#111111\""));
        // The only address is the XML namespace of SVG, which is not fetched.
        let addresses: Vec<&str> = page.matches("http").collect();
        assert_eq!(
            addresses.len(),
            page.matches("http://www.w3.org/2000/svg").count()
        );
        for loads in ["src=", "href=", "url(", "@import"] {
            assert!(!page.contains(loads), "{loads}");
        }
        assert!(Chart::histogram([0.0; 0]).html_page("").is_err());
    }
}
