//! Reads the table of a fit's memory.

use topicbook::Table;

/// The value of a column, in the row whose name begins with `row`; NaN where the cell is empty.
pub fn value(table: &Table, row: &str, column: &str) -> f64 {
    let names = table.texts("memory").unwrap();
    let index = names.iter().position(|name| name.starts_with(row)).unwrap();
    table.numbers(column).unwrap()[index]
}
