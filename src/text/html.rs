//! HTML escaping and table cells.

/// A cell of an HTML table with its text escaped.
pub(crate) fn cell(tag: &str, align: &str, text: &str) -> String {
    format!(
        "<{tag} align=\"{align}\" style=\"text-align:{align}\">{}</{tag}>",
        escape(text)
    )
}

/// Escapes text, so that HTML shows it literally.
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
