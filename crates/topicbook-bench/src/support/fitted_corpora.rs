//! The corpora on which the quality of fits is compared.

use std::path::Path;

use topicbook::{Counts, Matrix, Result, Synthetic};

pub const TOPICS: usize = 10;

pub struct FittedCorpus {
    pub name: &'static str,
    pub counts: Counts,
    /// The true topics of drawn counts.
    pub true_f: Option<Matrix>,
    /// Epochs of a fit.
    pub epochs: usize,
}

/// The NIPS papers, where their counts are given, and drawn counts.
pub fn fitted_corpora(nips: Option<&Path>) -> Result<Vec<FittedCorpus>> {
    let mut corpora = Vec::new();
    if let Some(path) = nips {
        corpora.push(FittedCorpus {
            name: "NIPS papers",
            counts: Counts::open(path)?,
            true_f: None,
            epochs: 200,
        });
    }
    for (name, tokens) in [
        ("synthetic, 500 tokens a document", 500),
        ("synthetic, 100 tokens a document", 100),
    ] {
        let drawn = Synthetic::new(5_000, 1_000, TOPICS)
            .avg_doc_length(tokens)
            .seed(42)
            .generate()?;
        corpora.push(FittedCorpus {
            name,
            counts: drawn.counts(),
            true_f: Some(drawn.true_f()),
            epochs: 40,
        });
    }
    Ok(corpora)
}
