//! Random fits, and what one of them predicts and uses.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::Random;
use topicbook::{
    Budget, Counts, Device, Dtype, Optimizer, Reading, Result, Solver, Synthetic, TopicModel,
};

use crate::support::sampler::Sampler;

/// Largest number of counts of a row, and of bytes of its file.
const MOST_CELLS: f64 = 6e7;
const MOST_BYTES: f64 = 2e8;
/// Largest number of values of L and F together, and of tokens times topics, so that a row takes about a second.
const MOST_VALUES: f64 = 3e6;
const MOST_WORK: f64 = 1e8;
/// Largest number of steps in an epoch.
const MOST_STEPS: f64 = 60.0;

/// Bytes that the process holds before a fit.
const OTHER_VALUES: usize = 64 << 20;

fn other_values() -> Vec<u8> {
    std::hint::black_box(vec![1; OTHER_VALUES])
}

/// A random fit.
pub struct Row {
    number: u64,
    documents: usize,
    terms: usize,
    tokens: usize,
    dtype: Dtype,
    layout: &'static str,
    solver: &'static str,
    topics: usize,
    batch: usize,
    reading: Reading,
    checkpoint: bool,
    /// The budget in multiples of the least that is accepted.
    budget: f64,
    /// Whether the fit runs in a control group.
    pub limited: bool,
}

