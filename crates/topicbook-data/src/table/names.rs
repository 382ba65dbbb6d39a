//! Columns as arguments, and the nearest name to a mistyped one.

use polars::prelude::{Expr, col};
use strsim::levenshtein;

/// One or several columns, as an argument of [`Table`](crate::Table)'s methods: a name, an expression of Polars, or an
/// array, slice or vector of either.
///
/// ```
/// use topicbook::prelude::*;
/// let table = Table::new().with_column("a", [2, 1])?.with_column("b", [3, 4])?;
/// assert_eq!(table.select("b")?.width(), 1);
/// assert_eq!(table.select(["b", "a"])?.column_names(), ["b", "a"]);
/// assert_eq!(table.select([col("a"), (col("a") + col("b")).alias("sum")])?.numbers("sum")?, [5.0, 5.0]);
/// # Ok::<(), Error>(())
/// ```
pub trait Columns {
    #[doc(hidden)]
    fn into_expressions(self) -> Vec<Expr>;
}

impl Columns for Expr {
    fn into_expressions(self) -> Vec<Expr> {
        vec![self]
    }
}

impl Columns for &str {
    fn into_expressions(self) -> Vec<Expr> {
        vec![col(self)]
    }
}

impl Columns for String {
    fn into_expressions(self) -> Vec<Expr> {
        vec![col(self)]
    }
}

impl Columns for &String {
    fn into_expressions(self) -> Vec<Expr> {
        vec![col(self.as_str())]
    }
}

impl<T: Columns, const N: usize> Columns for [T; N] {
    fn into_expressions(self) -> Vec<Expr> {
        self.into_iter().flat_map(T::into_expressions).collect()
    }
}

impl<T: Columns> Columns for Vec<T> {
    fn into_expressions(self) -> Vec<Expr> {
        self.into_iter().flat_map(T::into_expressions).collect()
    }
}

impl<T: Columns + Clone> Columns for &[T] {
    fn into_expressions(self) -> Vec<Expr> {
        self.to_vec().into_expressions()
    }
}

impl<T: Columns + Clone> Columns for &Vec<T> {
    fn into_expressions(self) -> Vec<Expr> {
        self.clone().into_expressions()
    }
}

impl<T: Columns + Clone, const N: usize> Columns for &[T; N] {
    fn into_expressions(self) -> Vec<Expr> {
        self.clone().into_expressions()
    }
}

/// The name at the smallest edit distance from `wanted`, if at most a third of its characters differ.
pub(super) fn nearest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', '.'], " ");
    let wanted = plain(wanted);
    let most = wanted.chars().count().div_ceil(3);
    names
        .iter()
        .map(|name| (levenshtein(&wanted, &plain(name)), name))
        .filter(|&(distance, _)| distance <= most)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let names: Vec<String> = ["document", "topic 3", "topic 13", "proportion"]
            .map(String::from)
            .to_vec();
        assert_eq!(nearest("topic_3", &names), Some("topic 3"));
        assert_eq!(nearest("Proportions", &names), Some("proportion"));
        assert_eq!(nearest("docment", &names), Some("document"));
        assert_eq!(nearest("year", &names), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
