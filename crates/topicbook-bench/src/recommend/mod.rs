//! `cargo xtask bench recommend`: recommendations compared with the Python package implicit, on the same split of the
//! same counts. Writes `recommend.json` and `recommend.md` into a folder after every number of topics.
//!
//! ```text
//! recommend RECORDS FOLDER PYTHON SCRIPT [quick]
//! ```
//!
//! A fifth of the nonzero counts is held out. Our rankings are judged by `Fit::evaluate_ranking`, the peer's by some lines of
//! NumPy in its script, and ours by these, too. `quick` fits MovieLens 100k alone and with few topics, and prints the page
//! instead of writing a record.

mod corpora;
mod page;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use topicbook::{Fit, Result, Solver, TopicModel};

use crate::support::{arguments, record};

use corpora::{Corpus, Recipe, Truth};

/// The length of a ranking.
const N: usize = 20;
const SEED: u64 = 1;

/// One of our settings: a solver by its name, and the largest number of epochs, where it is not the default.
type Ours = (&'static str, Option<usize>);

const ADAMW: &str = "AdamW";
const EM: &str = "expectation-maximisation";
const DESCENT: &str = "coordinate descent";

/// What is done with a corpus.
struct Work {
    topics: &'static [usize],
    ours: &'static [Ours],
    /// Keyword arguments of implicit's classes, as JSON; `{}` stands for its defaults.
    als: &'static str,
    bpr: Option<&'static str>,
}

const MOVIELENS: Work = Work {
    topics: &[10, 20, 50, 100],
    ours: &[
        (ADAMW, None),
        (ADAMW, Some(20)),
        (EM, None),
        (EM, Some(20)),
        (DESCENT, None),
        (DESCENT, Some(5)),
    ],
    als: r#"[{}, {"regularization": 1}, {"regularization": 10}, {"regularization": 30}, {"regularization": 60},
        {"alpha": 0.5, "regularization": 10}, {"alpha": 0.5, "regularization": 20}, {"alpha": 2, "regularization": 30},
        {"alpha": 2, "regularization": 60}]"#,
    bpr: Some(r#"[{}, {"iterations": 300}]"#),
};

const QUICK: Work = Work {
    topics: &[10, 20],
    als: r#"[{}, {"regularization": 30}]"#,
    bpr: Some("[{}]"),
    ..MOVIELENS
};

const DRAWN: [(Recipe, Work); 2] = [
    (
        Recipe {
            name: "Drawn, 20,000 documents",
            documents: 20_000,
            terms: 5_000,
            topics: 20,
            length: (50, 100),
        },
        Work {
            topics: &[20, 50],
            ours: &[(ADAMW, None), (EM, None), (EM, Some(20)), (DESCENT, None)],
            als: r#"[{}, {"regularization": 10}, {"regularization": 20}, {"regularization": 30},
                {"alpha": 10, "regularization": 30}, {"alpha": 10, "regularization": 100}]"#,
            bpr: Some("[{}]"),
        },
    ),
    (
        Recipe {
            name: "Drawn, 1,000,000 documents",
            documents: 1_000_000,
            terms: 20_000,
            topics: 50,
            length: (20, 60),
        },
        Work {
            topics: &[50],
            ours: &[(EM, Some(20))],
            als: r#"[{}, {"alpha": 10, "regularization": 100}]"#,
            bpr: None,
        },
    ),
];

pub fn main() -> Result<()> {
    match arguments::arguments().as_slice() {
        [records, folder, python, script, rest @ ..] => {
            fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
            let mut bench = Bench {
                records: rest.is_empty().then_some(Path::new(records)),
                folder: Path::new(folder),
                python,
                script,
                cells: Vec::new(),
                versions: json!({}),
            };
            bench.all()
        }
        _ => Err(arguments::unknown()),
    }
}

struct Bench<'a> {
    /// Without records the page is printed.
    records: Option<&'a Path>,
    folder: &'a Path,
    python: &'a str,
    script: &'a str,
    cells: Vec<Value>,
    versions: Value,
}

