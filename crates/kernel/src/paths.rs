//! Completion of file names in the texts of a cell, such as `Counts::open("da`.

use std::fs;
use std::path::Path;

/// The most names that are offered.
const LIMIT: usize = 200;

/// Where the last component of the path begins, and the files and folders that complete it. None outside of a text.
pub fn complete(before: &str) -> Option<(usize, Vec<String>)> {
    let text = open_text(before)?;
    let start = text.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, name) = text.split_at(start);
    let folder = if folder.is_empty() { "." } else { folder };
    let mut found: Vec<String> = fs::read_dir(Path::new(folder))
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let is_folder = entry.path().is_dir();
            let entry = entry.file_name().into_string().ok()?;
            let hidden = entry.starts_with('.') && !name.starts_with('.');
            let slash = if is_folder { "/" } else { "" };
            (entry.starts_with(name) && !hidden).then(|| entry + slash)
        })
        .collect();
    found.sort();
    found.truncate(LIMIT);
    (!found.is_empty()).then(|| (before.len() - name.len(), found))
}

/// The part of a text in double quotes that is open at the end of the code.
fn open_text(before: &str) -> Option<&str> {
    let mut open = None;
    let mut characters = before.char_indices();
    while let Some((at, character)) = characters.next() {
        match (character, open) {
            ('\\', Some(_)) => drop(characters.next()),
            ('"', Some(_)) => open = None,
            ('"', None) => open = Some(at + 1),
            ('\n', None) => {}
            // A comment goes to the end of its line.
            ('/', None) if before[at..].starts_with("//") => {
                while characters
                    .next()
                    .is_some_and(|(_, character)| character != '\n')
                {}
            }
            _ => {}
        }
    }
    before.get(open?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_open_text_counts() {
        assert_eq!(open_text("f(\"a\\\"b/c"), Some("a\\\"b/c"));
        assert_eq!(open_text("f(\"a\")."), None);
        assert_eq!(open_text("// \"\nf(\"x"), Some("x"));
    }

    #[test]
    fn files_complete() {
        let (start, found) = complete("open(\"src/pat").unwrap();
        assert_eq!((start, found), (10, vec!["paths.rs".to_owned()]));
        assert_eq!(complete("open(\"no such folder/"), None);
    }
}
