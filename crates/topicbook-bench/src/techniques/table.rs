//! The table of techniques, from the results of their runs.

use serde_json::Value;

use crate::techniques::list::TECHNIQUES;

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or(f64::NAN)
}

/// Bytes above the process before the counts existed (of VRAM, where the run has any).
fn peak(row: &Value, which: &str) -> f64 {
    match row["vram_measured"].is_number() {
        true => number(row, &format!("vram_{which}")),
        false => number(row, which) - number(row, "before"),
    }
}

/// A line for each technique with and without which something ran; `result` has the result of a run by its name.
pub fn table<'a>(result: impl Fn(&str) -> Option<&'a Value>) -> String {
    let mut table = String::from(
        "| Technique | Saved, % | By the plan, % | More time, % | More CPU time, % | Claimed |\n|---|---:|---:|---:|---:|---|\n",
    );
    for [what, with, without, claimed] in TECHNIQUES {
        let (Some(with), Some(without)) = (result(with), result(without)) else {
            continue;
        };
        let saved = |which| 100.0 * (1.0 - peak(with, which) / peak(without, which));
        let more = |name| 100.0 * (number(with, name) / number(without, name) - 1.0);
        table += &format!(
            "| {what} | {:.0} | {:.0} | {:.0} | {:.0} | {claimed} |\n",
            saved("measured"),
            saved("predicted"),
            more("seconds"),
            more("cpu_seconds"),
        );
    }
    table
}
