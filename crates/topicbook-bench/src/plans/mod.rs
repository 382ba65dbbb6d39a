//! `cargo xtask bench plans`: random fits within random budgets, half of them in a control group whose memory limit is
//! 5% above the budget.
//!
//! ```text
//! plans record RECORDS FOLDER [ROWS]   ROWS random fits, into plans.json and plans.md in RECORDS; counts in FOLDER
//! plans prepare ROW FOLDER             writes the counts of a row, prints its budget in bytes
//! plans fit ROW FOLDER BUDGET          plans and fits the row
//! ```
//! The last two print one JSON line.

mod page;
mod row;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::{Value, json};
use testkit::Cgroup;
use topicbook::Result;

use crate::support::{arguments, record};

use arguments::number;
use record::result_of;
use row::Row;

/// Rows of the record.
const ROWS: usize = 220;

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match arguments.as_slice() {
        ["record", records, folder] => return record_rows(records, folder, ROWS),
        ["record", records, folder, rows] => return record_rows(records, folder, number(rows)),
        ["prepare", row, folder] => {
            json!(Row::random(number(row) as u64).prepare(Path::new(folder))?)
        }
        ["fit", row, folder, budget] => {
            let budget = number(budget) as u64;
            Row::random(number(row) as u64).fit(Path::new(folder), budget)?
        }
        _ => return Err(arguments::unknown()),
    };
    println!("{line}");
    Ok(())
}

/// Runs all rows, and writes the record after each tenth, so that an interruption loses little.
fn record_rows(records: &str, folder: &str, rows: usize) -> Result<()> {
    let mut results = Vec::new();
    for number in 0..rows {
        let folder = Path::new(folder).join(number.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        let mut record = Row::random(number as u64).describe();
        let result = run(number, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        if let (Some(record), Some(result)) = (record.as_object_mut(), result.as_object()) {
            record.extend(result.clone());
        }
        eprintln!("{record}");
        results.push(record);
        if results.len() % 10 == 0 || results.len() == rows {
            let record = json!({ "machine": record::machine(), "rows": results });
            record::write(
                Path::new(records),
                "plans",
                &record,
                &page::markdown(&record),
            );
        }
    }
    Ok(())
}

/// Prepares and fits a row in two processes.
fn run(row: usize, folder: &Path) -> Value {
    let this = |what: &str| {
        let mut program = record::this_program(&[]);
        program.args([what, &row.to_string()]).arg(folder);
        program
    };
    let prepared = result_of(&this("prepare").output().unwrap());
    let Some(budget) = prepared.as_u64() else {
        return prepared;
    };
    let mut fit = this("fit");
    fit.arg(budget.to_string());
    let limit = budget + budget / 20;
    let output = match Row::random(row as u64)
        .limited
        .then(|| Cgroup::or_skip(limit))
    {
        Some(Some(group)) => group.run(&mut fit),
        Some(None) => return json!({ "skipped": "no control group" }),
        None => fit.output(),
    };
    let mut result = result_of(&output.unwrap());
    result["budget"] = json!(budget);
    result
}
