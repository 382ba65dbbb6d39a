//! What a target did with its bytes.

use topicbook::{Counts, Summary};

/// Whether the bytes were read.
pub enum Outcome {
    Refused,
    /// With the values, where they are counts.
    Accepted(Option<Values>),
}

/// What is compared with a peer's reading of the same file.
pub struct Values {
    pub documents: usize,
    pub terms: usize,
    pub total: f64,
    pub nonzeros: u64,
    /// See [`mixed`]; `None` where the rows are too many to be read one by one.
    pub checksum: Option<u64>,
}

/// Cells of counts whose rows are all read.
const CELLS: usize = 1 << 22;
/// Cells that are read at once.
const BLOCK: usize = 1 << 16;

impl Values {
    /// Reads all rows. `None` where that fails.
    ///
    /// # Panics
    /// When the rows contradict the summary.
    pub fn of(counts: &Counts, summary: &Summary) -> Option<Self> {
        let (documents, terms) = counts.shape();
        let mut values = Self {
            documents,
            terms,
            total: summary.total(),
            nonzeros: summary.nonzeros(),
            checksum: None,
        };
        if documents.saturating_mul(terms) <= CELLS {
            values.read_rows(counts)?;
        }
        Some(values)
    }

    fn read_rows(&mut self, counts: &Counts) -> Option<()> {
        let (mut total, mut nonzeros, mut checksum) = (0.0, 0, 0u64);
        let rows: Vec<usize> = (0..self.documents).collect();
        let mut block = Vec::new();
        for rows in rows.chunks((BLOCK / self.terms.max(1)).max(1)) {
            block.resize(rows.len() * self.terms, 0.0);
            counts.fill_rows(rows, &mut block).ok()?;
            for (cell, &count) in block.iter().enumerate() {
                if count != 0.0 {
                    let (row, column) = (rows[cell / self.terms], cell % self.terms);
                    total += f64::from(count);
                    nonzeros += 1;
                    checksum = checksum.wrapping_add(mixed(row, column, count));
                }
            }
        }
        assert_eq!(nonzeros, self.nonzeros, "nonzeros of rows and summary");
        // Counts above 2^24 are rounded to f32.
        let difference = (total - self.total).abs();
        assert!(
            difference <= 1e-6 * self.total,
            "{total} in the rows, {} in the summary",
            self.total
        );
        self.checksum = Some(checksum);
        Some(())
    }
}

/// A number for a count at its place. The sum of all of them does not depend on their order; `xtask/python/fuzz_peers.py`
/// computes the same.
fn mixed(row: usize, column: usize, count: f32) -> u64 {
    let place = (row as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((column as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f));
    let mixed = place.wrapping_add(u64::from(count.to_bits()).wrapping_mul(0x1656_67b1_9e37_79f9));
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}
