//! Properties of the search, over a random table of shapes, dtypes, layouts, solvers, batch sizes and readings.

use std::path::Path;

use testkit::Random;

use super::Plan;
use super::candidate::Before;
use super::refusal::GROWTH;
use super::search::search;
use crate::batches::Reading;
use crate::config::{Device, Optimizer, Recipe, Resolved, Solver, TableStorage};
use crate::counts::{Counts, Dtype};
use crate::error::{Error, ErrorKind, Result};

const MIB: u64 = 1 << 20;
/// Anonymous memory of the process in all cases, without the counts.
const BASELINE: u64 = 10 * MIB;
const CASES: usize = 120;

struct Case {
    what: String,
    recipe: Recipe,
    counts: Counts,
    before: Before,
}

/// A whole number between two bounds, with a uniform logarithm.
fn between(random: &mut Random, least: usize, most: usize) -> usize {
    let (least, most) = (least as f64, most as f64);
    (least * (most / least).powf(random.uniform())) as usize
}

fn one_of<T: Clone>(random: &mut Random, choices: &[T]) -> T {
    choices[(random.uniform() * choices.len() as f64) as usize].clone()
}

/// Counts in a random layout: with few nonzero counts or none that are zero.
fn counts(random: &mut Random, folder: &Path) -> Counts {
    let documents = between(random, 10, 3_000);
    let terms = between(random, 10, 2_000_000 / documents);
    let dtype = one_of(random, &[Dtype::U8, Dtype::U16, Dtype::F32, Dtype::F64]);
    let every = one_of(random, &[1, 3, 40]);
    let values = (0..documents * terms).map(|at| u8::from(at % every == 0));
    let memory = Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap();
    let path = |name: &str| folder.join(name);
    match one_of(random, &["memory", "npy", "npy", "npz", "npz in memory"]) {
        "memory" => memory,
        "npy" => memory.write_npy_as(path("X.npy"), dtype).unwrap(),
        layout => {
            let archive = memory.write_npz(path("X.npz")).unwrap();
            if layout == "npz in memory" {
                archive.summary().unwrap();
            }
            archive
        }
    }
}

fn case(random: &mut Random, folder: &Path) -> Case {
    let counts = counts(random, folder);
    let (documents, terms) = counts.shape();
    let mut recipe = Recipe::new(between(random, 1, documents.min(terms).min(300)));
    recipe.quiet = true;
    recipe.settings.device = Device::Cpu;
    recipe.settings.solver = one_of(
        random,
        &[
            Solver::default(),
            Solver::default(),
            Solver::em(),
            Solver::coordinate_descent(),
            Solver::auto(),
        ],
    );
    let batch_size = between(random, 1, 2 * documents);
    let optimizer = one_of(random, &[Optimizer::AdamW, Optimizer::RowwiseAdamW]);
    let in_file = random.uniform() < 0.2;
    if let Solver::MiniBatch(parameters) = &mut recipe.settings.solver {
        (parameters.batch_size, parameters.optimizer) = (batch_size, optimizer);
        if in_file {
            parameters.table_storage = TableStorage::File(folder.into());
        }
    }
    let stream = Reading::Stream {
        block: between(random, 1, 100),
        blocks: between(random, 1, 100),
    };
    let readings = [Reading::Auto, Reading::Auto, Reading::InPlace, stream];
    recipe.settings.reading = one_of(random, &readings);
    if !counts.has_row_file() && recipe.settings.reading == stream {
        recipe.settings.reading = Reading::Auto;
    }
    if random.uniform() < 0.3 {
        recipe.checkpoint = Some(folder.join("fit.checkpoint"));
    }
    if random.uniform() < 0.2 {
        recipe.budget = recipe.budget.spill_dir(folder);
    }
    Case {
        what: format!(
            "{counts}, {:?}, checkpoint {}, {}",
            recipe.settings,
            recipe.checkpoint.is_some(),
            recipe.budget
        ),
        before: Before {
            baseline: BASELINE + counts.in_memory().loaded,
            counts: counts.in_memory(),
            summarised: counts.is_summarised(),
            resumed: false,
        },
        recipe,
        counts,
    }
}

