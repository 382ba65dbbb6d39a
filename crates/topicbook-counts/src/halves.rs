//! Halves of documents: every token is put into the first or the second half at random.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::{Error, Result};
use crate::formats::{LazyCsr, invalid_value};
use crate::system::memory::check_free;
use crate::system::{Purpose, stream};

use super::copy::{Columns, Copy};
use super::dense::DenseRows;
use super::dtype::{CountValue, with_values};
use super::pass::for_each_stored_block;
use super::rows::{NONZERO_BYTES, find_nonzeros};
use super::{Counts, Csr, Location, Store, View};

/// The largest count that can be halved: up to here `f32` represents all whole numbers, so that both halves are exact in
/// every dtype.
const LARGEST: f64 = (1u64 << f32::MANTISSA_DIGITS) as f64;
/// Nonzero counts of the documents that are halved together, unless one document has more.
const BATCH_NONZEROS: usize = 1 << 21;
/// Documents that are halved together, at most.
const BATCH_DOCUMENTS: usize = 1 << 14;

/// Consecutive documents in two halves, sparse and in memory.
pub struct HalvedBatch {
    /// The number of the first document.
    pub first: usize,
    pub halves: [Counts; 2],
}

impl Counts {
    /// Splits every document at random into two halves. Each of its tokens goes to the first or the second with equal
    /// probability, so a count x becomes a binomial draw of x tokens and the rest. The halves have the same documents and
    /// terms, and sum to the counts. The same seed gives the same halves in every layout, dtype and file.
    ///
    /// If the counts are Poisson with rates L F, both halves are, with half the rates, and independent of each other: what
    /// one half says about a model is not learned from the other. Documents of few tokens can have an empty half;
    /// [`Summary::empty_documents`](super::Summary::empty_documents) of a half names them. To judge a fit,
    /// `Fit::evaluate` does all of it, and needs no copy.
    ///
    /// ```
    /// use topicbook::Counts;
    /// let counts = Counts::dense(2, 3, vec![9u8, 0, 2, 0, 4, 1])?;
    /// let (first, second) = counts.split_tokens(1)?;
    /// let tokens = |counts: &Counts| counts.summary().map(|summary| summary.total());
    /// assert_eq!(tokens(&first)? + tokens(&second)?, 16.0);
    /// assert_eq!((first.shape(), first.dtype()), (counts.shape(), counts.dtype()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// On the first value that is not a count, or is above 2^24. If both halves do not fit into the free memory (checked
    /// before they are allocated). If the counts' file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// One pass over the counts on one thread, O(nonzeros + tokens / 64) operations, and two copies in memory, in the same
    /// layout and dtype; a file is read in blocks of bounded size.
    #[doc(alias("countsplit", "thinning"))]
    pub fn split_tokens(&self, seed: u64) -> Result<(Self, Self)> {
        let copies = self.bytes_stored().saturating_mul(2);
        let needed = copies.saturating_add(self.in_memory().to_read);
        check_free(needed, "both halves of these counts")?;
        let (mut first, mut second) = (Copy::of(self), Copy::of(self));
        let mut halver = Halver::new(self, seed);
        for_each_stored_block(self, false, &mut |block| {
            for (offset, row) in block.rows.enumerate() {
                halver.halve(&block.view, row, block.first + offset)?;
                first.append_counts(&halver.columns, &halver.halves[0]);
                second.append_counts(&halver.columns, &halver.halves[1]);
            }
            Ok(())
        })?;
        Ok((first.finish(&Columns::All)?, second.finish(&Columns::All)?))
    }

    /// Calls `visit` with all documents in order, in the halves of [`split_tokens`](Self::split_tokens), a batch at a time. The
    /// batches depend on the counts alone, not on where they are.
    #[doc(hidden)]
    pub fn for_each_halved(
        &self,
        seed: u64,
        visit: &mut dyn FnMut(HalvedBatch) -> Result<()>,
    ) -> Result<()> {
        let mut halver = Halver::new(self, seed);
        let mut batch = GrowingBatch::starting_at(0);
        for_each_stored_block(self, false, &mut |block| {
            for (offset, row) in block.rows.enumerate() {
                let document = block.first + offset;
                halver.halve(&block.view, row, document)?;
                if batch.is_full(halver.columns.len()) {
                    let next = GrowingBatch::starting_at(document);
                    visit(std::mem::replace(&mut batch, next).finish(self.terms())?)?;
                }
                batch.add(&halver);
            }
            Ok(())
        })?;
        visit(batch.finish(self.terms())?)
    }

