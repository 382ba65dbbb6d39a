//! Variables that cells cannot use any more, and why.

use std::collections::{HashMap, HashSet};

/// Why a variable is gone.
pub enum Gone {
    /// The cell that bound it failed.
    Failed,
    /// A cell passed it on by value.
    Moved,
}

/// The variables that are gone, with the number of the cell that lost them.
#[derive(Default)]
pub struct Names(HashMap<String, (Gone, u64)>);

impl Names {
    /// Notes which variables a cell has lost; returns their names. `new` are those that the cell binds itself.
    pub fn update(
        &mut self,
        count: u64,
        failed: bool,
        new: &[String],
        before: &HashSet<String>,
        after: &HashSet<String>,
    ) -> Vec<String> {
        for name in after {
            self.0.remove(name);
        }
        let mut lost: Vec<String> = before.difference(after).cloned().collect();
        lost.extend(
            new.iter()
                .filter(|name| failed && !after.contains(*name))
                .cloned(),
        );
        lost.sort();
        lost.dedup();
        for name in &lost {
            let gone = match before.contains(name) {
                true => Gone::Moved,
                false => Gone::Failed,
            };
            self.0.insert(name.clone(), (gone, count));
        }
        lost
    }

    /// What to do about a variable that the compiler does not find.
    pub fn hint(&self, name: &str) -> Option<String> {
        let (gone, count) = self.0.get(name)?;
        Some(match gone {
            Gone::Failed => format!(
                "cell [{count}] bound `{name}` and failed, and a cell's new variables are kept only if it succeeds; run it again"
            ),
            Gone::Moved => format!(
                "cell [{count}] moved `{name}` into a call, which then owned it; write `&{name}` or `{name}.clone()` there, \
                 and run the cell that makes `{name}` again"
            ),
        })
    }
}
