//! What a fit says of its memory.

use topicbook::Table;
use topicbook::polars::prelude::AnyValue;

/// A value of the row that begins with a name in its first column; NaN where there is none.
pub fn value(table: &Table, row: &str, column: &str) -> f64 {
    let names = table.column("memory").unwrap();
    let at = (0..table.height())
        .find(|&at| {
            let name = names.get(at).unwrap();
            name.get_str().is_some_and(|name| name.starts_with(row))
        })
        .unwrap();
    match table.column(column).unwrap().get(at).unwrap() {
        AnyValue::Null => f64::NAN,
        value => value.extract().unwrap(),
    }
}
