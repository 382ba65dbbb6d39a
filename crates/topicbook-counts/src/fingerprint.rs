//! Recognises counts that a fit or a checkpoint has seen before.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::system::simd_dispatch;

use super::Counts;
use super::dtype::Element;

/// Identifies the counts of a fit or a checkpoint by their contents; layout, dtype and file do not matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Number of documents.
    pub documents: usize,
    /// Number of terms.
    pub terms: usize,
    nonzeros: u64,
    #[serde(with = "crate::system::serde_f64")]
    total: f64,
    /// The sum of the documents' [`digest`]s.
    contents: u64,
}

impl Fingerprint {
    /// # Errors
    /// When `counts` are not the counts of the checkpoint.
    pub fn check(&self, counts: &Counts) -> Result<()> {
        let what = if (self.documents, self.terms) != counts.shape() {
            format!(
                "the checkpoint belongs to counts of {} documents × {} terms, but these are {} × {}",
                self.documents,
                self.terms,
                counts.documents(),
                counts.terms()
            )
        } else if *self != Self::of(counts)? {
            "the checkpoint belongs to other counts of the same shape".into()
        } else {
            return Ok(());
        };
        Err(Error::shape(what)
            .fix("pass the counts of the interrupted fit: the same documents in the same order"))
    }

    /// Taken from the counts' summary, which every fit needs anyway.
    pub fn of(counts: &Counts) -> Result<Self> {
        let summary = counts.summary()?;
        Ok(Self {
            documents: counts.documents(),
            terms: counts.terms(),
            nonzeros: summary.nonzeros(),
            total: summary.total(),
            contents: summary.contents(),
        })
    }
}

/// What a cluster's job states about its counts, and its ranks compare.
impl Fingerprint {
    /// Number of nonzero counts.
    pub fn nonzeros(&self) -> u64 {
        self.nonzeros
    }

    /// Sum of all counts, in tokens.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The sum of the documents' digests, modulo 2^64.
    pub fn contents(&self) -> u64 {
        self.contents
    }
}

/// Values that are converted at once.
const CHUNK: usize = 256;

/// A number that depends on a document's position, length and counts. Sums of them (modulo 2^64) do not depend on the
/// order in which documents are read.
///
/// `weighted`: the sum of the document's counts, each times its column's [`weight`], modulo 2^32.
pub(super) fn digest(document: usize, length: f64, weighted: u32) -> u64 {
    // The mixing step of SplitMix64, which changes half of the bits when one bit changes.
    let mix = |number: u64| {
        let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    };
    let position = (document as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mix(mix(position ^ u64::from(weighted)) ^ length.to_bits())
}

/// The weighted sum of a dense row, for [`digest`].
pub(super) fn weighted_dense<T: Element>(row: &[T]) -> u32 {
    let (mut columns, mut counts) = ([0; CHUNK], [0; CHUNK]);
    let (mut sum, mut first) = (0, 0);
    for values in row.chunks(CHUNK) {
        for (at, column) in columns.iter_mut().enumerate() {
            *column = first + at as u32;
        }
        for (count, value) in counts.iter_mut().zip(values) {
            *count = value.to_whole();
        }
        add_weighted(&columns[..values.len()], &counts, &mut sum);
        first += CHUNK as u32;
    }
    sum
}

/// The weighted sum of a sparse row, for [`digest`].
pub(super) fn weighted_sparse(columns: &[u32], values: &[f32]) -> u32 {
    let mut counts = [0; CHUNK];
    let mut sum = 0;
    for (columns, values) in columns.chunks(CHUNK).zip(values.chunks(CHUNK)) {
        for (count, value) in counts.iter_mut().zip(values) {
            *count = value.to_whole();
        }
        add_weighted(columns, &counts, &mut sum);
    }
    sum
}

simd_dispatch! {
    /// Adds each count times its column's weight, modulo 2^32.
    fn add_weighted(columns: &[u32], counts: &[u32], sum: &mut u32) {
        let mut weighted = 0u32;
        for (&column, &count) in columns.iter().zip(counts) {
            weighted = weighted.wrapping_add(count.wrapping_mul(weight(column)));
        }
        *sum = sum.wrapping_add(weighted);
    }
}

/// An odd number that looks random, so that counts which move to another column change the sum.
#[inline(always)]
fn weight(column: u32) -> u32 {
    // Steps of MurmurHash3's finaliser.
    let mixed = column.wrapping_add(1).wrapping_mul(0x9e37_79b1);
    let mixed = (mixed ^ (mixed >> 16)).wrapping_mul(0x85eb_ca6b);
    (mixed ^ (mixed >> 13)) | 1
}
