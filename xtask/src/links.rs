//! Relative links of Markdown pages and notebooks lead to files, and to headings of pages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result};

/// Fails on every relative link that leads nowhere, and names it.
pub fn check(places: &Places) -> Result<()> {
    let mut wrong = Vec::new();
    for file in texts(&places.root)? {
        for link in links(&text(&file)?) {
            if !leads_somewhere(&file, &link)? {
                wrong.push(format!("{}: no such link: {link}", file.display()));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Fail::new(wrong.join("\n"))),
    }
}

fn leads_somewhere(file: &Path, link: &str) -> Result<bool> {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => file.to_path_buf(),
        path => file.parent().unwrap_or(Path::new("")).join(path),
    };
    if heading.is_empty() || target.extension().is_none_or(|kind| kind != "md") {
        return Ok(target.exists());
    }
    Ok(target.is_file() && headings(&text(&target)?).any(|anchor| anchor == heading))
}

/// The pages and notebooks below a folder, without files of other programs.
fn texts(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || matches!(&*name, "target" | "build") || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(texts(&path)?);
        } else if name.ends_with(".md") || name.ends_with(".ipynb") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The text of a page, or of the Markdown cells of a notebook.
fn text(file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).at(file)?;
    if file.extension().is_none_or(|kind| kind != "ipynb") {
        return Ok(text);
    }
    let notebook: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Fail::new(format!("{}: {error}", file.display())))?;
    let cells = notebook["cells"].as_array().into_iter().flatten();
    let lines = cells
        .filter(|cell| cell["cell_type"] == "markdown")
        .flat_map(|cell| cell["source"].as_array().into_iter().flatten())
        .filter_map(|line| line.as_str())
        // The last line of a cell has no end.
        .map(|line| format!("{}\n", line.trim_end()));
    Ok(lines.collect())
}

/// The lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// The relative destinations of links and pictures.
fn links(text: &str) -> Vec<String> {
    prose(text)
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(link, _)| link.to_string())
        .filter(|link| !link.contains(':'))
        .collect()
}

/// The anchors that forges give to the headings of a page.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text)
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter(kept)
                .collect::<String>()
                .replace(' ', "-")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_prose_are_found() {
        let text =
            "[a](a.md) ![b](b/c.png)\n```text\n[d](d.md)\n```\n[e](https://example.org) [f](#g)";
        assert_eq!(links(text), ["a.md", "b/c.png", "#g"]);
    }

    #[test]
    fn headings_are_anchors() {
        let text = "# Rust, in `ten` lines\n## L and F\n```sh\n# no heading\n```";
        assert_eq!(
            headings(text).collect::<Vec<_>>(),
            ["rust-in-ten-lines", "l-and-f"]
        );
    }
}
