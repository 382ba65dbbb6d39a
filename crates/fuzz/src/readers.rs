//! Targets that read files.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use topicbook::{
    Cells, Checkpoint, Counts, Error, Fit, Reading, Table, Terms, Texts, TopicModel, Vectorizer,
};

use crate::outcome::{Outcome, Values};

/// Cells of counts that are fitted: larger ones would only test the memory of this machine.
const FITTED: usize = 1 << 16;

/// A file in an empty folder of its own: a checkpoint writes further files next to it.
struct Input {
    path: PathBuf,
    _folder: TempDir,
}

impl Input {
    fn new(extension: &str, data: &[u8]) -> Self {
        let folder = TempDir::new().expect("a folder for the file");
        let path = folder.path().join(format!("file.{extension}"));
        fs::write(&path, data).expect("the folder can be written to");
        Self {
            path,
            _folder: folder,
        }
    }
}

/// Opens counts, checks them, reads all rows, plans a fit, and fits them in place and streamed.
pub(crate) fn counts(extension: &str, data: &[u8]) -> Outcome {
    let file = Input::new(extension, data);
    let read = || -> Result<Option<Values>, Error> {
        let counts = Counts::open(&file.path)?;
        let summary = counts.summary()?;
        let values = Values::of(&counts, &summary);
        fit_in_both_ways(&counts);
        Ok(values)
    };
    read().map_or(Outcome::Refused, Outcome::Accepted)
}

/// A fit may be refused, but what it returns is finite.
fn fit_in_both_ways(counts: &Counts) {
    let (documents, terms) = counts.shape();
    let streamed = Reading::Stream {
        block: 2,
        blocks: 3,
    };
    for reading in [Reading::InPlace, streamed] {
        let model = TopicModel::new(1).epochs(1).reading(reading).quiet();
        if model.plan(counts).is_ok()
            && documents.saturating_mul(terms) <= FITTED
            && let Ok(fit) = model.fit(counts)
        {
            assert!(fit.l().values().iter().all(|weight| weight.is_finite()));
        }
    }
}

/// Opens a file of single cells, with the names of genes and cells and the table of the cells, and does with its counts what
/// [`counts`] does.
pub(crate) fn cells(extension: &str, data: &[u8]) -> Outcome {
    let file = Input::new(extension, data);
    if let Ok(cells) = Cells::open(&file.path) {
        let _ = (cells.terms(), cells.names(), cells.layers());
        if let Ok(documents) = cells.documents() {
            assert_eq!(documents.table().height(), documents.len());
        }
    }
    counts(extension, data)
}

/// Counts the terms of texts: of a file of records, or of a page in a folder.
pub(crate) fn texts(extension: &str, data: &[u8]) -> Outcome {
    let file = Input::new(extension, data);
    let path = match extension {
        "html" => file.path.parent().unwrap_or(&file.path),
        _ => &file.path,
    };
    let read = || -> Result<(), Error> {
        let texts = Texts::open(path)?;
        let beginnings = texts.beginnings(9)?;
        let counted = Vectorizer::new().ngram_range(1, 2).fit_transform(&texts)?;
        assert_eq!(counted.counts().documents(), beginnings.len());
        let again = counted.vectorizer().transform(&texts)?;
        assert_eq!(again.counts().summary()?, counted.counts().summary()?);
        if extension == "jsonl" {
            assert_eq!(Table::open(path)?.height(), beginnings.len());
        }
        Ok(())
    };
    match read() {
        Ok(()) => Outcome::Accepted(None),
        Err(_) => Outcome::Refused,
    }
}

/// Reads term names.
pub(crate) fn terms(extension: &str, data: &[u8]) -> Outcome {
    let file = Input::new(extension, data);
    match Terms::open(&file.path) {
        Ok(terms) => {
            assert!(terms.iter().all(|term| !term.trim().is_empty()));
            Outcome::Accepted(None)
        }
        Err(_) => Outcome::Refused,
    }
}

/// Opens a checkpoint, and continues it on the counts of the corpus.
pub(crate) fn checkpoint(extension: &str, data: &[u8]) -> Outcome {
    let file = Input::new(extension, data);
    let Ok(checkpoint) = Checkpoint::open(&file.path) else {
        return Outcome::Refused;
    };
    let counts = Counts::dense(4, 3, vec![1u8, 0, 2, 3, 1, 0, 0, 5, 1, 2, 2, 2]);
    if let Ok(counts) = counts
        && checkpoint.epochs_done() < 10
    {
        let _ = checkpoint.epochs(10).quiet().fit(&counts);
    }
    Outcome::Accepted(None)
}

/// Loads a saved fit, uses it, and saves it again.
pub(crate) fn fit(extension: &str, data: &[u8]) -> Outcome {
    let file = Input::new(extension, data);
    let Ok(fit) = Fit::load(&file.path) else {
        return Outcome::Refused;
    };
    if fit.documents().saturating_mul(fit.terms()) <= FITTED {
        let _ = (fit.loss(), fit.epochs(), fit.top_terms(3), fit.doc_topics());
        let again = file.path.with_file_name("again");
        if fit.save(&again).is_ok() {
            let loaded = Fit::load(&again).expect("what was saved is loaded");
            assert_eq!(loaded.l().shape(), fit.l().shape());
        }
    }
    Outcome::Accepted(None)
}
