//! Files have at most 500 lines, functions at most 100.

use std::fs;

use crate::layers::rust_files;
use crate::places::Places;
use crate::task::{At, Fail, Result};

const FILE: usize = 500;
const FUNCTION: usize = 100;

/// Fails on every file and function that is longer, and names it.
pub fn check(places: &Places) -> Result<()> {
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "crates", "benches", "examples", "xtask"] {
        for file in rust_files(&places.root.join(folder))? {
            let text = fs::read_to_string(&file).at(&file)?;
            let lines = text.lines().count();
            if lines > FILE {
                wrong.push(format!("{} has {lines} lines", file.display()));
            }
            for (line, length) in long_functions(&text) {
                wrong.push(format!(
                    "{}:{line}: a function of {length} lines",
                    file.display()
                ));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Fail::new(wrong.join("\n"))),
    }
}

/// First lines and lengths of the functions that are too long. rustfmt puts the closing brace where the function's first
/// line is indented to.
fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let before = code.split("fn ").next().unwrap_or(code);
        let qualified = before.split_whitespace().all(|word| {
            word.starts_with("pub")
                || ["const", "unsafe", "extern", "\"C\"", "super)"].contains(&word)
        });
        if !code.contains("fn ") || !qualified || code.ends_with(';') {
            continue;
        }
        let closing = format!("{}}}", &line[..line.len() - code.len()]);
        let length = lines[start..].iter().position(|line| *line == closing);
        if let Some(length) = length
            && length + 1 > FUNCTION
        {
            found.push((start + 1, length + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{FUNCTION, long_functions};

    #[test]
    fn a_function_of_more_lines_than_allowed_is_found() {
        let of = |lines: usize| {
            format!(
                "mod a {{\n    pub(crate) fn long() {{\n{}    }}\n}}\n",
                "        go();\n".repeat(lines)
            )
        };
        assert_eq!(long_functions(&of(FUNCTION - 2)), []);
        assert_eq!(long_functions(&of(FUNCTION - 1)), [(2, FUNCTION + 1)]);
    }
}
