//! The statements of a cell.

use std::collections::HashSet;

use ra_ap_syntax::ast::{self, HasModuleItem, HasName};
use ra_ap_syntax::{AstNode, Edition, SourceFile, SyntaxKind, SyntaxNode, TextSize};

/// Calls that may take hours, after which a value must not be lost because a later line of the same cell fails.
const LONG_CALLS: [&str; 5] = [".fit(", ".resume(", ".join(", ".generate(", ".train("];

/// Cuts a cell after each `let` that may take long, so that each part keeps its variables before the next begins. In every
/// part, the text before it is blank, so that errors name the lines of the cell. Returns one part if there is nothing to cut.
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

/// Where the first bracket stands that is not closed, or is closed by one of another kind.
pub fn unclosed(code: &str) -> Option<usize> {
    let file = SourceFile::parse(code, Edition::CURRENT).syntax_node();
    let mut open = Vec::new();
    for token in file.descendants_with_tokens() {
        let closes = match token.kind() {
            SyntaxKind::L_PAREN | SyntaxKind::L_BRACK | SyntaxKind::L_CURLY => {
                open.push((token.kind(), usize::from(token.text_range().start())));
                continue;
            }
            SyntaxKind::R_PAREN => SyntaxKind::L_PAREN,
            SyntaxKind::R_BRACK => SyntaxKind::L_BRACK,
            SyntaxKind::R_CURLY => SyntaxKind::L_CURLY,
            _ => continue,
        };
        match open.pop() {
            Some((kind, _)) if kind == closes => {}
            other => return other.map(|(_, at)| at),
        }
    }
    open.pop().map(|(_, at)| at)
}

/// The most brackets inside of one another that are parsed: rustc overflows its own stack at some 1,000.
pub const DEEPEST: usize = 500;

/// Whether a cell has more brackets inside of one another than are parsed.
pub fn is_too_deep(code: &str) -> bool {
    deepest(code) > DEEPEST
}

/// The largest number of brackets inside of one another. Those in texts and comments count, because it is known before anything
/// is parsed.
pub fn deepest(code: &str) -> usize {
    let (mut open, mut deepest) = (0usize, 0);
    for byte in code.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => continue,
        }
        deepest = deepest.max(open);
    }
    deepest
}

/// Binds a variable that evcxr neither sees nor keeps, because it looks only at `let` statements outside of macros. Its name
/// is one that completions leave out.
const HOLD: &str = "#[allow(unused_macros)] macro_rules! evcxr_hold { ($name:ident = $value:expr) => { let $name = $value; } }";

/// The cell with its last expression bound to a variable, which the cell then shows. Returns `None` if the expression
/// can move neither a variable `kept` by earlier cells nor one that the cell binds.
///
/// evcxr appends `.evcxr_display()` to a last expression, and prints the value with `Debug` instead if any error of the compiler
/// touches that line. One of these errors is that it cannot keep a variable which the line has moved. Here the move is
/// in another statement, so that evcxr only forgets the variable.
pub fn bound(code: &str, kept: &HashSet<String>) -> Option<String> {
    let last = body(code)?.tail_expr()?;
    // Other expressions are no values of ours, or are places such as `fit.settings`, out of which a `let` would move.
    let is_value = matches!(
        last,
        ast::Expr::BlockExpr(_)
            | ast::Expr::CallExpr(_)
            | ast::Expr::IfExpr(_)
            | ast::Expr::MatchExpr(_)
            | ast::Expr::MethodCallExpr(_)
            | ast::Expr::TryExpr(_)
    );
    let mut names = kept.clone();
    names.extend(new_variables(code));
    if !is_value || !may_move(last.syntax(), &names) {
        return None;
    }
    let range = last.syntax().text_range();
    let (start, end) = (position(range.start(), code), position(range.end(), code));
    let (before, value, after) = (&code[..start], &code[start..end], &code[end..]);
    Some(format!(
        "{before}{HOLD} evcxr_hold!(evcxr_shown = {value}); evcxr_shown{after}"
    ))
}

/// Whether an expression names one of the variables without a `&` before it. Names of methods, fields and paths do not count.
fn may_move(expression: &SyntaxNode, names: &HashSet<String>) -> bool {
    let all = expression.descendants_with_tokens();
    let mut before = None;
    all.filter_map(|element| element.into_token())
        .filter(|token| !token.kind().is_trivia())
        .any(|token| {
            let before = before.replace(token.kind());
            let other = matches!(
                before,
                Some(SyntaxKind::AMP | SyntaxKind::MUT_KW | SyntaxKind::DOT | SyntaxKind::COLON2)
            );
            !other && token.kind() == SyntaxKind::IDENT && names.contains(token.text())
        })
}

