//! Variables that cells cannot use any more, and why.

use std::collections::{HashMap, HashSet};

/// Why a variable is gone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gone {
    /// The cell that bound it failed.
    Failed,
    /// A cell passed it on by value.
    Moved,
    /// A cell passed it on by value, was to bind the name again, and failed.
    Shadowed,
    /// The process of the cells ended.
    Ended,
    /// The definition of its type has changed.
    Redefined,
}

/// What a cell has done to the variables.
#[derive(Default)]
pub struct Change<'a> {
    /// The cell's number.
    pub count: u64,
    pub failed: bool,
    /// Whether the process of the cells has ended.
    pub ended: bool,
    /// Those that were there before the cell and after it.
    pub before: HashSet<String>,
    pub after: HashSet<String>,
    /// Those that the cell binds itself.
    pub new: &'a [String],
    /// Those whose type has another definition now.
    pub redefined: &'a [String],
}

/// The variables that are gone, with the number of the cell that lost them.
#[derive(Default)]
pub struct Names(HashMap<String, (Gone, u64)>);

impl Names {
    /// Notes which variables a cell has lost; returns their names, in order.
    pub fn update(&mut self, cell: &Change) -> Vec<(String, Gone)> {
        for name in &cell.after {
            self.0.remove(name);
        }
        let mut lost: Vec<String> = cell.before.difference(&cell.after).cloned().collect();
        lost.extend(
            cell.new
                .iter()
                .filter(|name| cell.failed && !cell.after.contains(*name))
                .cloned(),
        );
        lost.sort();
        lost.dedup();
        let lost: Vec<_> = lost
            .into_iter()
            .map(|name| {
                let gone = match cell.before.contains(&name) {
                    _ if cell.ended => Gone::Ended,
                    false => Gone::Failed,
                    true if cell.redefined.contains(&name) => Gone::Redefined,
                    true if cell.failed && cell.new.contains(&name) => Gone::Shadowed,
                    true => Gone::Moved,
                };
                (name, gone)
            })
            .collect();
        for (name, gone) in &lost {
            self.0.insert(name.clone(), (*gone, cell.count));
        }
        lost
    }

    /// What to do about a variable that the compiler does not find.
    pub fn hint(&self, name: &str) -> Option<String> {
        let (gone, count) = self.0.get(name)?;
        let again = format!("run the cell that makes `{name}` again");
        Some(match gone {
            Gone::Failed => format!(
                "cell [{count}] bound `{name}` and failed, and a cell's new variables are kept only if it succeeds; run it again"
            ),
            Gone::Moved => format!(
                "cell [{count}] moved `{name}` into a call, which then owned it; write `&{name}` or `{name}.clone()` there, and {again}"
            ),
            Gone::Shadowed => format!(
                "cell [{count}] moved `{name}` into a call and failed before it had bound `{name}` again; write `&{name}` or \
                 `{name}.clone()` there, and {again}"
            ),
            Gone::Ended => format!(
                "`{name}` was lost when the process of the cells ended, in cell [{count}]; {again}"
            ),
            Gone::Redefined => format!(
                "`{name}` was lost in cell [{count}], because its type has another definition now; {again}"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> HashSet<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn each_variable_that_is_gone_has_its_reason() {
        let mut names = Names::default();
        let new = ["new", "again", "kept"].map(str::to_owned);
        let redefined = ["typed".to_owned()];
        let lost = names.update(&Change {
            count: 7,
            failed: true,
            before: set(&["again", "kept", "moved", "typed", "other"]),
            after: set(&["kept", "other"]),
            new: &new,
            redefined: &redefined,
            ..Change::default()
        });
        let expected = [
            ("again", Gone::Shadowed),
            ("moved", Gone::Moved),
            ("new", Gone::Failed),
            ("typed", Gone::Redefined),
        ];
        assert_eq!(lost, expected.map(|(name, gone)| (name.to_owned(), gone)));
        assert_eq!(names.hint("kept"), None);
        assert!(
            names
                .hint("new")
                .is_some_and(|hint| hint.contains("cell [7] bound `new` and failed"))
        );
        let lost = names.update(&Change {
            count: 8,
            failed: true,
            ended: true,
            before: set(&["kept", "other"]),
            ..Change::default()
        });
        assert_eq!(lost.len(), 2);
        assert!(
            names
                .hint("kept")
                .is_some_and(|hint| hint.contains("ended, in cell [8]"))
        );
        // A variable that is bound again is there.
        names.update(&Change {
            count: 9,
            after: set(&["moved"]),
            ..Change::default()
        });
        assert_eq!(names.hint("moved"), None);
    }
}
