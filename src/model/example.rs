//! What the examples in the documentation start from.

use std::env;
use std::fs;
use std::path::PathBuf;

use super::TopicModel;
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::synthetic::Synthetic;

/// Counts of 60 documents x 30 terms, and a fit of three topics to them.
#[doc(hidden)]
pub fn example_fit() -> Result<(Counts, Fit)> {
    let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1);
    let counts = corpus.generate()?.counts();
    let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    Ok((counts, fit))
}

/// Two halves of 60 documents x 40 terms, and a fit of three topics to the first.
#[doc(hidden)]
pub fn example_halves() -> Result<(Fit, Counts, Counts)> {
    let corpus = Synthetic::new(60, 40, 3).avg_doc_length(30).seed(1);
    let (counts, held_out) = corpus.generate()?.counts().split_tokens(1)?;
    let fit = TopicModel::new(3).epochs(20).quiet().fit(&counts)?;
    Ok((fit, counts, held_out))
}

/// An empty folder, which is removed when this is dropped.
#[doc(hidden)]
pub struct ExampleFolder(PathBuf);

/// Makes an empty folder the current one.
#[doc(hidden)]
pub fn example_folder() -> Result<ExampleFolder> {
    let path = env::temp_dir().join(format!("topicbook-example-{}", std::process::id()));
    fs::create_dir_all(&path)
        .and_then(|()| env::set_current_dir(&path))
        .map_err(|error| Error::io("create", &path, error))?;
    Ok(ExampleFolder(path))
}

impl Drop for ExampleFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The same with the checkpoint `fit.ckpt` of a fit of two epochs, and its counts.
#[doc(hidden)]
pub fn example_checkpoint() -> Result<(ExampleFolder, Counts)> {
    let folder = example_folder()?;
    let counts = Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    let model = TopicModel::new(3).epochs(2).seed(7).quiet();
    model.checkpoint("fit.ckpt").fit(&counts)?;
    Ok((folder, counts))
}
