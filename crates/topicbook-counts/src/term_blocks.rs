//! Counts term by term, in bounded memory.

use std::ops::Range;

use crate::error::Result;

use super::Counts;
use super::pass::for_each_stored_block;
use super::rows::{NonzeroBuffer, nonzeros_between};

/// Bytes of a nonzero count and its document.
const NONZERO_BYTES: u64 = 8;

/// The nonzero counts of consecutive terms, each with its documents in increasing order.
pub struct TermBlock {
    /// The first term.
    pub first: usize,
    /// Where each term begins; one more at the end.
    starts: Vec<usize>,
    documents: Vec<u32>,
    counts: Vec<f32>,
}

impl TermBlock {
    /// Number of terms.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The documents that have the term at this position of the block, and how often.
    pub fn term(&self, at: usize) -> (&[u32], &[f32]) {
        let range = self.starts[at]..self.starts[at + 1];
        (&self.documents[range.clone()], &self.counts[range])
    }
}

/// Calls `visit` with all terms in order, in blocks whose nonzero counts take at most `bytes` of memory, or that have one term.
/// Each block costs a pass over the counts, after one that counts the documents of each term.
pub fn for_each_term_block(
    counts: &Counts,
    bytes: u64,
    visit: &mut dyn FnMut(TermBlock) -> Result<()>,
) -> Result<()> {
    let frequencies = counts.document_frequencies()?;
    for terms in ranges(&frequencies, bytes / NONZERO_BYTES) {
        let mut starts = vec![0];
        let mut total = 0;
        for &documents in &frequencies[terms.clone()] {
            total += documents as usize;
            starts.push(total);
        }
        counts
            .claim()
            .check_memory(NONZERO_BYTES.saturating_mul(total as u64))?;
        let mut block = TermBlock {
            first: terms.start,
            documents: vec![0; total],
            counts: vec![0.0; total],
            starts,
        };
        let mut next = block.starts.clone();
        let mut buffer = NonzeroBuffer::default();
        for_each_stored_block(counts, false, &mut |stored| {
            let before = stored.rows.start;
            for row in stored.rows {
                let document = (stored.first + row - before) as u32;
                let (columns, values) =
                    nonzeros_between(&stored.view, counts.terms(), row, &terms, &mut buffer);
                for (&column, &value) in columns.iter().zip(values) {
                    // Sparse counts may store zeros.
                    if value != 0.0 {
                        let at = &mut next[column as usize - terms.start];
                        block.documents[*at] = document;
                        block.counts[*at] = value;
                        *at += 1;
                    }
                }
            }
            Ok(())
        })?;
        visit(block)?;
    }
    Ok(())
}

/// Ranges of consecutive terms with at most `nonzeros` nonzero counts in all, or of one term.
fn ranges(frequencies: &[u64], nonzeros: u64) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut first, mut sum) = (0, 0);
    for (term, &documents) in frequencies.iter().enumerate() {
        if term > first && sum + documents > nonzeros {
            ranges.push(first..term);
            (first, sum) = (term, 0);
        }
        sum += documents;
    }
    ranges.push(first..frequencies.len());
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nonzero_count_is_in_one_block() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, terms) = (57, 11);
        let values: Vec<u8> = (0..documents * terms)
            .map(|at| if at % 7 < 4 { 0 } else { (at % 200) as u8 + 1 })
            .collect();
        let dense = Counts::dense(documents, terms, values.clone()).unwrap();
        let sources = [
            dense.clone(),
            dense.write_npz(folder.path().join("X.npz")).unwrap(),
            dense.write_npy(folder.path().join("X.npy")).unwrap(),
        ];
        for counts in sources {
            for bytes in [0, 100, 1_000, 1 << 30] {
                let mut found = vec![0; documents * terms];
                let mut blocks = 0;
                for_each_term_block(&counts, bytes, &mut |block| {
                    blocks += 1;
                    for at in 0..block.len() {
                        let (rows, counts) = block.term(at);
                        assert!(rows.windows(2).all(|two| two[0] < two[1]));
                        for (&row, &count) in rows.iter().zip(counts) {
                            found[row as usize * terms + block.first + at] = count as u8;
                        }
                    }
                    Ok(())
                })
                .unwrap();
                assert!(found == values, "{counts}, {bytes}");
                assert_eq!(blocks == 1, bytes == 1 << 30, "{blocks} blocks");
            }
        }
    }
}
