//! The table of techniques, from the results of their runs.

use serde_json::Value;

use crate::techniques::list::TECHNIQUES;

/// Medians over the rounds of a run: bytes above the process before the counts existed (of VRAM, where the run has any), and
/// seconds an epoch.
pub struct Medians {
    pub planned: f64,
    pub measured: f64,
    pub seconds: f64,
    pub cpu_seconds: f64,
}

/// The median of a number over the rounds of a run; NaN where a round has none.
pub fn median(rounds: &[Value], of: impl Fn(&Value) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or(f64::NAN)
}

impl Medians {
    /// `None` without a round.
    pub fn of(rounds: &[Value]) -> Option<Self> {
        let has_vram = rounds.first()?["vram_measured"].is_number();
        let peak = |which: &str| {
            median(rounds, |row| match has_vram {
                true => number(row, &format!("vram_{which}")),
                false => number(row, which) - number(row, "before"),
            })
        };
        Some(Self {
            planned: peak("predicted"),
            measured: peak("measured"),
            seconds: median(rounds, |row| number(row, "seconds")),
            cpu_seconds: median(rounds, |row| number(row, "cpu_seconds")),
        })
    }
}

/// A line for each technique with and without which something ran; `rounds` has the results of a run by its name.
pub fn table(rounds: impl Fn(&str) -> Vec<Value>) -> String {
    let mut table = String::from(
        "| Technique | Saved, % | By the plan, % | More time, % | More CPU time, % | Claimed |\n|---|---:|---:|---:|---:|---|\n",
    );
    let medians = |name: &str| Medians::of(&rounds(name));
    for [what, with, without, claimed] in TECHNIQUES {
        let (Some(with), Some(without)) = (medians(with), medians(without)) else {
            continue;
        };
        table += &format!(
            "| {what} | {:.0} | {:.0} | {:.0} | {:.0} | {claimed} |\n",
            100.0 * (1.0 - with.measured / without.measured),
            100.0 * (1.0 - with.planned / without.planned),
            100.0 * (with.seconds / without.seconds - 1.0),
            100.0 * (with.cpu_seconds / without.cpu_seconds - 1.0),
        );
    }
    table
}
