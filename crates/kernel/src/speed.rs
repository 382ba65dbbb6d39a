//! How much the compiler optimises a cell.
//!
//! Most cells are a few calls into a library that is compiled already: their own code runs for microseconds, and without
//! optimisation it is compiled in half the time. A cell that repeats something itself is optimised, as evcxr does with
//! every cell. Such a cell has a loop, a closure or a function, or uses a function from an earlier cell, which is
//! compiled again with it. Crates are always optimised (see the Cargo configuration that the launcher writes).

use std::collections::HashSet;

use ra_ap_syntax::{AstNode, SourceFile, SyntaxKind};

use crate::cell;

/// rustc's levels for a cell of calls and for one that repeats something.
const CALLS: &str = "0";
const REPEATS: &str = "2";

/// What cells have said about their level.
#[derive(Default)]
pub struct Speed {
    /// The functions that cells have defined.
    functions: HashSet<String>,
    /// Whether a cell has set a level itself by `:opt`, which then holds.
    fixed: bool,
}

impl Speed {
    /// The level of a cell; `None` where evcxr's holds.
    pub fn level(&mut self, code: &str) -> Option<&'static str> {
        self.fixed |= code
            .lines()
            .any(|line| line.trim_start().starts_with(":opt"));
        let level = match self.repeats(code) {
            true => REPEATS,
            false => CALLS,
        };
        (!self.fixed).then_some(level)
    }

    /// Whether a cell repeats something, as far as its words tell. Notes the functions that it defines.
    fn repeats(&mut self, code: &str) -> bool {
        let mut found = false;
        let mut defines = false;
        // The first word is the `fn` of the wrapper.
        for (kind, text) in words(&cell::parsed(code)).skip(1) {
            if std::mem::take(&mut defines) && kind == SyntaxKind::IDENT {
                self.functions.insert(text.clone());
            }
            match kind {
                SyntaxKind::FN_KW => (found, defines) = (true, true),
                SyntaxKind::FOR_KW
                | SyntaxKind::WHILE_KW
                | SyntaxKind::LOOP_KW
                | SyntaxKind::PIPE
                | SyntaxKind::PIPE2 => {
                    found = true;
                }
                SyntaxKind::IDENT => {
                    found |= self.functions.contains(&text);
                }
                _ => {}
            }
        }
        found
    }
}

/// The kinds and texts of all tokens but blanks and comments.
fn words(file: &SourceFile) -> impl Iterator<Item = (SyntaxKind, String)> {
    let all = file.syntax().descendants_with_tokens();
    all.filter_map(|element| element.into_token())
        .filter(|token| !token.kind().is_trivia())
        .map(|token| (token.kind(), token.text().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_repeat_something_are_optimised() {
        for code in [
            "for k in [5, 10] { println!(\"{k}\"); }",
            "let squares = (0..9).map(|x| x * x).collect::<Vec<_>>();",
            "fn half(x: f64) -> f64 { x / 2.0 }",
            "let run = || 3;",
        ] {
            assert_eq!(Speed::default().level(code), Some(REPEATS), "{code}");
        }
        for code in [
            "let fit = TopicModel::new(10).fit(&counts)?;\nfit",
            "papers.filter(col(\"year\").gt_eq(1990))? // for a closure |x|",
            "let title = \"for\";",
            "let total: f64 = values.iter().sum();",
        ] {
            assert_eq!(Speed::default().level(code), Some(CALLS), "{code}");
        }
    }

    #[test]
    fn a_function_of_an_earlier_cell_is_optimised_where_it_is_used() {
        let mut speed = Speed::default();
        assert_eq!(
            speed.level("fn half(x: f64) -> f64 { x / 2.0 }"),
            Some(REPEATS)
        );
        assert_eq!(speed.level("1 + 1"), Some(CALLS));
        assert_eq!(speed.level("half(3.0)"), Some(REPEATS));
    }

    #[test]
    fn a_level_that_a_person_sets_holds() {
        let mut speed = Speed::default();
        assert_eq!(speed.level(":opt 1"), None);
        assert_eq!(speed.level("for _ in 0..9 {}"), None);
    }
}