impl Case {
    fn plan(&self, ram: u64, vram: Option<u64>, grown: u64) -> Result<Plan> {
        let mut recipe = self.recipe.clone();
        recipe.budget = recipe.budget.ram(ram)?;
        if let Some(vram) = vram {
            recipe.budget = recipe.budget.vram(vram)?;
        }
        let before = Before {
            baseline: self.before.baseline + grown,
            ..self.before
        };
        search(&recipe, &self.counts, Resolved::Cpu, before)
    }
}

/// The MiB that a refusal names.
fn hint(error: &Error) -> u64 {
    let remedy = error.remedy().unwrap();
    let number = remedy.split("at least ").nth(1).unwrap();
    number.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn more_budget_never_refuses_and_every_hint_is_the_least_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    let (mut refused, mut streamed) = (0, 0);
    for _ in 0..CASES {
        let case = case(&mut random, folder.path());
        let mut accepted = None;
        for step in 0..30 {
            let ram = (BASELINE as f64 * 1.12f64.powi(step)) as u64;
            let what = format!("{} with {ram} bytes", case.what);
            match case.plan(ram, None, 0) {
                Ok(plan) => {
                    assert!(plan.peak_ram() <= ram, "{what}: {plan}");
                    streamed += usize::from(plan.recipe.settings.reading.shuffle().is_some());
                    accepted.get_or_insert(ram);
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind(), ErrorKind::Space, "{what}: {error}");
                    assert_eq!(accepted, None, "{what}: {error}");
                    let least = hint(&error);
                    assert!(case.plan(least * MIB, None, 0).is_ok(), "{what}: {error}");
                    let then = |mib: u64| case.plan(mib * MIB, None, GROWTH);
                    assert!(then(least).is_ok(), "{what}: {error}");
                    assert!(then(least - 1).is_err(), "{what}: {error}");
                }
            }
        }
    }
    println!("{refused} refusals, {streamed} streams");
    assert!(refused > CASES && streamed > CASES);
}

/// The same with a budget of VRAM, and for every number of topics that a refusal names.
#[cfg(feature = "cuda")]
#[test]
fn hints_of_vram_and_of_topics_are_the_least_and_the_most() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(2);
    let mut refused = 0;
    for _ in 0..CASES / 2 {
        let case = case(&mut random, folder.path());
        let mut accepted = false;
        for step in 0..12 {
            let vram = 20_000 << step;
            let what = format!("{} with {vram} bytes of VRAM", case.what);
            let error = match case.plan(1 << 40, Some(vram), 0) {
                Ok(plan) => {
                    assert!(plan.peak_vram().is_some_and(|peak| peak <= vram), "{what}");
                    accepted = true;
                    continue;
                }
                Err(error) => error,
            };
            refused += 1;
            assert!(!accepted, "{what}: {error}");
            let least = hint(&error);
            let with = |mib: u64| case.plan(1 << 40, Some(mib * MIB), 0);
            assert!(with(least).is_ok(), "{what}: {error}");
            assert!(least < 2 || with(least - 1).is_err(), "{what}: {error}");
            let remedy = error.remedy().unwrap();
            let Some(rest) = remedy.split("use k = ").nth(1) else {
                continue;
            };
            let topics: usize = rest.split(' ').next().unwrap().parse().unwrap();
            let with_topics = |topics| {
                let mut recipe = case.recipe.clone();
                recipe.settings.topics = topics;
                let other = Case {
                    what: String::new(),
                    recipe,
                    counts: case.counts.clone(),
                    before: case.before,
                };
                other.plan(1 << 40, Some(vram), 0)
            };
            assert!(with_topics(topics).is_ok(), "{what}: {error}");
            assert!(with_topics(topics + 1).is_err(), "{what}: {error}");
        }
    }
    assert!(refused > CASES / 2, "{refused}");
}
