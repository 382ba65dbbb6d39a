//! The rows: counts, and what is measured on them.

use std::time::Instant;

use topicbook::{Counts, Device, Result, Solver, Synthetic, TopicModel};

use crate::support::text::text;

const TOPICS: usize = 20;

/// A pass over counts.
pub struct Row {
    pub name: String,
    /// Floating-point operations of the pass, as its formulas count them.
    pub operations: f64,
    pass: Pass,
}

enum Pass {
    /// The epochs of a fit.
    Epochs(TopicModel, Counts),
    /// The score of a fit.
    Score(TopicModel, Counts),
    /// L of other documents.
    Transform(TopicModel, Counts),
}

impl Row {
    /// Seconds of a pass: the fastest of several.
    pub fn seconds(&self) -> Result<f64> {
        let times: Vec<f64> = match &self.pass {
            Pass::Epochs(model, counts) => {
                let epochs = model.epochs(6).fit(counts)?.epochs();
                epochs
                    .iter()
                    .map(|epoch| epoch.duration.as_secs_f64())
                    .collect()
            }
            Pass::Score(model, counts) | Pass::Transform(model, counts) => {
                let fit = model.epochs(1).fit(counts)?;
                let mut times = Vec::new();
                for _ in 0..3 {
                    let start = Instant::now();
                    match self.pass {
                        Pass::Transform(..) => drop(fit.transform(counts)?),
                        _ => drop(fit.score(counts)?),
                    }
                    times.push(start.elapsed().as_secs_f64());
                }
                times
            }
        };
        Ok(times.into_iter().fold(f64::INFINITY, f64::min))
    }
}

/// All rows: dense counts at the density of the article, fewer counts, and text.
pub fn rows() -> Result<Vec<Row>> {
    let dense = |documents, length: usize| -> Result<Counts> {
        let recipe = Synthetic::new(documents, 20_000, TOPICS)
            .avg_doc_length(length)
            .seed(1);
        Ok(recipe.generate()?.counts())
    };
    let corpora = [
        ("the article's law", dense(1_600, 13_107)?),
        ("few counts", dense(4_000, 220)?),
        ("text", text(19_000, 56_000, 160)?),
    ];
    let model = |solver: Solver| {
        let model = TopicModel::new(TOPICS).solver(solver).seed(1);
        model.tolerance(0.0).device(Device::Cpu).quiet()
    };
    let steps = |batch_size| {
        let model = TopicModel::new(TOPICS).batch_size(batch_size).seed(1);
        model.device(Device::Cpu).quiet()
    };
    let mut rows = Vec::new();
    for (corpus, counts) in corpora {
        let summary = counts.summary()?;
        let (documents, terms) = counts.shape();
        // A multiply-add counts as two; what is zero is not needed.
        let product = 2.0 * summary.nonzeros() as f64 * TOPICS as f64;
        let mut row = |what: &str, products: f64, pass| {
            let name = format!(
                "{what}: {corpus}, {documents} x {terms}, {:.1}%",
                100.0 * summary.density()
            );
            rows.push(Row {
                name,
                operations: products * product,
                pass,
            });
        };
        row("EM", 4.0, Pass::Epochs(model(Solver::em()), counts.clone()));
        let descent = model(Solver::coordinate_descent());
        row(
            "coordinate descent",
            8.0,
            Pass::Epochs(descent, counts.clone()),
        );
        row(
            "AdamW, batch 16",
            3.0,
            Pass::Epochs(steps(16), counts.clone()),
        );
        row(
            "AdamW, batch 256",
            3.0,
            Pass::Epochs(steps(256), counts.clone()),
        );
        row(
            "score",
            1.0,
            Pass::Score(model(Solver::em()), counts.clone()),
        );
        let few: Vec<usize> = (0..documents / 8).collect();
        row(
            "transform an eighth",
            1.0,
            Pass::Transform(model(Solver::em()), counts.select(few)?),
        );
    }
    Ok(rows)
}