impl Row {
    /// The row of a number: the same in every run.
    pub fn random(number: u64) -> Self {
        // Neighbouring seeds give similar numbers, so the seed is drawn as well.
        let mut seeds = Random::new(number + 1);
        let seed = (0..4).fold(0, |seed, _| seed << 16 ^ (seeds.uniform() * 1e9) as u64);
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..8 {
            random.uniform();
        }
        // A whole number between two bounds, with a uniform logarithm.
        let mut between = |least: f64, most: f64| {
            let ratio = (most / least).max(1.0);
            (least * ratio.powf(random.uniform())) as usize
        };
        let documents = between(2_000.0, 40_000.0);
        let terms = between(500.0, (MOST_CELLS / documents as f64).min(60_000.0));
        let tokens = between(50.0, 1_000.0);
        let most_topics = (MOST_VALUES / (documents + terms) as f64)
            .min(MOST_WORK / (documents * tokens) as f64)
            .min(documents.min(terms) as f64)
            .min(150.0);
        let topics = between(3.0, most_topics);
        let batch = between((documents as f64 / MOST_STEPS).max(4.0), documents as f64);
        let stream = Reading::Stream {
            block: between(1.0, 64.0),
            blocks: between(4.0, 128.0),
        };
        let mut one_of =
            |choices: &[usize]| choices[(random.uniform() * choices.len() as f64) as usize];
        let reading = [Reading::Auto, Reading::InPlace, stream][one_of(&[0, 0, 1, 2])];
        let widest = match MOST_BYTES / (documents * terms) as f64 {
            ..4.0 => 2,
            _ => 4,
        };
        let dtypes = [Dtype::U8, Dtype::U16, Dtype::U32, Dtype::F32];
        Self {
            number,
            documents,
            terms,
            tokens,
            dtype: dtypes[one_of(&[0, 1, 2, 3]).min(widest - 1)],
            layout: ["npy", "npz"][one_of(&[0, 0, 1])],
            solver: ["AdamW", "RowwiseAdamW", "em", "cd", "auto"][one_of(&[0, 0, 0, 1, 2, 3, 4])],
            topics,
            batch,
            reading,
            checkpoint: one_of(&[0, 1, 2, 3]) == 0,
            budget: 1.0 + [0.0, 0.05, 0.2, 0.5, 1.0, 3.0][one_of(&[0, 1, 2, 3, 4, 5])],
            limited: number % 2 == 1,
        }
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("X.{}", self.layout))
    }

    /// Writes the counts of the row into a folder.
    fn write(&self, folder: &Path) -> Result<()> {
        let drawn = folder.join("drawn.npy");
        let corpus = Synthetic::new(self.documents, self.terms, self.topics.min(10))
            .avg_doc_length(self.tokens)
            .seed(self.number)
            .write_npy(&drawn)?;
        match self.layout {
            "npz" => corpus.counts().write_npz(self.path(folder))?,
            _ => corpus
                .counts()
                .write_npy_as(self.path(folder), self.dtype)?,
        };
        let _ = std::fs::remove_file(drawn);
        Ok(())
    }

    fn model(&self, folder: &Path) -> TopicModel {
        let mut model = TopicModel::new(self.topics)
            .seed(1)
            .device(Device::Cpu)
            .reading(self.reading)
            .quiet();
        model = match self.solver {
            "em" => model.solver(Solver::em()).epochs(4),
            "cd" => model.solver(Solver::coordinate_descent()).epochs(4),
            "auto" => model.solver(Solver::auto()).epochs(16),
            optimizer => {
                let optimizer = match optimizer {
                    "AdamW" => Optimizer::AdamW,
                    _ => Optimizer::RowwiseAdamW,
                };
                let steps = Solver::mini_batch().batch_size(self.batch);
                model.solver(steps.optimizer(optimizer)).epochs(2)
            }
        };
        match self.checkpoint {
            true => model.checkpoint(folder.join("fit.checkpoint")),
            false => model,
        }
    }

    /// Writes the counts and returns the budget: a multiple of the least one, which a refusal names. Called in a
    /// process of its own, which has the same memory before the fit as the process that fits.
    pub fn prepare(&self, folder: &Path) -> Result<u64> {
        self.write(folder)?;
        let _other_values = other_values();
        let least = least_budget(&self.model(folder), &Counts::open(self.path(folder))?);
        Ok((least as f64 * self.budget) as u64)
    }

    /// Plans and fits within a budget; the record of the row.
    ///
    /// The process holds [`OTHER_VALUES`] bytes besides: a notebook's kernel has more, and a control group counts a few MB of
    /// the system's own (page tables, stacks) that no plan includes.
    pub fn fit(&self, folder: &Path, budget: u64) -> Result<Value> {
        let _other_values = other_values();
        let counts = Counts::open(self.path(folder))?;
        let sampler = Sampler::start();
        let model = self.model(folder).budget(Budget::new().ram(budget)?);
        let plan = model.plan(&counts)?;
        let fit = plan.fit()?;
        let measured = sampler.finish();
        Ok(json!({
            "budget": budget,
            "predicted": plan.peak_ram(),
            "measured": measured,
            "ratio": plan.peak_ram() as f64 / measured as f64,
            "micro_batch": plan.micro_batch(),
            "read": format!("{:?}", fit.settings().reading),
        }))
    }

    /// The row in a record.
    pub fn describe(&self) -> Value {
        json!({
            "row": self.number,
            "documents": self.documents,
            "terms": self.terms,
            "tokens": self.tokens,
            "dtype": self.dtype.to_string(),
            "layout": self.layout,
            "solver": self.solver,
            "topics": self.topics,
            "batch": self.batch,
            "reading": format!("{:?}", self.reading),
            "checkpoint": self.checkpoint,
            "limited": self.limited,
        })
    }
}

/// The least budget of a fit in bytes, as the refusal of one byte names it.
///
/// # Panics
/// When the fit is refused for another reason.
pub fn least_budget(model: &TopicModel, counts: &Counts) -> u64 {
    let refused = Budget::new()
        .ram(1u64)
        .and_then(|tiny| model.budget(tiny).plan(counts));
    let error = refused.unwrap_err();
    let mib = error.remedy().and_then(|remedy| {
        remedy
            .split("at least ")
            .nth(1)?
            .split(' ')
            .next()?
            .parse()
            .ok()
    });
    mib.map_or_else(|| panic!("{error}"), |mib: u64| mib << 20)
}
