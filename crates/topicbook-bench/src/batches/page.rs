//! The record as a page.

use serde_json::Value;

pub fn markdown(record: &Value) -> String {
    let machine = &record["machine"];
    let mut page = format!(
        "# Batch size and learning rate\n\n\
         `cargo xtask bench batches`, topicbook {} on {}, {} threads, {} of memory. k = {}; every figure is the mean of {} \
         seeds. Learning rates fall from 0.05 to 0.01 times the factor along a cosine of {} epochs, then restart. *s* is the least \
         processor time of a fit, on one thread.\n\n\
         A figure is the score, the sum over all counts of x log rate (higher is better), in thousands above batch 16 with \
         the defaults. Behind it in synthetic corpora: how far topics are from the true ones, the mean total variation \
         distance (0 to 1, lower is better). \\* marks the best score at a batch size. *By the rule*: the factor is the \
         square root of 64 / steps an epoch, at least 1 and at most 8.\n",
        text(&machine["topicbook"]),
        text(&machine["processor"]),
        machine["threads"],
        text(&machine["memory"]),
        record["topics"],
        record["seeds"].as_array().map_or(0, Vec::len),
        record["period"],
    );
    let factors = numbers(&record["factors"]);
    for corpus in record["corpora"].as_array().into_iter().flatten() {
        page += &section(corpus, &factors, record["period"].as_u64());
    }
    page
}

/// The section of one corpus.
fn section(corpus: &Value, factors: &[f64], period: Option<u64>) -> String {
    let rows: Vec<Row> = corpus["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .map(Row::from_json)
        .collect();
    let epochs = corpus["epochs"].as_u64();
    let (grid, others): (Vec<&Row>, Vec<&Row>) = rows
        .iter()
        .partition(|row| row.epochs == epochs && row.period == period);
    // The first row has the defaults: dense AdamW, batch 16, factor 1.
    let Some(reference) = grid.first() else {
        return String::new();
    };
    let mut page = heading(corpus, reference);
    page += &grid_table(&grid, reference, factors);
    if !others.is_empty() {
        page += "\nOther epochs and periods, dense AdamW by the rule:\n\n\
                 | batch | epochs | period | score, thousands above | s |\n|---:|---:|---:|---:|---:|\n";
    }
    for row in others {
        page += &format!(
            "| {} | {} | {} | {} | {:.1} |\n",
            row.batch,
            row.epochs.unwrap_or_default(),
            row.period.unwrap_or_default(),
            row.relative_to(reference),
            row.seconds,
        );
    }
    page
}

fn heading(corpus: &Value, reference: &Row) -> String {
    let scores = reference.scores.iter().map(|&score| grouped(score));
    format!(
        "\n## {}, {} x {}, {} epochs\n\nCounts: {}. Batch 16 with the defaults: {} (seeds: {}){}.\n\n",
        text(&corpus["name"]),
        corpus["documents"],
        corpus["terms"],
        corpus["epochs"],
        text(&corpus["counts"]),
        grouped(mean(&reference.scores)),
        scores.collect::<Vec<String>>().join(", "),
        match reference.errors.is_empty() {
            true => String::new(),
            false => format!(", topics off by {:.3}", mean(&reference.errors)),
        },
    )
}

/// A line for each optimizer and batch size, with a column for each factor.
fn grid_table(grid: &[&Row], reference: &Row, factors: &[f64]) -> String {
    let mut page = String::from("| optimizer | batch | steps an epoch |");
    for factor in factors {
        page += &format!(" x {factor} |");
    }
    page += " by the rule | s |\n|---|---:|---:|";
    page += &"---:|".repeat(factors.len() + 2);
    page += "\n";
    for line in grid.chunk_by(|a, b| (&a.optimizer, a.batch) == (&b.optimizer, b.batch)) {
        let first = line[0];
        let best = line
            .iter()
            .map(|row| mean(&row.scores))
            .fold(f64::MIN, f64::max);
        let cell = |factor: f64| {
            let found = line.iter().find(|row| row.factor == factor);
            found.map_or(String::new(), |row| {
                let star = if mean(&row.scores) == best { "\\*" } else { "" };
                format!("{}{star}", row.relative_to(reference))
            })
        };
        page += &format!(
            "| {} | {} | {} |",
            first.optimizer, first.batch, first.steps
        );
        for &factor in factors {
            page += &format!(" {} |", cell(factor));
        }
        let seconds = line
            .iter()
            .map(|row| row.seconds)
            .fold(f64::INFINITY, f64::min);
        page += &format!(
            " x {:.1}: {} | {:.1} |\n",
            first.rule,
            cell(first.rule),
            seconds,
        );
    }
    page
}

/// Fits with one setting and several seeds.
struct Row {
    optimizer: String,
    batch: u64,
    steps: u64,
    factor: f64,
    /// The factor by the rule.
    rule: f64,
    epochs: Option<u64>,
    period: Option<u64>,
    scores: Vec<f64>,
    /// Distances from the true topics; empty where they are unknown.
    errors: Vec<f64>,
    seconds: f64,
}

impl Row {
    fn from_json(row: &Value) -> Self {
        let number = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
        Self {
            optimizer: text(&row["optimizer"]),
            batch: row["batch"].as_u64().unwrap_or_default(),
            steps: row["steps_an_epoch"].as_u64().unwrap_or_default(),
            factor: number("factor"),
            rule: number("rule"),
            epochs: row["epochs"].as_u64(),
            period: row["period"].as_u64(),
            scores: numbers(&row["scores"]),
            errors: numbers(&row["errors_of_f"]),
            seconds: number("cpu_seconds"),
        }
    }

    /// The mean score, in thousands above the reference, and the mean error.
    fn relative_to(&self, reference: &Row) -> String {
        let score = (mean(&self.scores) - mean(&reference.scores)) / 1e3;
        match self.errors.is_empty() {
            true => format!("{score:+.1}"),
            false => format!("{score:+.1}; {:.3}", mean(&self.errors)),
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().into_iter().flatten();
    values.filter_map(Value::as_f64).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// A rounded number with a comma between groups of three digits.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{}{grouped}", if value < 0.0 { "-" } else { "" })
}
