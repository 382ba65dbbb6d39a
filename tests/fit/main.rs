//! Fits on the CPU: results against the reference, tinytopics and real text; checkpoints and resuming.

mod bounds;
mod continued;
#[cfg(feature = "polars")]
mod explain;
#[cfg(feature = "charts")]
mod explorer;
mod extremes;
#[cfg(feature = "polars")]
mod fit;
mod given;
// Compares with the implementation through Burn's tensors.
#[cfg(feature = "cuda")]
mod golden;
#[cfg(all(feature = "cuda", feature = "polars"))]
mod gradient_steps;
mod instructions;
mod judging;
mod many;
#[cfg(feature = "polars")]
mod names;
mod narrow_tables;
mod nips;
#[cfg(all(feature = "charts", feature = "polars"))]
mod paths;
#[cfg(feature = "polars")]
mod questions;
mod recommend;
mod resume;
mod solvers;
#[cfg(feature = "cuda")]
mod steps;
mod sweep;
#[cfg(feature = "notebook")]
mod trainer;

/// Every optimizer, with a learning rate at which it learns small counts.
pub const OPTIMIZERS: [(topicbook::Optimizer, f64); 8] = {
    use topicbook::Optimizer::*;
    [
        (AdamW, 0.05),
        (RowwiseAdamW, 0.05),
        (RowwiseAdam, 0.05),
        (RowwiseAdamax, 0.05),
        (RowwiseAdadelta, 1.0),
        (RowwiseRmsProp, 0.01),
        (RowwiseAdagrad, 0.5),
        (RowwiseSgd, 1e-4),
    ]
};

/// Documents drawn from topics: documents x terms and the number of topics, tokens a document, and the seed.
pub fn drawn(
    [documents, terms, topics]: [usize; 3],
    length: usize,
    seed: u64,
) -> topicbook::Corpus {
    let recipe = topicbook::Synthetic::new(documents, terms, topics).seed(seed);
    recipe.avg_doc_length(length).generate().unwrap()
}

/// The score of counts by plain loops.
pub fn score(counts: &topicbook::Counts, l: &topicbook::Matrix, f: &topicbook::Matrix) -> f64 {
    let f: Vec<&[f32]> = (0..f.rows()).map(|topic| f.row(topic)).collect();
    let mut row = vec![0.0; counts.terms()];
    let documents = (0..counts.documents()).map(|document| {
        counts.fill_rows(&[document], &mut row).unwrap();
        testkit::reference::score(&row, &testkit::reference::rates(l.row(document), &f))
    });
    documents.sum()
}

/// The cosine of the angle between two vectors.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
