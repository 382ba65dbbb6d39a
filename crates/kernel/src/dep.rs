//! What a person should know before a cell's `:dep` compiles a crate that the library contains already.

use std::fs;

use crate::kernel_folder;

/// A line for each crate that a cell adds by `:dep` although the library contains it.
pub fn notes(code: &str) -> Vec<String> {
    let asked: Vec<&str> = code.lines().filter_map(name).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let stack = stack();
    asked
        .into_iter()
        .filter_map(|name| note(name, &stack))
        .collect()
}

/// The crate that a line such as `:dep rand = "0.10"` names.
fn name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix(":dep")?;
    let name = rest.strip_prefix(char::is_whitespace)?.trim_start();
    let end = name
        .find(|character: char| {
            !character.is_alphanumeric() && character != '-' && character != '_'
        })
        .unwrap_or(name.len());
    Some(&name[..end]).filter(|name| !name.is_empty())
}

/// `stack` has the crates of the library, one on each line: its name, its version and its file.
fn note(name: &str, stack: &str) -> Option<String> {
    let name = name.replace('_', "-");
    let version = stack.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let found = words.next()?.replace('_', "-") == name;
        words.next().filter(|_| found)
    })?;
    Some(match name.as_str() {
        "polars" => format!(
            "Polars {version} is here already: `use topicbook::polars::prelude::*;`. This `:dep` compiles another one (ten \
             minutes), whose data frames do not fit the library's tables."
        ),
        _ => format!(
            "The library contains {name} {version}. This `:dep` compiles a copy for this kernel, whose types are not the \
             library's. A `topicbook.toml` next to the notebook builds a crate once for all kernels (see the README)."
        ),
    })
}

/// The file that the launcher wrote next to the library. The crates of a notebook folder are in a folder of that build.
fn stack() -> String {
    let build = kernel_folder().join("build");
    let read = |file: &str| fs::read_to_string(build.join(file)).ok();
    read("stack.txt")
        .or_else(|| read("../../stack.txt"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_named_by_their_dep() {
        assert_eq!(name(":dep rand = \"0.10\""), Some("rand"));
        assert_eq!(name("  :dep num-traits"), Some("num-traits"));
        assert_eq!(name(":dep_x"), None);
        assert_eq!(name(":dep"), None);
        assert_eq!(name("let a = 1;"), None);
    }

    #[test]
    fn only_crates_of_the_library_are_noted() {
        let stack = "num_traits 0.2.19 /a/b.rlib\npolars 0.55.2 /c.rlib\n";
        assert!(note("num-traits", stack).is_some_and(|note| note.contains("0.2.19")));
        assert!(note("polars", stack).is_some_and(|note| note.contains("topicbook::polars")));
        assert_eq!(note("num", stack), None);
        assert_eq!(note("num", ""), None);
    }
}