    /// Bytes of the halves of a [`HalvedBatch`] while they grow, unless one document has more nonzero counts than a batch.
    #[doc(hidden)]
    pub fn halved_batch(&self) -> u64 {
        let cells = (self.documents() as u64).saturating_mul(self.terms() as u64);
        let nonzeros = self.known_nonzeros().unwrap_or(cells);
        // A vector that grows has up to twice its length, and its old buffer during the copy.
        let grown = 3 * nonzeros.min(BATCH_NONZEROS as u64) * NONZERO_BYTES;
        2 * grown
    }
}

/// Halves documents one by one.
struct Halver<'a> {
    counts: &'a Counts,
    seed: u64,
    /// Columns of the nonzero counts of the document, and its two halves.
    columns: Vec<u32>,
    halves: [Vec<f64>; 2],
}

impl<'a> Halver<'a> {
    fn new(counts: &'a Counts, seed: u64) -> Self {
        Self {
            counts,
            seed,
            columns: Vec::new(),
            halves: [Vec::new(), Vec::new()],
        }
    }

    /// Halves a row of the view, which is the document `document`. Its random stream depends on the seed and on the document
    /// alone, and is used for its nonzero counts in the order of their columns.
    fn halve(&mut self, view: &View<'_>, row: usize, document: usize) -> Result<()> {
        self.columns.clear();
        self.halves.iter_mut().for_each(Vec::clear);
        let mut bits = Bits::new(self.seed, document);
        match view {
            View::Csr(csr) => {
                let (columns, values) = csr.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    // Stored zeros are zeros.
                    if value != 0.0 {
                        self.columns.push(column);
                        self.push(value, column, document, &mut bits)?;
                    }
                }
            }
            View::Dense(rows) => with_values!(DenseRows, rows, values => {
                let terms = self.counts.terms();
                let values = &values[row * terms..(row + 1) * terms];
                let mut columns = std::mem::take(&mut self.columns);
                find_nonzeros(values, 0, &mut columns);
                for &column in &columns {
                    self.push(values[column as usize], column, document, &mut bits)?;
                }
                self.columns = columns;
            }),
        }
        Ok(())
    }

    fn push<T: CountValue>(
        &mut self,
        value: T,
        column: u32,
        document: usize,
        bits: &mut Bits,
    ) -> Result<()> {
        let count = value.to_f64();
        if !value.is_count() || count > LARGEST {
            return Err(self.refused(count, document, column as usize));
        }
        let first = bits.half(count as u64) as f64;
        self.halves[0].push(first);
        self.halves[1].push(count - first);
        Ok(())
    }

    fn refused(&self, count: f64, document: usize, column: usize) -> Error {
        let (path, document) = self.counts.origin(document);
        if !(count > LARGEST && count <= f64::from(f32::MAX)) {
            return invalid_value::not_a_count(count, document, column, path);
        }
        Error::value(format!(
            "a count of {count} is too large to be split into halves: at most 16777216"
        ))
        .at(invalid_value::place(document, column))
        .fix("check that these are counts of terms in documents, and no other measurements")
    }
}

/// Random bits of a document, used a few at a time.
struct Bits {
    rng: Xoshiro256PlusPlus,
    word: u64,
    left: u64,
}

impl Bits {
    fn new(seed: u64, document: usize) -> Self {
        Self {
            rng: stream(seed, Purpose::Halves, document as u64),
            word: 0,
            left: 0,
        }
    }

    /// A draw from the binomial distribution of `tokens` tokens with probability 1/2: the ones among `tokens` random bits.
    fn half(&mut self, tokens: u64) -> u64 {
        let mut needed = tokens;
        let mut ones = 0;
        while needed > 0 {
            if self.left == 0 {
                self.word = self.rng.random();
                self.left = u64::from(u64::BITS);
            }
            let taken = needed.min(self.left);
            let mask = u64::MAX >> (u64::from(u64::BITS) - taken);
            ones += u64::from((self.word & mask).count_ones());
            self.word = self.word.checked_shr(taken as u32).unwrap_or(0);
            self.left -= taken;
            needed -= taken;
        }
        ones
    }
}

