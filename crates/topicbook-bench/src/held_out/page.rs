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

pub fn markdown(record: &Value) -> String {
    let machine = |part: &str| {
        record[part]["machine"]["processor"]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    let mut page = String::from(
        "# Held-out documents\n\n`cargo xtask bench held_out`. A fifth of the documents is held out and halved by tokens; scores \
        are of the second halves, in nats a token, higher is better. Terms without a training document are left out.\n",
    );
    if !record["numbers"].is_null() {
        let _ = write!(
            page,
            "\n## The number of topics\n\nOn {}.",
            machine("numbers")
        );
        numbers(&mut page, &list(record, "numbers"));
    }
    if !record["texts"].is_null() {
        let _ = write!(page, "\n## Whole texts\n\nOn {}.", machine("texts"));
        texts(&mut page, &list(record, "texts"));
    }
    page
}

fn list(record: &Value, part: &str) -> Vec<Value> {
    record[part]["cells"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

/// Methods that choose a number of topics.
const CHOOSERS: [&str; 4] = ["coordinate descent", "tomotopy", "gensim", "scikit-learn"];

/// How far the number of a method is from the true one in the list that was tried; `None` where it has none.
fn off(cell: &Value, method: &str) -> Option<usize> {
    let tried: Vec<u64> = cell["tried"]
        .as_array()?
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    let at = |k: &Value| tried.iter().position(|tried| Some(*tried) == k.as_u64());
    Some(at(&cell["recommended"][method])?.abs_diff(at(&cell["topics"])?))
}

/// The score of a method with a number of topics.
fn score(cell: &Value, method: &str, topics: &Value) -> Option<f64> {
    cell["scores"][method][topics.to_string()].as_f64()
}

fn numbers(page: &mut String, cells: &[Value]) {
    let drawn: Vec<&Value> = cells
        .iter()
        .filter(|cell| !cell["topics"].is_null())
        .collect();
    let _ = write!(
        page,
        " {} corpora whose number of topics k is known: documents of 8 to 5,000 tokens on average (Poisson), 1,000 to 20,000 of \
        them, 200 to 4,000 terms, k from 2 to 40, topics drawn from Dirichlet(0.02) to (0.2), proportions with a concentration of \
        0.3 to 3. Tried are 1/3, 2/3, 1, 4/3 and 2 times k. Ours: the recommendation of `TopicModel::sweep` with two seeds. The \
        peers': the number with the highest score, by the proportions that the peer itself infers. A peer has ten times the CPU \
        time of our coordinate descent, between half a second and four seconds.\n\n\
        | corpora | n | |{}\n|---|---|---|{}\n",
        drawn.len(),
        CHOOSERS.map(|name| format!(" {name} |")).concat(),
        "---|".repeat(CHOOSERS.len()),
    );
    type Is = fn(u64, u64) -> bool;
    let groups: [(&str, Is); 4] = [
        ("all", |_, _| true),
        ("15 tokens or more, k up to 20", |tokens, k| {
            tokens >= 15 && k <= 20
        }),
        ("up to 60 tokens", |tokens, _| tokens <= 60),
        ("more than 60 tokens", |tokens, _| tokens > 60),
    ];
    for (name, is) in groups {
        let number = |cell: &Value, key: &str| cell[key].as_u64().unwrap_or_default();
        let cells = drawn
            .iter()
            .filter(|cell| is(number(cell, "tokens"), number(cell, "topics")));
        let cells: Vec<&&Value> = cells.collect();
        for (what, at_most) in [("k", 0), ("k or a neighbour", 1)] {
            let _ = write!(page, "| {name} | {} | {what} |", cells.len());
            for method in CHOOSERS {
                let found = cells
                    .iter()
                    .filter(|cell| off(cell, method).is_some_and(|off| off <= at_most));
                let _ = write!(page, " {} |", found.count());
            }
            page.push('\n');
        }
        let _ = write!(page, "| {name} | {} | mean score with k |", cells.len());
        for method in CHOOSERS {
            let scores: Vec<f64> = cells
                .iter()
                .filter_map(|cell| score(cell, method, &cell["topics"]))
                .collect();
            let _ = write!(
                page,
                " {:.4} |",
                scores.iter().sum::<f64>() / scores.len().max(1) as f64
            );
        }
        page.push('\n');
    }
    each_corpus(page, cells);
}

/// A row for each corpus.
fn each_corpus(page: &mut String, cells: &[Value]) {
    page.push_str("\nScores with the true k, and the numbers that were chosen (for short pieces of real texts with 10 topics):\n\n");
    let _ = writeln!(
        page,
        "| tokens | documents | terms | k | concentration | topics' prior |{}\n|---|---|---|---|---|---|{}",
        CHOOSERS.map(|name| format!(" {name} |")).concat(),
        "---|".repeat(CHOOSERS.len()),
    );
    let ten = Value::from(10);
    for cell in cells {
        let (k, prior) = (&cell["topics"], &cell["drawn"]);
        let known = !k.is_null();
        let documents = cell["documents"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_u64);
        let _ = match known {
            true => write!(
                page,
                "| {} | {} | {} | {k} | {:.2} | {:.3} |",
                cell["tokens"],
                documents.sum::<u64>(),
                cell["terms"],
                prior[2].as_f64().unwrap_or_default(),
                prior[3].as_f64().unwrap_or_default()
            ),
            false => write!(
                page,
                "| {} | {} | {} | - | - | - |",
                cell["corpus"].as_str().unwrap_or_default(),
                documents.sum::<u64>(),
                cell["terms"]
            ),
        };
        for method in CHOOSERS {
            let score = score(cell, method, if known { k } else { &ten });
            let chosen = cell["recommended"][method]
                .as_u64()
                .map_or("-".into(), |k| k.to_string());
            let _ = write!(
                page,
                " {} ({chosen}) |",
                score.map_or("-".into(), |score| format!("{score:.4}"))
            );
        }
        page.push('\n');
    }
}

fn texts(page: &mut String, cells: &[Value]) {
    let seeds = cells
        .first()
        .map_or(0, |cell| cell["runs"].as_array().map_or(0, Vec::len));
    let _ = write!(
        page,
        " Medians of {seeds} seeds, and in brackets how far apart the seeds are.\n\n\
        - `evaluate`: posterior means of the proportions, as `Fit::evaluate` infers them, for the topics of every method.\n\
        - own: the proportions that the method itself infers from the first halves; ours are those of `evaluate`.\n\
        - bound: scikit-learn's own measure, its variational bound on whole held-out documents. It includes how probable the topics \
        are under scikit-learn's priors, whichever method they are from, and so says another thing than the others.\n\n\
        Each peer trains for ten times the CPU time of our coordinate descent, or until more iterations have no use (2,000, 100 \
        and 200). tomotopy learns alpha, gensim both priors; scikit-learn has 1/k for both, in batch.\n"
    );
    for cell in cells {
        let _ = write!(
            page,
            "\n### {}, k = {}\n\n{} documents with {} tokens and {} terms, {}; {} held out.\n\n\
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
}
