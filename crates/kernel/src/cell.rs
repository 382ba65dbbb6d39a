//! The statements of a cell.

use ra_ap_syntax::ast::{self, HasModuleItem, HasName};
use ra_ap_syntax::{AstNode, Edition, SourceFile};

/// Calls that may take hours, after which a value must not be lost because a later line of the same cell fails.
const LONG_CALLS: [&str; 5] = [".fit(", ".resume(", ".join(", ".generate(", ".train("];

/// Cuts a cell after each `let` that may take long, so that each part keeps its variables before the next begins. In every
/// part, the text before it is blank, so that errors name the lines of the cell. One part if there is nothing to cut.
pub fn parts(code: &str) -> Vec<String> {
    let cuts: Vec<usize> = statements(code)
        .windows(2)
        .filter(|pair| pair[0].is_let && LONG_CALLS.iter().any(|call| pair[0].text.contains(call)))
        .map(|pair| pair[0].end)
        .collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for end in cuts.into_iter().chain([code.len()]) {
        let blank: String = code[..start]
            .chars()
            .map(|character| if character == '\n' { '\n' } else { ' ' })
            .collect();
        parts.push(blank + &code[start..end]);
        start = end;
    }
    parts
}

/// The cell with a semicolon after a last line that prints or repeats something. evcxr compiles a last line without one twice
/// if it is no value of ours: it looks first for a way to show it.
pub fn closed(code: &str) -> String {
    match statements(code).last() {
        Some(last) if last.is_unit => format!("{};{}", &code[..last.end], &code[last.end..]),
        _ => code.to_owned(),
    }
}

/// The variables that the cell's own `let` statements bind.
pub fn new_variables(code: &str) -> Vec<String> {
    statements(code)
        .into_iter()
        .flat_map(|statement| statement.variables)
        .collect()
}

struct Statement {
    is_let: bool,
    /// Whether it is a last line without semicolon whose value says nothing.
    is_unit: bool,
    text: String,
    /// Where the statement ends in the cell.
    end: usize,
    variables: Vec<String>,
}

/// What stands before a cell where it is parsed.
const BEFORE: &str = "fn cell() {\n";

/// A cell as the body of a function.
pub fn parsed(code: &str) -> SourceFile {
    SourceFile::parse(&format!("{BEFORE}{code}\n}}"), Edition::Edition2024).tree()
}

/// The statements of a cell outside of blocks; none if the cell has commands of evcxr.
fn statements(code: &str) -> Vec<Statement> {
    if code.lines().any(|line| line.starts_with([':', '!'])) {
        return Vec::new();
    }
    let Some(ast::Item::Fn(cell)) = parsed(code).items().next() else {
        return Vec::new();
    };
    let Some(list) = cell.body().and_then(|body| body.stmt_list()) else {
        return Vec::new();
    };
    let statements = list.statements().map(|statement| {
        let pattern = match &statement {
            ast::Stmt::LetStmt(binding) => binding.pat(),
            _ => None,
        };
        let variables = pattern.iter().flat_map(|pattern| {
            let names = pattern
                .syntax()
                .descendants()
                .filter_map(ast::IdentPat::cast);
            names.filter_map(|pattern| Some(pattern.name()?.text().to_string()))
        });
        (
            pattern.is_some(),
            false,
            statement.syntax().clone(),
            variables.collect(),
        )
    });
    let last = list
        .tail_expr()
        .map(|tail| (false, is_unit(&tail), tail.syntax().clone(), Vec::new()));
    statements
        .chain(last)
        .map(|(is_let, is_unit, node, variables)| Statement {
            is_let,
            is_unit,
            text: node.text().to_string(),
            end: usize::from(node.text_range().end())
                .saturating_sub(BEFORE.len())
                .min(code.len()),
            variables,
        })
        .collect()
}

fn is_unit(expression: &ast::Expr) -> bool {
    match expression {
        ast::Expr::ForExpr(_) | ast::Expr::WhileExpr(_) => true,
        ast::Expr::MacroExpr(call) => {
            let text = call.syntax().text().to_string();
            let name = text.split('!').next().unwrap_or_default();
            ["println", "print", "eprintln", "eprint"].contains(&name.trim())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_that_prints_gets_a_semicolon() {
        assert_eq!(
            closed("println!(\"é\") // said"),
            "println!(\"é\"); // said"
        );
        assert_eq!(
            closed("1;\nfor k in 0..3 { f(k) }"),
            "1;\nfor k in 0..3 { f(k) };"
        );
        for code in [
            "a",
            "a;",
            "let b = 1;",
            "println!(\"x\");",
            "vec![1]",
            ":vars",
            "",
        ] {
            assert_eq!(closed(code), code);
        }
    }

    #[test]
    fn a_cell_is_cut_after_a_fit() {
        let code = "let a = 1;\nlet é = m.fit(&c)?;\né.save(\"x\")?;";
        let parts = parts(code);
        assert_eq!(parts[0], "let a = 1;\nlet é = m.fit(&c)?;");
        assert_eq!(parts[1].trim(), "é.save(\"x\")?;");
        assert_eq!(parts[1].lines().count(), 3);
        assert_eq!(super::parts("let a = m.fit(&c)?;"), ["let a = m.fit(&c)?;"]);
        assert_eq!(super::parts("a.fit(&c)?; 1"), ["a.fit(&c)?; 1"]);
        assert_eq!(super::parts(":dep x\nlet a = m.fit(&c)?;\n1").len(), 1);
    }

    #[test]
    fn variables_are_those_of_the_outer_lets() {
        let code = "let (a, mut b) = f(); { let c = 1; } let d: u8 = 2; d";
        assert_eq!(new_variables(code), ["a", "b", "d"]);
        assert!(new_variables("let ").is_empty());
    }
}
