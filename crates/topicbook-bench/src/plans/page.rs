//! The record as a page.

use serde_json::Value;

/// The share of the measured memory by which a prediction may be off.
const TOLERANCE: f64 = 0.1;
/// Rows that the page lists.
const WORST: usize = 20;

pub fn markdown(record: &Value) -> String {
    let machine = &record["machine"];
    let all = record["rows"].as_array().cloned().unwrap_or_default();
    let ratio = |row: &&Value| row["ratio"].as_f64();
    let ended: Vec<&Value> = all.iter().filter(|row| ratio(row).is_some()).collect();
    let count = |of: &dyn Fn(&Value) -> bool| ended.iter().filter(|row| of(row)).count();
    let above = |row: &Value| row["measured"].as_u64() > row["budget"].as_u64();
    let within = |row: &Value| {
        row["ratio"]
            .as_f64()
            .is_some_and(|ratio| (ratio - 1.0).abs() <= TOLERANCE)
    };
    let limited = all.iter().filter(|row| row["limited"] == true);
    let mut ratios: Vec<f64> = ended.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let quantile = |part: f64| {
        let index = (part * ratios.len().saturating_sub(1) as f64) as usize;
        ratios.get(index).copied().unwrap_or(f64::NAN)
    };
    let mut page = format!(
        "# Plans: predicted against measured memory\n\n\
         `cargo xtask bench plans`, topicbook {} on {}, {} threads.\n\n\
         {} random fits (shapes, dtypes, layouts, solvers, batch sizes, readings, checkpoints; counts of at most 200 MB, drawn \
         from tinytopics' model with 50 to 1,000 tokens a document), each \
         planned and fitted in a process of its own, with a budget of 1 to 4 times the least that is accepted. {} of them \
         run in a control group whose limit is 5% above the budget. Memory is the anonymous memory of the whole \
         process, from before the plan to the end of the fit, sampled every millisecond.\n\n\
         | | Fits |\n|---|---:|\n\
         | finished | {} |\n| killed or failed | {} |\n| measured above the budget | {} |\n\
         | predicted to a tenth of measured | {} |\n\n\
         Predicted / measured: least {:.3}, a twentieth below {:.3}, median {:.3}, a twentieth above {:.3}, largest {:.3}.\n\n\
         The {WORST} worst predictions:\n\n\
         | Row | Solver | Shape | Tokens a document | k | Batch | Counts | Read | Limited | Budget, MB | Predicted, MB | Measured, MB | Ratio |\n\
         |---:|---|---|---:|---:|---:|---|---|---|---:|---:|---:|---:|\n",
        text(&machine["topicbook"]),
        text(&machine["processor"]),
        machine["threads"],
        all.len(),
        limited.count(),
        ended.len(),
        all.len() - ended.len(),
        count(&above),
        count(&within),
        quantile(0.0),
        quantile(0.05),
        quantile(0.5),
        quantile(0.95),
        quantile(1.0),
    );
    let mut worst = ended.clone();
    let error = |row: &Value| {
        row["ratio"]
            .as_f64()
            .map_or(0.0, |ratio| (ratio - 1.0).abs())
    };
    worst.sort_by(|a, b| error(b).total_cmp(&error(a)));
    for row in worst.iter().take(WORST) {
        let mb = |name: &str| row[name].as_f64().unwrap_or(f64::NAN) / 1e6;
        page += &format!(
            "| {} | {} | {} x {} | {} | {} | {} | {} {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.3} |\n",
            row["row"],
            text(&row["solver"]),
            row["documents"],
            row["terms"],
            row["tokens"],
            row["topics"],
            row["batch"],
            text(&row["dtype"]),
            text(&row["layout"]),
            text(&row["read"]),
            if row["limited"] == true { "yes" } else { "" },
            mb("budget"),
            mb("predicted"),
            mb("measured"),
            row["ratio"].as_f64().unwrap_or(f64::NAN),
        );
    }
    for row in all.iter().filter(|row| row["ratio"].is_null()) {
        page += &format!("\nRow {} did not finish: {}\n", row["row"], row["failed"]);
    }
    page
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}
