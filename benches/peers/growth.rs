//! What an iteration costs against one size at a time, beside what the size predicts.

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{Counts, Result, Solver, Synthetic, TopicModel};

use crate::drawing::{Curve, Plot, draw};
use crate::need::{Need, Size};

/// Documents, terms, topics, mean length of a document: what the others grow from.
const MIDDLE: [usize; 4] = [2_000, 5_000, 10, 200];
const FACTORS: [usize; 4] = [1, 2, 4, 8];
/// The size that grows, by its place in [`MIDDLE`], and what it is called.
const GROWN: [(usize, &str); 4] = [
    (0, "documents"),
    (1, "terms"),
    (2, "topics"),
    (3, "tokens a document (density)"),
];

/// What an iteration's cost grows with, besides nonzero counts x topics and nonzero counts.
struct Law {
    name: &'static str,
    solver: Solver,
    need: fn(&Size) -> Need,
    /// What the rest grows with.
    rest: fn(&Size) -> f64,
    rest_name: &'static str,
}

const LAWS: [Law; 3] = [
    Law {
        name: "AdamW, an epoch",
        solver: Solver::AdamW,
        need: Need::of_adamw,
        rest: Size::moved,
        rest_name: "batches x terms x k",
    },
    Law {
        name: "EM, a pass",
        solver: Solver::Em,
        need: Need::of_em,
        rest: Size::entries,
        rest_name: "(documents + terms) x k",
    },
    Law {
        name: "coordinate descent, an iteration",
        solver: Solver::CoordinateDescent,
        need: Need::of_descent,
        rest: Size::entries,
        rest_name: "(documents + terms) x k",
    },
];

struct Cost {
    grown: usize,
    size: Size,
    seconds: f64,
}

/// Measures every solver on all sizes and draws `growth.svg` into the folder.
pub fn growth(folder: &Path) -> Result<Value> {
    let mut all: Vec<Vec<Cost>> = LAWS.iter().map(|_| Vec::new()).collect();
    for (grown, _) in GROWN {
        for factor in FACTORS {
            let mut sizes = MIDDLE;
            sizes[grown] *= factor;
            let [documents, terms, topics, length] = sizes;
            let corpus = Synthetic::new(documents, terms, MIDDLE[2])
                .avg_doc_length(length)
                .seed(42)
                .generate()?;
            let counts = sparse(&corpus.counts())?;
            let size = Size::of(&counts, topics)?;
            for (law, costs) in LAWS.iter().zip(&mut all) {
                let seconds = seconds_an_iteration(law.solver, topics, &counts)?;
                costs.push(Cost {
                    grown,
                    size,
                    seconds,
                });
            }
        }
    }
    let laws: Vec<[f64; 3]> = LAWS
        .iter()
        .zip(&all)
        .map(|(law, costs)| fitted(law, costs))
        .collect();
    let predicted = |law: usize, size: &Size| {
        let shares = parts(&LAWS[law], size).into_iter().zip(laws[law]);
        shares.map(|(part, cost)| part * cost).sum::<f64>()
    };
    let plots: Vec<Plot> = GROWN
        .iter()
        .map(|&(grown, name)| Plot {
            across: name.into(),
            curves: (0..LAWS.len())
                .map(|law| {
                    let of = |value: &dyn Fn(&Cost) -> f64| -> Vec<(f64, f64)> {
                        let costs = all[law].iter().filter(|cost| cost.grown == grown);
                        costs
                            .zip(FACTORS)
                            .map(|(cost, factor)| ((MIDDLE[grown] * factor) as f64, value(cost)))
                            .collect()
                    };
                    Curve {
                        name: LAWS[law].name.into(),
                        measured: of(&|cost| 1e3 * cost.seconds),
                        predicted: of(&|cost| 1e3 * predicted(law, &cost.size)),
                    }
                })
                .collect(),
        })
        .collect();
    draw(&plots, "ms", &folder.join("growth.svg"));
    let mut lines = Vec::new();
    for (number, (law, costs)) in LAWS.iter().zip(&all).enumerate() {
        for cost in costs {
            let Cost { size, seconds, .. } = cost;
            let mut line = json!({
                "solver": law.name,
                "grown": GROWN[cost.grown].1,
                "documents": size.documents, "terms": size.terms, "topics": size.topics,
                "nonzeros": size.nonzeros, "density": size.nonzeros / size.documents / size.terms,
                "seconds": seconds,
                "predicted": predicted(number, size),
            });
            (law.need)(size).tell(&mut line);
            lines.push(line);
        }
    }
    let laws: Vec<Value> = LAWS
        .iter()
        .zip(&laws)
        .map(|(law, costs)| {
            json!({
                "solver": law.name,
                "nanoseconds_a_nonzero_and_topic": 1e9 * costs[0],
                "nanoseconds_a_nonzero": 1e9 * costs[1],
                "nanoseconds_of_the_rest": 1e9 * costs[2],
                "rest": law.rest_name,
            })
        })
        .collect();
    Ok(json!({ "costs": lines, "laws": laws }))
}

/// The median of the iterations after the first, which makes what has to be made once.
fn seconds_an_iteration(solver: Solver, topics: usize, counts: &Counts) -> Result<f64> {
    let fit = TopicModel::new(topics)
        .solver(solver)
        .epochs(8)
        .tolerance(0.0)
        .seed(1)
        .quiet()
        .fit(counts)?;
    let history = fit.history().into_inner();
    let seconds = history
        .column("seconds")
        .expect("seconds")
        .f64()
        .expect("numbers");
    let mut seconds: Vec<f64> = seconds.into_no_null_iter().skip(1).collect();
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

fn parts(law: &Law, size: &Size) -> [f64; 3] {
    [size.nonzeros * size.topics, size.nonzeros, (law.rest)(size)]
}

/// Seconds that one of each part takes: the least squares of the relative errors, none below zero (time is not gained by
/// more work), by turns over the three.
fn fitted(law: &Law, costs: &[Cost]) -> [f64; 3] {
    let rows: Vec<[f64; 3]> = costs
        .iter()
        .map(|cost| parts(law, &cost.size).map(|part| part / cost.seconds))
        .collect();
    let mut seconds = [0.0; 3];
    for turn in 0..30_000 {
        let part = turn % 3;
        let (mut missing, mut square) = (0.0, 0.0);
        for row in &rows {
            let others: f64 = (0..3)
                .filter(|o| *o != part)
                .map(|o| row[o] * seconds[o])
                .sum();
            missing += row[part] * (1.0 - others);
            square += row[part] * row[part];
        }
        seconds[part] = (missing / square).max(0.0);
    }
    seconds
}

/// The same counts, by rows of nonzero counts.
fn sparse(counts: &Counts) -> Result<Counts> {
    let (documents, terms) = counts.shape();
    let mut row = vec![0.0; terms];
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for document in 0..documents {
        counts.fill_rows(&[document], &mut row)?;
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            columns.push(column as u32);
            values.push(*value);
        }
        starts.push(values.len() as u64);
    }
    Counts::csr(documents, terms, starts, columns, values)
}
