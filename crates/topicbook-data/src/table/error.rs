//! Errors of tables: a missing column with the names there are, and what Polars says, in one sentence.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{Expr, IntoLazy, LazyFrame, PolarsError, PolarsResult};

use crate::error::{Error, ErrorKind, Result, panic_text};
use crate::text::quoted_list;

use super::Table;
use super::names::nearest;

/// Names of columns that a message lists.
const NAMES_LISTED: usize = 30;

impl Table {
    /// A table computed by Polars from this one, given that it has the columns of the expressions.
    pub(super) fn query(
        &self,
        expressions: &[Expr],
        build: impl FnOnce(LazyFrame) -> LazyFrame,
    ) -> Result<Self> {
        for expression in expressions {
            self.check_expression(expression)?;
        }
        let frame = self.frame.clone().lazy();
        Ok(attempt(|| build(frame).collect())?.into())
    }

    /// Fails if the table lacks a column that the expression reads.
    pub(super) fn check_expression(&self, expression: &Expr) -> Result<()> {
        for part in expression {
            let Expr::Column(name) = part else { continue };
            // `^...$` is a pattern, which Polars expands.
            let pattern = name.starts_with('^') && name.ends_with('$');
            if pattern || self.frame.schema().contains(name) {
                continue;
            }
            let error = self.no_column(name);
            let Some(remedy) = error.remedy().map(str::to_string) else {
                return Err(error);
            };
            // `col("term").eq("model")` compares with the column "model".
            return Err(match matches!(expression, Expr::Column(_)) {
                true => error,
                false => error.fix(format!(
                    "{remedy}; for the text {name:?} write lit({name:?})"
                )),
            });
        }
        Ok(())
    }

    /// Fails if the table lacks the column.
    pub(super) fn check_name(&self, name: &str) -> Result<()> {
        match self.frame.schema().contains(name) {
            true => Ok(()),
            false => Err(self.no_column(name)),
        }
    }

    fn no_column(&self, name: &str) -> Error {
        let names = self.column_names();
        let remedy = match nearest(name, &names) {
            Some(nearest) => format!("write {nearest:?}, if that is meant"),
            None => "write one of these names".into(),
        };
        Error::table(format!("the table has no column {name:?}"))
            .at(format!(
                "its columns are {}",
                quoted_list(&names, NAMES_LISTED)
            ))
            .fix(remedy)
    }
}

/// What Polars computes, or why it does not. It panics where a feature is off; that is a reason too.
pub(super) fn attempt<T>(
    compute: impl FnOnce() -> PolarsResult<T>,
) -> std::result::Result<T, Problem> {
    match catch_unwind(AssertUnwindSafe(compute)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Problem::of(&error)),
        Err(panic) => Err(Problem {
            sentence: panic_text(&*panic),
            remedy: "if the text names a feature of Polars, this build is without it: compute it another way",
        }),
    }
}

/// Why Polars computes nothing.
pub(super) struct Problem {
    /// Its message, without the query plan that it prints.
    pub(super) sentence: String,
    remedy: &'static str,
}

impl Problem {
    fn of(error: &PolarsError) -> Self {
        let mut cause = error;
        while let PolarsError::Context { error, .. } | PolarsError::ExprContext { error, .. } =
            cause
        {
            cause = error;
        }
        let remedy = match cause {
            PolarsError::Duplicate(_) => {
                "give one of the columns another name, as by .alias(\"name\")"
            }
            PolarsError::ShapeMismatch(_) => "use columns and expressions of one length",
            PolarsError::SchemaMismatch(_) | PolarsError::InvalidOperation(_) => {
                "compare numbers with numbers and texts with lit(\"text\"); .dtypes() shows the type of each column, \
                 and col(\"name\").cast(DataType::Float64) changes it"
            }
            _ => "check the names and types of the columns: .dtypes() shows them",
        };
        let text = cause.to_string();
        let sentence = text.split("\n\n").next().unwrap_or_default().trim();
        Self {
            sentence: sentence.replace('\n', " "),
            remedy,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let what = format!("Polars refuses: {}", problem.sentence);
        Self::new(ErrorKind::Table, what).fix(problem.remedy)
    }
}
