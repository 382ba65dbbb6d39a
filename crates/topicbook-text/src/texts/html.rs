//! The text of HTML pages.
//!
//! Counting words needs no tree of elements: a pass over the tags suffices, where a parser of the whole standard
//! (html5ever) would bring 20 packages.

/// Elements whose content is not text.
const NO_TEXT: [&str; 6] = ["script", "style", "template", "noscript", "svg", "head"];

/// The text of a page: of `<main>` where it has one, otherwise of all, without scripts, styles and the head. A tag separates
/// words, as between paragraphs, unless it marks up a part of a word.
pub(super) fn text_of(page: &str) -> String {
    let mut rest = main_of(page);
    let mut text = String::with_capacity(rest.len() / 2);
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        if let Some(comment) = tag.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let is_tag = |c: char| c.is_ascii_alphabetic() || c == '/' || c == '!' || c == '?';
        if !tag.starts_with(is_tag) {
            text.push('<');
            rest = tag;
            continue;
        }
        let name_end = tag
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '/')
            .unwrap_or(tag.len());
        let name = tag[..name_end].to_ascii_lowercase();
        rest = after_tag(&tag[name_end..]);
        if NO_TEXT.contains(&name.as_str()) {
            rest = after_element(rest, &name);
        }
        if !is_inline(name.trim_matches('/')) {
            text.push(' ');
        }
    }
    text.push_str(rest);
    html_escape::decode_html_entities(&text).into_owned()
}

/// The content of `<main>`; the whole page where it has none.
fn main_of(page: &str) -> &str {
    let Some((_, main)) = page.split_once("<main") else {
        return page;
    };
    if !main.starts_with([' ', '>', '\n', '\t', '\r']) {
        return page;
    }
    let main = after_tag(main);
    main.split_once("</main>").map_or(main, |(main, _)| main)
}

/// What follows the end of a tag. A `>` in the quotes of an attribute does not end it.
fn after_tag(tag: &str) -> &str {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return &tag[at + 1..],
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    // A quote that is not closed would take all the rest: the tag then ends at the first `>`.
    tag.split_once('>').map_or("", |(_, rest)| rest)
}

/// What follows the closing tag of an element; nothing where it has none.
fn after_element<'a>(content: &'a str, name: &str) -> &'a str {
    let mut rest = content;
    while let Some((_, tag)) = rest.split_once("</") {
        let closes = tag
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name));
        rest = tag;
        if closes {
            return after_tag(&tag[name.len()..]);
        }
    }
    ""
}

/// Whether an element can be a part of a word: `<b>re</b>write` is one word.
fn is_inline(name: &str) -> bool {
    const INLINE: [&str; 18] = [
        "a", "abbr", "b", "big", "cite", "code", "em", "font", "i", "kbd", "mark", "s", "small",
        "span", "strong", "tt", "u", "wbr",
    ];
    INLINE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_their_text() {
        for (page, expected) in [
            ("", ""),
            ("plain < text", "plain < text"),
            ("<p>One<p>two<br>three", "One two three"),
            ("<p><b>re</b>write&nbsp;it", "rewrite\u{a0}it"),
            ("&lt;b&gt; &amp; &eacute;&#233;", "<b> & éé"),
            ("<head><title>no</title></head><body>yes", "yes"),
            ("<nav>no</nav><main class=\"a>b\">yes</main><p>no", "yes"),
            ("a<script>if (x < 1) {}</SCRIPT >b", "a b"),
            ("a<!-- <p>no --> b<style>never closed", "a b"),
            ("<a title='x\">unclosed quote", "unclosed quote"),
            ("<", "<"),
            ("<p", ""),
            ("<mainly>all of it</mainly>", "all of it"),
        ] {
            let text = text_of(page);
            let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
            assert_eq!(words.join(" "), expected, "{page}");
        }
    }
}
