//! The page of the record, and its lines while it is measured.

use std::fmt::Write;

use serde_json::Value;

/// Sides whose best rows are compared.
const SIDES: [&str; 2] = ["topicbook", "implicit"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Settings in words.
fn settings(row: &Value) -> String {
    let settings = row["settings"].as_object().into_iter().flatten();
    let words: Vec<String> = settings
        .map(|(name, value)| match name.as_str() {
            "epochs" => format!("at most {value} epochs"),
            _ => format!("{name} {value}"),
        })
        .collect();
    match words.is_empty() {
        true => "defaults".into(),
        false => words.join(", "),
    }
}

/// A measure, and in brackets its standard error.
fn measure(row: &Value, name: &str) -> String {
    let error = row[format!("{name}_error")].as_f64();
    let error = error.map_or(String::new(), |error| format!(" ({error:.4})"));
    format!("{:.4}{error}", number(&row[name]))
}

/// One fit in a line of text.
pub fn line(row: &Value) -> String {
    let name = format!(
        "k = {}, {} {}, {}",
        row["topics"],
        row["side"].as_str().unwrap_or_default(),
        row["method"].as_str().unwrap_or_default(),
        settings(row)
    );
    if !row["failed"].is_null() {
        return format!("{name}: failed, {} {}", row["failed"], row["stderr"]);
    }
    let check = match row["side"] == "topicbook" {
        true => format!(
            "; the script says {} and {}",
            row["check"]["recall"], row["check"]["ndcg"]
        ),
        false => String::new(),
    };
    format!(
        "{name}: recall {}, NDCG {}, {:.2} s, ranking {:.2} s{check}",
        measure(row, "recall"),
        measure(row, "ndcg"),
        number(&row["seconds"]),
        number(&row["ranking_seconds"])
    )
}

/// The row of a side with the largest NDCG.
fn best<'a>(rows: &'a [Value], side: &str, topics: &Value) -> Option<&'a Value> {
    rows.iter()
        .filter(|row| row["side"] == side && row["topics"] == *topics && row["ndcg"].is_f64())
        .max_by(|one, other| number(&one["ndcg"]).total_cmp(&number(&other["ndcg"])))
}

/// How far our measures are from the script's for the same L and F.
fn difference(record: &Value) -> Option<f64> {
    let rows = list(&record["corpora"])
        .iter()
        .flat_map(|corpus| list(&corpus["rows"]));
    let differences = rows
        .filter(|row| row["side"] == "topicbook")
        .flat_map(|row| {
            ["recall", "ndcg"].map(|name| (number(&row[name]) - number(&row["check"][name])).abs())
        });
    // A missing measure is no agreement.
    differences.reduce(|most, next| match next.is_nan() {
        true => f64::INFINITY,
        false => most.max(next),
    })
}

/// The sizes of a corpus.
fn sizes(corpus: &Value) -> String {
    let (train, held_out) = (&corpus["train"], &corpus["held_out"]);
    format!(
        "There are {} documents and {} terms. Training has {} nonzero counts ({:.2}% of all; dtype {}, at most {}), and {} are held \
         out.\n",
        corpus["documents"],
        corpus["terms"],
        train["nonzeros"],
        100.0 * number(&train["density"]),
        corpus["dtype"].as_str().unwrap_or_default(),
        train["largest"],
        held_out["nonzeros"]
    )
}

/// The numbers of topics of a corpus, in their order.
fn topics(rows: &[Value]) -> Vec<&Value> {
    let mut all: Vec<&Value> = rows.iter().map(|row| &row["topics"]).collect();
    all.dedup();
    all
}