impl Bench<'_> {
    fn all(&mut self) -> Result<()> {
        let movielens = self.call(&["movielens"]);
        let Some(path) = movielens["path"].as_str() else {
            panic!("MovieLens 100k is missing: {movielens}");
        };
        self.versions["recbole"] = movielens["recbole"].clone();
        let whole = self.records.is_some();
        let work = if whole { &MOVIELENS } else { &QUICK };
        self.corpus(&corpora::movielens(path)?, work)?;
        for (recipe, work) in DRAWN.iter().filter(|_| whole) {
            self.corpus(&recipe.draw()?, work)?;
        }
        match self.records {
            Some(_) => {}
            None => println!("{}", page::markdown(&self.record())),
        }
        Ok(())
    }

    fn record(&self) -> Value {
        json!({ "machine": record::machine(), "versions": self.versions, "n": N, "corpora": self.cells })
    }

    /// All fits of a corpus. The record is written after each number of topics, so that an interruption loses little.
    fn corpus(&mut self, corpus: &Corpus, work: &Work) -> Result<()> {
        for (name, counts) in [("train", &corpus.train), ("held_out", &corpus.held_out)] {
            let path = self.folder.join(format!("{name}.npz"));
            if path.exists() {
                fs::remove_file(&path).unwrap_or_else(|error| panic!("{error}"));
            }
            counts.write_npz(path)?;
        }
        let mut cell = corpus.described()?;
        if let Some(Truth { topics, l, f }) = &corpus.truth {
            cell["truth"] = self.judge(*topics, l, f);
        }
        cell["rows"] = json!([]);
        let at = self.cells.len();
        self.cells.push(cell);
        for &topics in work.topics {
            let mut rows = Vec::new();
            for &ours in work.ours {
                let (row, popularity) = self.ours(corpus, topics, ours)?;
                self.cells[at]["popularity"] = popularity;
                rows.push(row);
            }
            rows.extend(self.peer("als", "ALS", topics, work.als));
            if let Some(settings) = work.bpr {
                rows.extend(self.peer("bpr", "BPR", topics, settings));
            }
            for row in &rows {
                println!("{}, {}", corpus.name, page::line(row));
            }
            if let Some(all) = self.cells[at]["rows"].as_array_mut() {
                all.append(&mut rows);
            }
            if let Some(records) = self.records {
                let record = self.record();
                record::write(records, "recommend", &record, &page::markdown(&record));
            }
        }
        Ok(())
    }

    /// One of our fits: its row, and how well the most frequent terms do.
    fn ours(
        &self,
        corpus: &Corpus,
        topics: usize,
        (solver, epochs): Ours,
    ) -> Result<(Value, Value)> {
        let model = TopicModel::new(topics).seed(SEED).quiet();
        let model = model.solver(match solver {
            EM => Solver::em(),
            DESCENT => Solver::coordinate_descent(),
            _ => Solver::default(),
        });
        let model = epochs.map_or(model.clone(), |epochs| model.epochs(epochs));
        let begun = Instant::now();
        let fit = model.fit(&corpus.train)?;
        let seconds = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let ranked = fit.recommend_all(&corpus.train, N)?;
        let ranking = begun.elapsed().as_secs_f64();
        drop(ranked);
        let begun = Instant::now();
        let judged = fit.evaluate_ranking(&corpus.train, &corpus.held_out, N)?;
        let judging = begun.elapsed().as_secs_f64();
        let row = json!({
            "side": "topicbook",
            "method": solver,
            "topics": topics,
            "settings": epochs.map_or(json!({}), |epochs| json!({ "epochs": epochs })),
            "epochs": fit.epochs().len(),
            "seconds": seconds,
            "ranking_seconds": ranking,
            "judging_seconds": judging,
            "judged": judged.documents(),
            "recall": judged.recall(),
            "recall_error": judged.recall_error(),
            "ndcg": judged.ndcg(),
            "ndcg_error": judged.ndcg_error(),
            "check": self.check(&fit),
        });
        let popularity =
            json!({ "recall": judged.popularity_recall(), "ndcg": judged.popularity_ndcg() });
        Ok((row, popularity))
    }

    /// Our L and F, judged by the peer's script.
    fn check(&self, fit: &Fit) -> Value {
        self.judge(fit.topics(), fit.l().values(), fit.f().values())
    }

    fn judge(&self, topics: usize, l: &[f32], f: &[f32]) -> Value {
        let paths = [("l.f32", l), ("f.f32", f)].map(|(name, values)| {
            let path = self.folder.join(name);
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            fs::write(&path, bytes).unwrap_or_else(|error| panic!("{error}"));
            path
        });
        let [l, f] = paths
            .each_ref()
            .map(|path: &PathBuf| path.to_string_lossy());
        let (n, topics) = (N.to_string(), topics.to_string());
        self.call(&["judge", &self.folder.to_string_lossy(), &n, &topics, &l, &f])
    }

    /// The rows of one of implicit's classes, one for each of the settings.
    fn peer(&mut self, task: &str, method: &str, topics: usize, settings: &str) -> Vec<Value> {
        let (n, factors) = (N.to_string(), topics.to_string());
        let folder = self.folder.to_string_lossy();
        let mut result = self.call(&[task, &folder, &n, &factors, settings]);
        if let Some(versions) = result["versions"].as_object() {
            for (name, version) in versions {
                self.versions[name] = version.clone();
            }
        }
        let mut rows = match result["runs"].take() {
            Value::Array(rows) => rows,
            // The failure has a row, too.
            _ => vec![result],
        };
        for row in &mut rows {
            row["side"] = "implicit".into();
            row["method"] = method.into();
            row["topics"] = topics.into();
        }
        rows
    }

    fn call(&self, arguments: &[&str]) -> Value {
        let output = Command::new(self.python)
            .arg(self.script)
            .args(arguments)
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.python));
        record::result_of(&output)
    }
}
