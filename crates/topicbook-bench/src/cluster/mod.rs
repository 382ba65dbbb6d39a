//! `cargo xtask bench cluster`: passes of fits by ranks on this machine, compared with the same fit in one process.
//! Writes `cluster.json`, `cluster.md` and `cluster.svg` into a folder after every row.
//!
//! ```text
//! cluster record RECORDS FOLDER                       all rows; FOLDER holds the counts, 9 GB
//! cluster page RECORDS                                the page and the picture, again, from `cluster.json`
//! cluster draw FOLDER                                 the counts alone, for fits by hand
//! cluster fit PATH SOLVER PASSES RANKS BLOCK FOLDER   one fit, by RANKS ranks or, with 0, in one process that streams blocks
//! cluster exchange PATH FOLDER OPTIONS                seconds of the exchange in each pass, of ranks that `mpiexec` starts so
//! ```
//! The last two print one JSON line.

mod exchange;
mod model;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use topicbook::{Cluster, Counts, Device, Fit, Reading, Result, Solver, Synthetic, TopicModel};

use crate::support::{arguments, drawing, record};

use arguments::number;
use drawing::draw;
use page::markdown;

const TOPICS: usize = 20;
/// How often each fit is measured. The fits alternate, so that a slow minute of the machine affects all of them.
const ROUNDS: usize = 3;
/// Gradient steps; the documents of a batch follow.
const STEPS: &str = "AdamW, batch ";
/// Ranks on this machine; 0 is the fit in one process.
const RANKS: [usize; 5] = [0, 1, 2, 3, 4];

/// Counts, and how they are drawn.
struct Work {
    name: &'static str,
    file: &'static str,
    documents: usize,
    terms: usize,
    length: usize,
    /// Documents that a rank reads at a time, as `documents_in_block` of the library says.
    block: usize,
    passes: usize,
    /// Documents of a batch of gradient steps: enough for a shard each for four ranks.
    batch: usize,
}

const WORKS: [Work; 2] = [
    Work {
        name: "text: 100,000 x 8,000, CSR",
        file: "X.npz",
        documents: 100_000,
        terms: 8_000,
        length: 200,
        block: 1_024,
        passes: 12,
        batch: 4_000,
    },
    Work {
        name: "80,000 x 100,000, u8 .npy of 8 GB",
        file: "X.npy",
        documents: 80_000,
        terms: 100_000,
        length: 1_000,
        block: 80,
        passes: 4,
        batch: 20_000,
    },
];

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["record", records, folder] => measure(Path::new(records), Path::new(folder)),
        ["page", records] => {
            let path = Path::new(records).join("cluster.json");
            let text = fs::read_to_string(&path);
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let record = serde_json::from_str(&text);
            let record = record.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            write(Path::new(records), &record);
            Ok(())
        }
        ["draw", folder] => {
            for work in &WORKS {
                println!("{}", draw_counts(work, Path::new(folder))?.display());
            }
            Ok(())
        }
        ["fit", path, solver, passes, ranks, block, folder] => {
            let sizes = [number(passes), number(ranks), number(block)];
            println!("{}", fit(path, solver, sizes, folder)?);
            Ok(())
        }
        ["exchange", path, folder, options] => {
            println!("{}", exchange::fit_here(path, folder, options)?);
            Ok(())
        }
        _ => Err(arguments::unknown()),
    }
}

fn fit(
    path: &str,
    solver: &str,
    [passes, ranks, block]: [usize; 3],
    folder: &str,
) -> Result<Value> {
    let counts = Counts::open(path)?;
    let model = TopicModel::new(TOPICS);
    let batch: Option<usize> = solver.strip_prefix(STEPS).map(number);
    let model = match (batch, solver) {
        (Some(batch), _) => model.batch_size(batch),
        (None, "EM") => model.solver(Solver::em()).tolerance(0.0),
        _ => model.solver(Solver::coordinate_descent()).tolerance(0.0),
    };
    let blocks = batch.map_or(1, |batch| batch / block);
    let model = model.epochs(passes).device(Device::Cpu).seed(1).quiet();
    let model = match ranks {
        0 => model.reading(Reading::Stream { block, blocks }),
        ranks => model.cluster(Cluster::local(ranks).folder(folder)),
    };
    let plan = model.plan(&counts)?;
    let fit = plan.fit()?;
    let epochs = fit.epochs();
    let seconds = epochs.iter().map(|epoch| epoch.duration.as_secs_f64());
    Ok(json!({
        "seconds": seconds.collect::<Vec<_>>(),
        "whole": fit.duration().as_secs_f64(),
        "exchange": exchange_share(&fit),
        "score": fit.log_likelihood_per_token(),
        "nonzeros": counts.summary()?.nonzeros(),
        "plan": plan.to_string(),
    }))
}

/// The exchange's share of the passes but the first, of a fit by ranks.
fn exchange_share(fit: &Fit) -> Option<f64> {
    let ranks = fit.ranks();
    let number = ranks.numbers("rank").ok()?.into_iter().fold(0.0, f64::max) as usize + 1;
    let exchange = ranks.numbers("exchange").ok()?;
    let seconds = fit
        .epochs()
        .iter()
        .skip(1)
        .map(|epoch| epoch.duration.as_secs_f64())
        .sum::<f64>();
    let exchange = exchange.iter().skip(number).step_by(number).sum::<f64>();
    (ranks.height() > 0).then_some(exchange / seconds)
}

fn write(records: &Path, record: &Value) {
    record::write(records, "cluster", record, &markdown(record));
    let plots = model::plots(&record["exchange"]);
    draw(&plots, "s a pass", &records.join("cluster.svg"));
}

/// Draws the counts into a file, if it is not there.
fn draw_counts(work: &Work, folder: &Path) -> Result<PathBuf> {
    let path = folder.join(work.file);
    if !path.is_file() {
        let recipe = Synthetic::new(work.documents, work.terms, TOPICS)
            .avg_doc_length(work.length)
            .seed(1);
        match work.file {
            "X.npz" => drop(recipe.generate()?.counts().write_npz(&path)?),
            _ => drop(recipe.write_npy(&path)?),
        }
    }
    Ok(path)
}

fn measure(records: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut works = Vec::new();
    let exchange = exchange::measure(folder)?;
    for work in WORKS {
        let path = draw_counts(&work, folder)?;
        let mut row = json!({
            "name": work.name,
            "documents": work.documents,
            "terms": work.terms,
            "passes": work.passes,
        });
        let mut fits = Vec::new();
        let steps = format!("{STEPS}{}", work.batch);
        for solver in ["EM", "coordinate descent", &steps] {
            for round in 0..ROUNDS {
                for ranks in RANKS {
                    let output = record::this_program(&[
                        "fit",
                        &path.display().to_string(),
                        solver,
                        &work.passes.to_string(),
                        &ranks.to_string(),
                        &work.block.to_string(),
                        &folder.display().to_string(),
                    ])
                    .output()
                    .unwrap_or_else(|error| panic!("this program: {error}"));
                    let result = record::result_of(&output);
                    println!(
                        "{}, {solver}, {ranks} ranks, round {round}: {result}",
                        work.name
                    );
                    fits.push(json!({ "solver": solver, "ranks": ranks, "result": result }));
                }
            }
            row["fits"] = json!(fits);
            let all: Vec<&Value> = works.iter().chain([&row]).collect();
            let record = json!({
                "machine": record::machine(),
                "topics": TOPICS,
                "works": all,
                "exchange": exchange,
            });
            write(records, &record);
        }
        works.push(row);
        fs::remove_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    Ok(())
}