fn table(page: &mut String, corpus: &Value) {
    page.push_str(
        "\n| k | method | settings | recall | NDCG | fit | ranking |\n|---:|---|---|---:|---:|---:|---:|\n",
    );
    let without_fit = [
        ("popularity", "the most frequent terms"),
        ("truth", "what the counts were drawn from"),
    ];
    for (name, title) in without_fit {
        let row = &corpus[name];
        if row["ndcg"].is_f64() {
            // Writing to a text cannot fail.
            let _ = writeln!(
                page,
                "| | {title} | | {} | {} | | |",
                measure(row, "recall"),
                measure(row, "ndcg")
            );
        }
    }
    let rows = list(&corpus["rows"]);
    for row in rows {
        let (k, side) = (&row["topics"], row["side"].as_str().unwrap_or_default());
        let method = row["method"].as_str().unwrap_or_default();
        if !row["failed"].is_null() {
            let _ = writeln!(page, "| {k} | {side}, {method} | | failed | | | |");
            continue;
        }
        let is_best = best(rows, side, k).is_some_and(|best| std::ptr::eq(best, row));
        let mark = if is_best { "**" } else { "" };
        let _ = writeln!(
            page,
            "| {k} | {side}, {method} | {} | {} | {mark}{}{mark} | {:.2} s | {:.2} s |",
            settings(row),
            measure(row, "recall"),
            measure(row, "ndcg"),
            number(&row["seconds"]),
            number(&row["ranking_seconds"])
        );
    }
}

/// Our best row as multiples of the peer's.
fn ratios(page: &mut String, corpus: &Value) {
    let rows = list(&corpus["rows"]);
    page.push_str(
        "\nBoth at their best NDCG, ours as multiples of the peer's:\n\n\
         | k | recall | NDCG | seconds of the fit | seconds of the ranking |\n|---:|---:|---:|---:|---:|\n",
    );
    for k in topics(rows) {
        if let [Some(ours), Some(peer)] = SIDES.map(|side| best(rows, side, k)) {
            let times = |name: &str| number(&ours[name]) / number(&peer[name]);
            let _ = writeln!(
                page,
                "| {k} | {:.3} | {:.3} | {:.2} | {:.2} |",
                times("recall"),
                times("ndcg"),
                times("seconds"),
                times("ranking_seconds")
            );
        }
    }
}

/// The page.
pub fn markdown(record: &Value) -> String {
    let (machine, versions, n) = (&record["machine"], &record["versions"], &record["n"]);
    let version = |name: &str| versions[name].as_str().unwrap_or("-").to_string();
    let mut page = format!(
        "# Recommendations\n\n`cargo xtask bench recommend`: recommendations of topicbook {} beside those of implicit {} \
         (AlternatingLeastSquares, ALS, and BayesianPersonalizedRanking, BPR; NumPy {}, SciPy {}), from the same files and in the \
         same run. A fifth of the nonzero counts is held out, by a hash of row and column; the others are for training. For \
         each document the terms without a training count are ranked, and the first {n} are compared with the held-out ones.\n\n\
         - Recall is the share of a document's held-out terms among the first {n}, or of {n} if it has more. NDCG is binary \
         (Liang et al. 2018). Both are means over the documents with a held-out term; brackets have their standard errors.\n\
         - The fit is from counts in memory to factors in memory, one run. The ranking is that of all documents: \
         `Fit::recommend_all`, a table, and `recommend`, arrays.\n\
         - k is the number of topics, and of implicit's factors. Bold rows have a side's best NDCG at that k. It is chosen by the \
         held-out counts themselves, for both sides, and implicit has more settings to choose from.\n\
         - MovieLens 100k is the copy in recbole {}; its ratings are the counts. Drawn documents have tokens of three topics \
         with shares of 0.6, 0.3 and 0.1; topics are Zipf's law over shuffled terms, and share the most frequent 0.025%.\n\n\
         {}, {} threads, {} of memory; load average {} at the end.\n",
        machine["topicbook"].as_str().unwrap_or_default(),
        version("implicit"),
        version("numpy"),
        version("scipy"),
        version("recbole"),
        machine["processor"].as_str().unwrap_or_default(),
        machine["threads"],
        machine["memory"].as_str().unwrap_or_default(),
        machine["load_average"].as_str().unwrap_or_default(),
    );
    if let Some(difference) = difference(record) {
        let verdict = match difference <= 1e-6 {
            true => "agree",
            false => "DO NOT AGREE",
        };
        let _ = writeln!(
            page,
            "\nThe script that judges implicit has judged our L and F, too: its measures and those of `Fit::evaluate_ranking` \
             {verdict}, they differ by at most {difference:.1e}."
        );
    }
    for corpus in list(&record["corpora"]) {
        let name = corpus["corpus"].as_str().unwrap_or_default();
        let _ = write!(page, "\n## {name}\n\n{}", sizes(corpus));
        table(&mut page, corpus);
        ratios(&mut page, corpus);
    }
    page
}
