//! Several samples of single cells in one folder: `GSM1_S1_matrix.mtx.gz`, `GSM2_S2_matrix.mtx.gz`, each with its names.

use std::iter::repeat_n;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::text::{counted, quoted_list, shown_path};

use super::Cells;
use super::formats::text::{companion, matrices};

/// The column of documents with the sample of each cell.
pub const LABEL: &str = "sample";
/// Samples whose names a note has.
const SHOWN: usize = 10;

/// The matrix of a folder, or those of its samples, each once: at least one.
pub fn folder_matrices(folder: &Path) -> Result<Vec<PathBuf>> {
    if let Some(plain) = companion(&folder.join("matrix.mtx"), &["matrix.mtx"]) {
        return Ok(vec![plain]);
    }
    let mut found = matrices(folder)?;
    // A file and its compressed copy.
    found.dedup_by(|next, path| next.to_string_lossy() == format!("{}.gz", path.display()));
    match found.is_empty() {
        false => Ok(found),
        true => Err(
            Error::format(folder, "is a folder without matrix.mtx or matrix.mtx.gz")
                .fix("name the folder filtered_feature_bc_matrix, or a file .h5ad, .h5 or .mtx"),
        ),
    }
}

/// Opens the samples of a folder, which have the same features in the same order.
pub fn open(folder: &Path, matrices: &[PathBuf]) -> Result<Vec<Cells>> {
    let samples: Vec<Cells> = matrices.iter().map(Cells::open).collect::<Result<_>>()?;
    let first = &samples[0];
    let one = format!(
        "open one of them: Cells::open({:?})",
        shown_path(&first.path)
    );
    let terms = |sample: &Cells| {
        sample.terms().map_err(|error| {
            let remedy = error.remedy().unwrap_or_default().to_owned();
            error.fix(format!("{remedy}; or {one}"))
        })
    };
    let expected = terms(first)?;
    for sample in &samples[1..] {
        let found = terms(sample)?;
        let mut pairs = expected.as_slice().iter().zip(found.as_slice()).zip(1..);
        let what = match pairs.find(|((one, other), _)| one != other) {
            Some(((one, other), line)) => format!("feature {line} is {one:?} and {other:?}"),
            None if expected.len() == found.len() => continue,
            None => format!("they have {} and {} features", expected.len(), found.len()),
        };
        let what = format!(
            "is a folder of {} with different features: of {} and {}, {what}",
            counted(samples.len(), LABEL),
            shown_path(&first.path),
            shown_path(&sample.path)
        );
        return Err(Error::format(folder, what).fix(one));
    }
    Ok(samples)
}

/// The name of a sample: the prefix of its matrix.
fn name(sample: &Cells) -> String {
    let file = sample.path.file_name().unwrap_or_default();
    let file = file.to_string_lossy();
    let end = file.to_ascii_lowercase().rfind("matrix.mtx");
    let prefix = &file[..end.unwrap_or(file.len())];
    prefix.trim_end_matches(['_', '.', '-']).to_owned()
}

/// The names of all cells, and the sample of each.
pub fn cells(samples: &[Cells]) -> Result<(Vec<String>, Vec<String>)> {
    let (mut names, mut labels) = (Vec::new(), Vec::new());
    for sample in samples {
        let found = sample.names()?;
        labels.extend(repeat_n(name(sample), found.len()));
        names.extend(found);
    }
    Ok((names, labels))
}

/// What the samples are, for a card.
pub fn note(samples: &[Cells]) -> String {
    let names: Vec<String> = samples.iter().map(name).collect();
    format!(
        "{} with the same features: {}. The column {LABEL:?} of documents() says which a cell is of.",
        counted(samples.len(), LABEL),
        quoted_list(&names, SHOWN)
    )
}