/// The variables that the cell's own `let` statements bind.
pub fn new_variables(code: &str) -> Vec<String> {
    statements(code)
        .into_iter()
        .flat_map(|statement| statement.variables)
        .collect()
}

/// Whether the cell itself returns, and not a function or a closure in it.
pub fn returns(code: &str) -> bool {
    let returns = |found: ast::ReturnExpr| {
        let mut inside = found.syntax().ancestors().skip(1);
        let own = inside.find_map(|node| match node.kind() {
            SyntaxKind::CLOSURE_EXPR => Some(false),
            SyntaxKind::BLOCK_EXPR => ast::BlockExpr::cast(node)
                .filter(|block| block.async_token().is_some())
                .map(|_| false),
            SyntaxKind::FN => Some(
                node.ancestors()
                    .skip(1)
                    .all(|node| node.kind() != SyntaxKind::FN),
            ),
            _ => None,
        });
        own.unwrap_or(false)
    };
    let nodes = body(code)
        .into_iter()
        .flat_map(|body| body.syntax().descendants());
    nodes.filter_map(ast::ReturnExpr::cast).any(returns)
}

struct Statement {
    is_let: bool,
    /// Whether it is a last line without a semicolon, with the value `()`.
    is_unit: bool,
    text: String,
    /// Where the statement ends in the cell.
    end: usize,
    variables: Vec<String>,
}

/// The text before a cell when it is parsed.
const BEFORE: &str = "fn cell() {\n";

/// A cell as the body of a function.
pub fn parsed(code: &str) -> SourceFile {
    SourceFile::parse(&format!("{BEFORE}{code}\n}}"), Edition::Edition2024).tree()
}

/// Whether a line of a cell is this command of evcxr.
pub fn has_command(code: &str, command: &str) -> bool {
    code.lines().any(|line| line.starts_with(command))
}

/// What a cell consists of; nothing if the cell has commands of evcxr, or is too deep.
fn body(code: &str) -> Option<ast::StmtList> {
    if is_too_deep(code) || code.lines().any(|line| line.starts_with([':', '!'])) {
        return None;
    }
    let Some(ast::Item::Fn(cell)) = parsed(code).items().next() else {
        return None;
    };
    cell.body()?.stmt_list()
}

/// The place in a cell of a position in the file as which it is parsed.
fn position(parsed: TextSize, code: &str) -> usize {
    usize::from(parsed)
        .saturating_sub(BEFORE.len())
        .min(code.len())
}

/// The statements of a cell outside of blocks; none if the cell has commands of evcxr.
fn statements(code: &str) -> Vec<Statement> {
    let Some(list) = body(code) else {
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
            end: position(node.text_range().end(), code),
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
    fn a_cell_that_returns_is_found() {
        for (code, expected) in [
            ("let total = 7; if total > 3 { return; }", true),
            ("return Ok(())", true),
            ("fn f() -> i32 { return 3; } let a = f();", false),
            ("let f = |x: i32| { return x; };", false),
            ("let a = async { return 3; };", false),
            ("let returned = \"return\";", false),
        ] {
            assert_eq!(returns(code), expected, "{code}");
        }
    }

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
    fn a_last_expression_that_may_move_a_variable_is_bound() {
        let kept = HashSet::from(["a".to_owned()]);
        assert_eq!(
            bound("f();\ng([(\"é\", a)])? // said", &kept),
            Some(format!(
                "f();\n{HOLD} evcxr_hold!(evcxr_shown = g([(\"é\", a)])?); evcxr_shown // said"
            ))
        );
        for code in [
            "a.dark()",
            "f(vec![a])",
            "let c = 1;\nc.dark()",
            "{ f(a) }",
            "match a { b => b }",
        ] {
            assert!(bound(code, &kept).is_some(), "{code}");
        }
        for code in [
            "a",
            "a.b",
            "a[0]",
            "&a",
            "f(&a)",
            "f(&mut a)",
            "b.a()",
            "f(\"a\")",
            "f(a);",
            "let d = f(a);",
            ":dep x\nf(a)",
            "",
        ] {
            assert_eq!(bound(code, &kept), None, "{code}");
        }
    }

    #[test]
    fn a_bracket_that_is_not_closed_is_found() {
        for (code, expected) in [
            ("fit.top_terms(5", Some(13)),
            ("f(\"(\"); // (", None),
            ("let a = [1, 2);", Some(8)),
            ("{ f(1); [2]", Some(0)),
            ("f(1))", None),
        ] {
            assert_eq!(unclosed(code), expected, "{code}");
        }
    }

    #[test]
    fn variables_are_those_of_the_outer_lets() {
        let code = "let (a, mut b) = f(); { let c = 1; } let d: u8 = 2; d";
        assert_eq!(new_variables(code), ["a", "b", "d"]);
        assert!(new_variables("let ").is_empty());
    }
}
