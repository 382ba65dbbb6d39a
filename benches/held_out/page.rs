//! The page of the record.

use std::fmt::Write;

use serde_json::Value;

const METHODS: [(&str, &str); 6] = [
    ("coordinate descent", "topicbook, coordinate descent"),
    ("smoothed", "the same, with a smoothing of 0.1"),
    ("AdamW", "topicbook, AdamW at batch 16, 200 epochs"),
    ("tomotopy", "tomotopy"),
    ("gensim", "gensim"),
    ("scikit-learn", "scikit-learn"),
];

/// The median of a number over the seeds, and how far apart the seeds are.
fn over_seeds(cell: &Value, method: &str, key: &str) -> Option<(f64, f64)> {
    let runs = cell["runs"].as_array()?;
    let mut values: Vec<f64> = runs
        .iter()
        .filter_map(|run| run[method][key].as_f64())
        .collect();
    values.sort_by(f64::total_cmp);
    let (first, last) = (values.first()?, values.last()?);
    let [low, high] = [(values.len() - 1) / 2, values.len() / 2].map(|at| values[at]);
    Some((f64::midpoint(low, high), last - first))
}

fn text(value: Option<(f64, f64)>, digits: usize) -> String {
    value.map_or("-".into(), |(median, _)| format!("{median:.digits$}"))
}

/// The page.
pub fn markdown(record: &Value) -> String {
    let cells = record["cells"].as_array().cloned().unwrap_or_default();
    let seeds = cells
        .first()
        .map_or(0, |cell| cell["runs"].as_array().map_or(0, Vec::len));
    let mut page = format!(
        "# Held-out documents\n\n`cargo xtask bench held_out` on {}. A fifth of the documents is held out and halved by tokens; the \
        score is of the second halves, in nats a token, higher is better. Medians of {seeds} seeds, and in brackets how far apart \
        the seeds are.\n\n\
        - `evaluate`: proportions of maximum likelihood, as `Fit::evaluate` infers them, for the topics of every method.\n\
        - own: the proportions that the method itself infers from the first halves; ours are those of `evaluate`.\n\
        - bound: scikit-learn's own measure, its variational bound on whole held-out documents. It includes how probable the topics \
        are under scikit-learn's priors, whichever method they are from, and so says another thing than the others.\n\n\
        Each peer trains for ten times the CPU time of our coordinate descent, or until more iterations have no use (2,000, 100 \
        and 200). tomotopy learns alpha, gensim both priors; scikit-learn has 1/k for both, in batch. Terms without a training \
        document are left out.\n",
        record["machine"]["processor"].as_str().unwrap_or_default()
    );
    for cell in &cells {
        let _ = write!(
            page,
            "\n## {}, k = {}\n\n{} documents with {} tokens and {} terms, {}; {} held out.\n\n\
            | | `evaluate` | own | bound | CPU s | iterations |\n|---|---|---|---|---|---|\n",
            cell["corpus"].as_str().unwrap_or_default(),
            cell["topics"],
            cell["documents"][0],
            cell["tokens"][0],
            cell["terms"],
            cell["counts"].as_str().unwrap_or_default(),
            cell["documents"][1],
        );
        for (method, name) in METHODS {
            let evaluated = over_seeds(cell, method, "evaluate");
            let apart = evaluated.map_or(String::new(), |(_, apart)| format!(" ({apart:.4})"));
            let own = over_seeds(cell, method, "score").or(evaluated);
            let _ = writeln!(
                page,
                "| {name} | {}{apart} | {} | {} | {} | {} |",
                text(evaluated, 4),
                text(own, 4),
                text(over_seeds(cell, method, "bound"), 4),
                text(over_seeds(cell, method, "cpu_seconds"), 1),
                text(over_seeds(cell, method, "iterations"), 0),
            );
        }
    }
    page
}
