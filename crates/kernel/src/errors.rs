//! The compiler's messages as text that reads well in any theme: without colours, which some themes make illegible.

use evcxr::CompilationError;

use crate::cell;
use crate::names::{Gone, Names};

/// The text of all errors of a cell, each with its line, a mark below the place and what to do.
pub fn compilation(errors: &[CompilationError], code: &str, names: &Names) -> Vec<String> {
    let mut lines = Vec::new();
    for error in errors {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        one(error, code, names, &mut lines);
    }
    lines
}

fn one(error: &CompilationError, code: &str, names: &Names, lines: &mut Vec<String>) {
    let message = error.message();
    if message.contains("delimiter")
        && let Some(at) = cell::unclosed(code)
    {
        let before = &code[..at];
        let line = before.matches('\n').count();
        let column = before.chars().rev().take_while(|&c| c != '\n').count();
        let bracket = &code[at..at + 1];
        lines.push(format!("error: `{bracket}` is not closed"));
        let text = code.lines().nth(line).unwrap_or_default();
        lines.push(format!("{:>4} | {text}", line + 1));
        lines.push(format!("{}^", " ".repeat(7 + column)));
        return;
    }
    match error.code() {
        Some(number) => lines.push(format!("error[{number}]: {message}")),
        None => lines.push(format!("error: {message}")),
    }
    let mut notes = Vec::new();
    for spanned in error.spanned_messages() {
        let Some(span) = &spanned.span else {
            notes.push(spanned.label.clone());
            continue;
        };
        let Some(text) = code.lines().nth(span.start_line.saturating_sub(1)) else {
            continue;
        };
        let number = format!("{:>4} | ", span.start_line);
        let width = match span.end_line == span.start_line {
            true => span.end_column.saturating_sub(span.start_column).max(1),
            false => text
                .chars()
                .count()
                .saturating_sub(span.start_column - 1)
                .max(1),
        };
        if lines.last() != Some(&format!("{number}{text}")) {
            lines.push(format!("{number}{text}"));
        }
        let space = " ".repeat(number.len() + span.start_column.saturating_sub(1));
        lines.push(
            format!("{space}{} {}", "^".repeat(width), spanned.label)
                .trim_end()
                .to_owned(),
        );
    }
    lines.extend(notes.into_iter().filter(|note| !note.is_empty()));
    lines.extend(error.help().into_iter().map(|help| format!("help: {help}")));
    lines.extend(to_do(error, &message, names).map(|hint| format!("to do: {hint}")));
}

/// What a person in a notebook can do about an error, where rustc's advice does not fit a cell.
fn to_do(error: &CompilationError, message: &str, names: &Names) -> Option<String> {
    let quoted = message.split('`').nth(1).unwrap_or_default();
    match error.code() {
        Some("unused_must_use") => Some(
            "write `?` after the call, so that an error is not lost; or bind the value with `let`"
                .into(),
        ),
        Some("E0107") if message.starts_with("enum takes 2") => Some(
            "say the type of the error, too, as in `Result<f64, Error>`, or write `topicbook::Result<f64>`".into(),
        ),
        Some("E0425") => names.hint(quoted),
        Some("E0599") if quoted == "labels" => Some(
            "the documents have the labels: `pages.documents().labels(\"folder\")?`, where `pages` is what `fit_transform` returned".into(),
        ),
        Some("E0277") if message.contains("TensorData: From<Vec<") => Some(
            "lend the numbers: `Tensor::from_data(&*batch.labels(), &device)`".into(),
        ),
        Some("E0384" | "E0596") => Some("make the variable mutable: `let mut x = x;`".into()),
        _ => error.evcxr_extra_hint().map(str::to_owned),
    }
}

/// The text of a `?` that returned an error, or of a panic, from what Rust printed.
pub fn run_time(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.starts_with("note: run with `RUST_BACKTRACE"))
        .map(
            |line| match line.starts_with("thread '") && line.contains("' ") {
                // The rest of such a line names a place in the generated code.
                true if line.contains("panicked at") => "panicked:".to_owned(),
                _ => line.to_owned(),
            },
        )
        .skip_while(|line| line.is_empty())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// What to do about a value that is a `Result` of more than a number or a word, which has the form of Rust's `Debug`.
pub fn of_result(shown: &str) -> Option<&'static str> {
    let is_long = shown.contains(['\n', '{']);
    match (shown.starts_with("Ok("), shown.starts_with("Err(")) {
        (true, _) if is_long => {
            Some("to do: write `?` after the call: the cell then shows the value itself")
        }
        (_, true) if is_long => {
            Some("to do: write `?` after the call: the cell then stops with the error")
        }
        _ => None,
    }
}

/// Names of variables in a sentence.
pub fn list<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(", ")
}