/// A batch that grows document by document.
struct GrowingBatch {
    first: usize,
    halves: [Csr; 2],
}

impl GrowingBatch {
    fn starting_at(first: usize) -> Self {
        Self {
            first,
            halves: [Csr::empty(), Csr::empty()],
        }
    }

    /// Whether a document with `nonzeros` nonzero counts begins the next batch.
    fn is_full(&self, nonzeros: usize) -> bool {
        let [first, second] = &self.halves;
        let documents = first.indptr.len() - 1;
        let stored = first.indices.len().max(second.indices.len());
        documents == BATCH_DOCUMENTS || (documents > 0 && stored + nonzeros > BATCH_NONZEROS)
    }

    fn add(&mut self, halver: &Halver<'_>) {
        for (csr, half) in self.halves.iter_mut().zip(&halver.halves) {
            csr.push_row(halver.columns.iter().copied().zip(half.iter().copied()));
        }
    }

    fn finish(self, terms: usize) -> Result<HalvedBatch> {
        let documents = self.halves[0].indptr.len() - 1;
        let counts = |csr| {
            let store = Store::Csr(LazyCsr::ready(csr));
            Counts::new(documents, terms, store, Location::Memory)
        };
        let [first, second] = self.halves;
        Ok(HalvedBatch {
            first: self.first,
            halves: [counts(first)?, counts(second)?],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_the_binomial_distribution() {
        for tokens in [1, 3, 64, 65, 1000, 70_000] {
            let draws = 2000;
            let halves: Vec<f64> = (0..draws)
                .map(|document| Bits::new(3, document).half(tokens) as f64)
                .collect();
            let n = tokens as f64;
            assert!(halves.iter().all(|half| (0.0..=n).contains(half)));
            let mean = halves.iter().sum::<f64>() / draws as f64;
            let squares = halves.iter().map(|half| (half - n / 2.0).powi(2));
            let variance = squares.sum::<f64>() / draws as f64;
            // Five standard errors of the mean; of the variance, whose relative error is about sqrt(2 / draws).
            let tolerance = 5.0 * (n / 4.0 / draws as f64).sqrt();
            assert!((mean - n / 2.0).abs() < tolerance, "{tokens}: {mean}");
            assert!(
                (variance / (n / 4.0) - 1.0).abs() < 0.17,
                "{tokens}: {variance}"
            );
        }
    }

    #[test]
    fn a_word_of_bits_is_used_once() {
        // Draws of one bit each are the bits of the words of the stream, from the lowest on.
        let mut bits = Bits::new(5, 9);
        let mut rng = stream(5, Purpose::Halves, 9);
        for _ in 0..3 {
            let word: u64 = rng.random();
            for bit in 0..64 {
                assert_eq!(bits.half(1), word >> bit & 1);
            }
        }
    }

    #[test]
    fn batches_do_not_depend_on_the_place_of_the_counts() {
        let folder = tempfile::tempdir().unwrap();
        // Dense documents; a half of these has two and a half million nonzero counts.
        let (documents, terms) = (60, 100_000);
        let values: Vec<u8> = (0..documents * terms).map(|at| (at % 3) as u8).collect();
        let memory = Counts::dense(documents, terms, values).unwrap();
        let sources = [
            memory.write_npy(folder.path().join("X.npy")).unwrap(),
            memory.write_npz(folder.path().join("X.npz")).unwrap(),
            memory.clone(),
        ];
        let batches = sources.map(|counts| {
            let mut found = Vec::new();
            counts
                .for_each_halved(7, &mut |batch| {
                    let [first, second] = &batch.halves;
                    assert!(first.documents() > 0);
                    assert!(first.stored_counts().unwrap() <= BATCH_NONZEROS as u64);
                    let totals = [first, second].map(|half| half.summary().unwrap().total());
                    found.push((batch.first, first.documents(), totals.map(f64::to_bits)));
                    Ok(())
                })
                .unwrap();
            found
        });
        assert!(batches[0].len() > 1);
        assert_eq!(
            batches[0].iter().map(|batch| batch.1).sum::<usize>(),
            documents
        );
        assert_eq!(batches[0], batches[1]);
        assert_eq!(batches[0], batches[2]);
    }
}
