//! Time of an iteration while one size grows at a time, measured and predicted from the sizes.

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{Counts, Result, Solver, Synthetic, TopicModel};

use crate::peers::need::{Need, Size};
use crate::support::drawing::{Curve, Plot, draw};

/// Documents, terms, topics, and mean document length of the smallest case.
const SMALLEST: [usize; 4] = [2_000, 5_000, 10, 200];
const FACTORS: [usize; 4] = [1, 2, 4, 8];
/// The sizes that grow: index in [`SMALLEST`], and name.
const GROWN: [(usize, &str); 4] = [
    (0, "documents"),
    (1, "terms"),
    (2, "topics"),
    (3, "tokens a document (density)"),
];

/// A linear model of an iteration's time: nonzero counts x topics, nonzero counts, and a third quantity.
struct CostModel {
    name: &'static str,
    solver: Solver,
    need: fn(&Size) -> Need,
    /// The third quantity.
    rest: fn(&Size) -> f64,
    rest_name: &'static str,
}

const COST_MODELS: [CostModel; 3] = [
    CostModel {
        name: "AdamW, an epoch",
        solver: Solver::MiniBatch(Solver::mini_batch()),
        need: Need::of_adamw,
        rest: Size::f_updates,
        rest_name: "batches x terms x k",
    },
    CostModel {
        name: "EM, a pass",
        solver: Solver::em(),
        need: Need::of_em,
        rest: Size::entries,
        rest_name: "(documents + terms) x k",
    },
    CostModel {
        name: "coordinate descent, an iteration",
        solver: Solver::coordinate_descent(),
        need: Need::of_descent,
        rest: Size::entries,
        rest_name: "(documents + terms) x k",
    },
];

/// A measured iteration.
struct Cost {
    /// Index in [`SMALLEST`] of the size that grew.
    grown: usize,
    size: Size,
    seconds: f64,
}

/// Measures every solver on all sizes and draws `growth.svg` into the folder.
pub fn growth(folder: &Path) -> Result<Value> {
    let costs = measure()?;
    let coefficients: Vec<[f64; 3]> = COST_MODELS
        .iter()
        .zip(&costs)
        .map(|(model, costs)| fit_coefficients(model, costs))
        .collect();
    let predicted = |model: usize, size: &Size| {
        let terms = quantities(&COST_MODELS[model], size)
            .into_iter()
            .zip(coefficients[model]);
        terms
            .map(|(quantity, seconds)| quantity * seconds)
            .sum::<f64>()
    };
    draw(&plots(&costs, predicted), "ms", &folder.join("growth.svg"));
    let mut lines = Vec::new();
    for (number, (model, costs)) in COST_MODELS.iter().zip(&costs).enumerate() {
        for cost in costs {
            let Cost { size, seconds, .. } = cost;
            let mut line = json!({
                "solver": model.name,
                "grown": GROWN[cost.grown].1,
                "documents": size.documents, "terms": size.terms, "topics": size.topics,
                "nonzeros": size.nonzeros, "density": size.nonzeros / size.documents / size.terms,
                "seconds": seconds,
                "predicted": predicted(number, size),
            });
            (model.need)(size).add_to(&mut line);
            lines.push(line);
        }
    }
    let fitted: Vec<Value> = COST_MODELS
        .iter()
        .zip(&coefficients)
        .map(|(model, seconds)| {
            json!({
                "solver": model.name,
                "nanoseconds_a_nonzero_and_topic": 1e9 * seconds[0],
                "nanoseconds_a_nonzero": 1e9 * seconds[1],
                "nanoseconds_of_the_rest": 1e9 * seconds[2],
                "rest": model.rest_name,
            })
        })
        .collect();
    Ok(json!({ "costs": lines, "fitted_costs": fitted }))
}

/// Times one iteration of every solver, for every size: per model of [`COST_MODELS`].
fn measure() -> Result<Vec<Vec<Cost>>> {
    let mut all: Vec<Vec<Cost>> = COST_MODELS.iter().map(|_| Vec::new()).collect();
    for (grown, _) in GROWN {
        for factor in FACTORS {
            let mut sizes = SMALLEST;
            sizes[grown] *= factor;
            let [documents, terms, topics, length] = sizes;
            let corpus = Synthetic::new(documents, terms, SMALLEST[2])
                .avg_doc_length(length)
                .seed(42)
                .generate()?;
            let counts = to_csr(&corpus.counts())?;
            let size = Size::of(&counts, topics)?;
            for (model, costs) in COST_MODELS.iter().zip(&mut all) {
                let seconds = seconds_per_iteration(model.solver.clone(), topics, &counts)?;
                costs.push(Cost {
                    grown,
                    size,
                    seconds,
                });
            }
        }
    }
    Ok(all)
}

/// A plot for each size that grows, with a curve for each solver.
fn plots(costs: &[Vec<Cost>], predicted: impl Fn(usize, &Size) -> f64) -> Vec<Plot> {
    GROWN
        .iter()
        .map(|&(grown, name)| Plot {
            title: String::new(),
            x_label: name.into(),
            curves: (0..COST_MODELS.len())
                .map(|model| {
                    let of = |value: &dyn Fn(&Cost) -> f64| -> Vec<(f64, f64)> {
                        let costs = costs[model].iter().filter(|cost| cost.grown == grown);
                        costs
                            .zip(FACTORS)
                            .map(|(cost, factor)| ((SMALLEST[grown] * factor) as f64, value(cost)))
                            .collect()
                    };
                    Curve {
                        name: COST_MODELS[model].name.into(),
                        measured: of(&|cost| 1e3 * cost.seconds),
                        predicted: of(&|cost| 1e3 * predicted(model, &cost.size)),
                    }
                })
                .collect(),
        })
        .collect()
}

/// The median of the iterations after the first, which allocates and starts threads.
fn seconds_per_iteration(solver: Solver, topics: usize, counts: &Counts) -> Result<f64> {
    let converges = !matches!(solver, Solver::MiniBatch(_));
    let model = TopicModel::new(topics).solver(solver).epochs(8).seed(1);
    // A solver that converges would end before the last iteration.
    let model = if converges {
        model.tolerance(0.0)
    } else {
        model
    };
    let fit = model.quiet().fit(counts)?;
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

/// The quantities of a cost model.
fn quantities(model: &CostModel, size: &Size) -> [f64; 3] {
    [
        size.nonzeros * size.topics,
        size.nonzeros,
        (model.rest)(size),
    ]
}

/// Seconds per unit of each quantity: non-negative least squares of the relative errors, by coordinate descent.
fn fit_coefficients(model: &CostModel, costs: &[Cost]) -> [f64; 3] {
    let rows: Vec<[f64; 3]> = costs
        .iter()
        .map(|cost| quantities(model, &cost.size).map(|quantity| quantity / cost.seconds))
        .collect();
    let mut seconds = [0.0; 3];
    for step in 0..30_000 {
        let coordinate = step % 3;
        let (mut residual, mut square) = (0.0, 0.0);
        for row in &rows {
            let others: f64 = (0..3)
                .filter(|other| *other != coordinate)
                .map(|other| row[other] * seconds[other])
                .sum();
            residual += row[coordinate] * (1.0 - others);
            square += row[coordinate] * row[coordinate];
        }
        seconds[coordinate] = (residual / square).max(0.0);
    }
    seconds
}

/// The same counts as CSR.
fn to_csr(counts: &Counts) -> Result<Counts> {
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