/// What a cell that failed has lost, and why.
pub fn of_lost(lost: &[(String, Gone)]) -> Vec<String> {
    let (moved, new): (Vec<_>, Vec<_>) = lost
        .iter()
        .filter(|(_, gone)| *gone != Gone::Redefined)
        .partition(|(_, gone)| matches!(gone, Gone::Moved | Gone::Shadowed));
    let line = |lost: Vec<&(String, Gone)>, why: &str| {
        let names: Vec<&String> = lost.iter().map(|(name, _)| name).collect();
        let are = if names.len() == 1 { "is" } else { "are" };
        (!names.is_empty()).then(|| format!("{} {are} lost: {why}", list(&names)))
    };
    let why_new = "a cell keeps its new variables only if all of it succeeds. What takes long or may fail is better in a cell \
        of its own.";
    let why_moved =
        "the cell passed the value on before it failed. `&` or `.clone()` there keeps it.";
    [line(new, why_new), line(moved, why_moved)]
        .into_iter()
        .flatten()
        .collect()
}

/// Which variables still have the values that a failed cell was to replace.
pub fn of_kept(names: &[String]) -> String {
    match names {
        [name] => format!("`{name}` keeps the value that it had before this cell."),
        _ => format!(
            "{} keep the values that they had before this cell.",
            list(names)
        ),
    }
}

/// Maximum characters of a line, which then fits next to JupyterLab's list of files in a window of 900 pixels.
/// JupyterLab breaks longer lines within words.
const COLUMNS: usize = 76;

/// Breaks long lines of text between words, but not lines of code and the marks below them.
pub fn wrapped(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().flat_map(|line| wrap(&line)).collect()
}

fn wrap(line: &str) -> Vec<String> {
    let is_code = line.trim_start().starts_with('^') || line.get(4..7) == Some(" | ");
    if is_code || line.chars().count() <= COLUMNS {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start().len();
    let mut lines = vec![line[..indent].to_owned()];
    for word in line.split_whitespace() {
        let last = lines.last_mut().expect("the first line was made above");
        let width = last.chars().count();
        if width > indent && width + 1 + word.chars().count() > COLUMNS {
            lines.push(" ".repeat(indent) + word);
        } else {
            if width > indent {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

/// Messages of evcxr about a cell as a whole.
pub fn of_evcxr(message: &str) -> Vec<String> {
    let mut lines: Vec<String> = message.lines().map(str::to_owned).collect();
    if message.starts_with("Couldn't automatically determine type") {
        let name = message.split('`').nth(1).unwrap_or("x");
        lines = vec![
            format!(
                "the notebook cannot find the type of `{name}`, which it must know to keep the variable"
            ),
            format!(
                "to do: write the type, as in `let {name}: f64 = ...;`; for a data frame, `Table::from(...)` needs none; or put \
                 the lines that use `{name}` into one block {{ ... }}"
            ),
        ];
    } else if message.contains("is a closure") {
        let name = message.split('`').nth(1).unwrap_or("f");
        lines = vec![
            format!(
                "`{name}` is a closure, whose type has no name, so the notebook cannot keep it"
            ),
            format!("to do: write a function, as in `fn {name}(x: f64) -> f64 {{ ... }}`"),
        ];
    }
    lines
}

/// What a person should know when the process of the cells has ended.
pub fn ended(message: &str, asked: bool) -> Vec<String> {
    let what = match asked {
        true => "stopped: the cell ran code that cannot be interrupted, so the process of the cells was ended".into(),
        false if message.contains("signal: 9") => {
            "the process of the cells was killed, probably by the system for lack of memory".into()
        }
        false => format!("the process of the cells ended: {}", message.trim()),
    };
    let advice = match asked {
        true => {
            "a fit can be stopped without loss: the stop button ends it early, and its result is kept"
        }
        false => {
            "save what took long, as by `fit.save(\"fit.safetensors\")?`, in the cell after it"
        }
    };
    vec![
        what,
        "All variables are lost; functions and `use` lines are kept.".into(),
        format!("to do: run the cells from the top; {advice}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words_and_code_is_not() {
        let text = "  ".to_owned() + &"eleven char ".repeat(20);
        let lines = wrapped(vec![text.clone(), format!("   1 | {text}")]);
        assert_eq!(lines.len(), 5);
        assert!(
            lines[..4]
                .iter()
                .all(|line| line.len() <= COLUMNS && line.starts_with("  eleven"))
        );
        assert_eq!(lines[4], format!("   1 | {text}"));
    }

    #[test]
    fn a_result_of_several_lines_says_what_to_write() {
        for (shown, expected) in [
            ("Ok(term  count\n1 row × 2 columns)", "shows the value"),
            ("Ok(Fit { topics: 3 })", "shows the value"),
            ("Err(no column\n  to do: look)", "stops with the error"),
        ] {
            assert!(of_result(shown).unwrap().contains(expected), "{shown}");
        }
        for shown in ["Ok(3)", "Err(\"not x\")", "{1: 2}", "a\nb"] {
            assert_eq!(of_result(shown), None);
        }
    }

    #[test]
    fn a_panic_shows_its_message() {
        let text = "\nthread '<unnamed>' (7) panicked at src/lib.rs:5:9:\nno topic 3\nnote: run with `RUST_BACKTRACE=1` ...\n";
        assert_eq!(run_time(text), ["panicked:", "no topic 3"]);
    }
}
