//! HTML escaping, table cells, and JSON inside a page.

/// A cell of an HTML table with its text escaped. One with letters that are written from right to left has the direction of
/// its first letter.
pub fn cell(tag: &str, align: &str, text: &str) -> String {
    format!(
        "<{tag}{} align=\"{align}\" style=\"text-align:{align}\">{}</{tag}>",
        direction(text),
        escape(text)
    )
}

/// The attribute of an element whose text is written from right to left; nothing for other texts.
pub fn direction(text: &str) -> &'static str {
    match text.contains(is_right_to_left) {
        true => " dir=\"auto\"",
        false => "",
    }
}

/// Whether a character is in a block of Unicode for scripts from right to left, such as Hebrew and Arabic.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
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

/// JSON that neither ends a script element nor begins a comment in it, and is not changed by `printable`.
/// These characters occur in the texts of JSON only, where an escape means the same.
pub fn inside_script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{7F}'..='\u{9F}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_from_right_to_left_where_its_text_is() {
        let plain = "<td align=\"left\" style=\"text-align:left\">письмо 海</td>";
        assert_eq!(cell("td", "left", "письмо 海"), plain);
        assert!(cell("td", "left", "رسالة (1)").starts_with("<td dir=\"auto\" align"));
    }

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
