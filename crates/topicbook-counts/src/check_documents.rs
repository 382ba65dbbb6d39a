//! Compares a range of documents of a file with what is known of them.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::text::count;

use super::View;
use super::formats::invalid_value;
use super::pass::READ_BYTES;
use super::rows::{RowFiles, for_each_file_block};
use super::summary::{Tally, UsedTerms, tally_rows};

/// Checks these documents of the file: all values are counts, and the documents have these lengths, in tokens. Returns the
/// sum of their digests, for [`Fingerprint`](super::Fingerprint). `progress` is called once per block.
///
/// # Errors
/// When a value is not a count, or a document has another length: the error names it.
pub fn check_documents(
    rows: RowFiles,
    documents: Range<usize>,
    terms: usize,
    lengths: &[f64],
    progress: &mut dyn FnMut(),
) -> Result<u64> {
    let used = UsedTerms::new(terms);
    let in_block = (READ_BYTES / rows.row_bytes()).max(1) as usize;
    let mut found = Vec::new();
    let mut contents = 0u64;
    let start = documents.start;
    for_each_file_block(rows, documents, in_block, &mut |block| {
        progress();
        found.clear();
        found.resize(block.rows.len(), 0.0);
        let row_values = match &block.view {
            View::Dense(_) => terms,
            View::Csr(csr) => csr.values.len() / block.rows.len(),
        };
        let tally: Tally = tally_rows(&block, terms, row_values, &mut found, &used);
        if let Some((row, column, value)) = tally.bad {
            return Err(invalid_value::not_a_count(value, row, column, None));
        }
        contents = contents.wrapping_add(tally.contents);
        let expected = &lengths[block.first - start..][..block.rows.len()];
        match found.iter().zip(expected).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(at) => Err(Error::cluster(format!(
                    "document {} has {} tokens in the file that this rank sees, and {} in the file of the fit",
                    count((block.first + at) as u64),
                    found[at],
                    expected[at]
                ))
            .fix("every rank must see the file of the fit under the same path")),
        }
    })?;
    Ok(contents)
}
