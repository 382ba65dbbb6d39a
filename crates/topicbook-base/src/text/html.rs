//! HTML escaping and table cells.

/// A cell of an HTML table with its text escaped.
pub fn cell(tag: &str, align: &str, text: &str) -> String {
    format!(
        "<{tag} align=\"{align}\" style=\"text-align:{align}\">{}</{tag}>",
        escape(text)
    )
}

/// Escapes text, so that HTML and SVG show it literally. A control character, which XML does not allow, becomes `\u{FFFD}`.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(character),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('\u{FFFD}'),
            other if other.is_control() => escaped.push('\u{FFFD}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_literally() {
        assert_eq!(
            escape("<b a='1' c=\"2\">&"),
            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;"
        );
        assert_eq!(
            escape("a\tb\nc\u{0}d\u{1b}e\u{FFFF}"),
            "a\tb\nc\u{FFFD}d\u{FFFD}e\u{FFFD}"
        );
    }
}
