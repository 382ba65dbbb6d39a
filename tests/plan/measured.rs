//! Reads the table of a fit's memory.

use topicbook::Table;
use topicbook::polars::prelude::AnyValue;

/// The value of a column, in the row whose name begins with `row`; NaN where the cell is empty.
pub fn value(table: &Table, row: &str, column: &str) -> f64 {
    let names = table.column("memory").unwrap();
    let index = (0..table.height())
        .find(|&index| {
            let name = names.get(index).unwrap();
            name.get_str().is_some_and(|name| name.starts_with(row))
        })
        .unwrap();
    match table.column(column).unwrap().get(index).unwrap() {
        AnyValue::Null => f64::NAN,
        value => value.extract().unwrap(),
    }
}
