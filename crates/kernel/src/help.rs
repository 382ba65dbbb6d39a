//! The documentation that Shift+Tab shows.

/// The names that rust-analyzer has for the library and the crates that it shows.
const INTERNAL: [&str; 11] = [
    "topicbook_outline",
    "topicbook_lib",
    "topicbook_base",
    "topicbook_charts",
    "topicbook_cluster",
    "topicbook_counts",
    "topicbook_data",
    "topicbook_gpu",
    "topicbook_module",
    "topicbook_solvers",
    "topicbook_text",
];

pub fn plain(text: &str) -> String {
    public_names(text)
}

/// Makes tables of the lines with bars that evcxr leaves as they are, and headings of the size of text.
pub fn html(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, (paragraph, after))) = rest
        .split_once("<p>|")
        .and_then(|(before, after)| Some((before, after.split_once("</p>")?)))
    {
        shown.push_str(before);
        shown.push_str(&table(&format!("|{paragraph}")));
        rest = after;
    }
    shown.push_str(rest);
    for level in ["h1>", "h2>", "h3>"] {
        shown = shown.replace(level, "h4>");
    }
    public_names(&shown)
}

fn table(lines: &str) -> String {
    let rows = lines
        .lines()
        .filter(|line| !line.chars().all(|character| "|-: ".contains(character)));
    let rows = rows.enumerate().map(|(number, line)| {
        let kind = if number == 0 { "th" } else { "td" };
        let cells = line.trim().trim_matches('|').split('|');
        let cells: String = cells
            .map(|cell| format!("<{kind}>{}</{kind}>", cell.trim()))
            .collect();
        format!("<tr>{cells}</tr>\n")
    });
    format!("<table>\n{}</table>\n", rows.collect::<String>())
}

fn public_names(text: &str) -> String {
    INTERNAL.iter().fold(text.to_owned(), |text, name| {
        text.replace(name, "topicbook")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_tables() {
        let shown = html(
            "<h1>Errors</h1><p>| a | b |\n|---|--:|\n| 1 | topicbook_outline::X |</p><p>end</p>",
        );
        assert_eq!(
            shown,
            "<h4>Errors</h4><table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>topicbook::X</td></tr>\n</table>\n<p>end</p>"
        );
    }
}
