//! Synthetic counts, drawn from a topic model with known L and F.

mod corpus;
mod poisson;
mod write;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

pub use corpus::Corpus;

use crate::data::{Matrix, With};
use crate::error::{Error, Result};
use crate::rows::append_nonzeros;
use crate::system::memory::{check_free, phase};
use crate::system::{Progress, Purpose, Throughput, dirichlet_rows, stream};
use crate::text::counted;
use crate::{CountValue, Counts, Dtype};

/// Documents that one thread draws together.
const BLOCK: usize = 8;
/// Terms that are drawn at once for the documents of a block; a multiple of 64.
const TERMS_AT_ONCE: usize = 512;

/// A recipe for synthetic counts of `n` documents, `m` terms and `k` topics.
///
/// The distribution is the same as in `generate_synthetic_data` of tinytopics. Rows of the true L and of the true F are
/// Dirichlet(1), the length of a document is Poisson(`avg_doc_length`), and its counts are multinomial over its row of
/// L F. The result depends only on the sizes and the seed, not on the number of threads or the processor.
///
/// ```
/// use topicbook::Synthetic;
/// let corpus = Synthetic::new(50, 20, 3).avg_doc_length(200).seed(1).generate()?;
/// assert_eq!(corpus.counts().shape(), (50, 20));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "nothing is drawn before `generate` or `write_npy` is called"]
#[doc(alias = "generate_synthetic_data")]
pub struct Synthetic {
    #[doc(hidden)]
    pub documents: usize,
    #[doc(hidden)]
    pub terms: usize,
    #[doc(hidden)]
    pub topics: usize,
    #[doc(hidden)]
    pub avg_doc_length: usize,
    #[doc(hidden)]
    pub seed: u64,
}

impl Synthetic {
    /// `n` documents of `m` terms from `k` topics, each at least 1, with 1,000 tokens per document on average; seed 0.
    ///
    /// ```
    /// use topicbook::Synthetic;
    /// let corpus = Synthetic::new(50, 20, 3).generate()?;
    /// assert_eq!(corpus.counts().shape(), (50, 20));
    /// assert_eq!(corpus.true_f().shape(), (3, 20));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn new(n: usize, m: usize, k: usize) -> Self {
        Self {
            documents: n,
            terms: m,
            topics: k,
            avg_doc_length: 1_000,
            seed: 0,
        }
    }

    /// Sets the mean document length, in tokens; 1,000 by default, at least 1.
    ///
    /// ```
    /// use topicbook::Synthetic;
    /// let summary = Synthetic::new(50, 20, 3).avg_doc_length(200).generate()?.counts().summary()?;
    /// let mean = summary.total() / 50.0;
    /// assert!((190.0..210.0).contains(&mean), "{mean}");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn avg_doc_length(&self, tokens: usize) -> Self {
        self.with(|changed| changed.avg_doc_length = tokens)
    }

    /// Sets the seed; 0 by default, any `u64`. The same seed gives the same corpus.
    ///
    /// ```
    /// use topicbook::Synthetic;
    /// let f = |seed| Synthetic::new(50, 20, 3).seed(seed).generate().map(|corpus| corpus.true_f());
    /// assert!(f(1)? == f(1)? && f(1)? != f(2)?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "random_state")]
    pub fn seed(&self, seed: u64) -> Self {
        self.with(|changed| changed.seed = seed)
    }

    /// Draws the corpus into memory, as dense counts of the narrowest dtype that fits them or as CSR, whichever is
    /// smaller.
    ///
    /// ```
    /// use topicbook::{Dtype, Synthetic};
    /// let corpus = Synthetic::new(50, 20, 3).avg_doc_length(200).seed(1).generate()?;
    /// assert_eq!(corpus.counts().dtype(), Dtype::U8);
    /// assert!((corpus.true_l().row(0).iter().sum::<f32>() - 1.0).abs() < 1e-5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a size or the mean length is zero, there are more than 4,294,967,295 terms, L, F or the counts do not fit into the
    /// free memory, or a count is above 4,294,967,294.
    ///
    /// # Cost
    /// O(n m k) multiplications and n m Poisson draws, on all cores. Prints progress if it takes longer than two
    /// seconds, unless `show_progress` is off.
    pub fn generate(&self) -> Result<Corpus> {
        self.check()?;
        self.check_memory(0)?;
        let _phase = phase("generate");
        let truth = Truth::draw(self);
        let counts = truth.draw_counts(self)?;
        truth.into_corpus(self, counts)
    }

    /// Progress of drawing. `target` is appended to its title.
    fn progress(&self, target: &str) -> Progress {
        Progress::new(
            format!(
                "drawing {} × {} counts{target}",
                counted(self.documents, "document"),
                counted(self.terms, "term")
            ),
            self.documents,
            1,
            Throughput::Documents(1.0),
        )
    }

    /// Fails if L, F and `more` bytes do not fit into the free memory.
    fn check_memory(&self, more: u64) -> Result<()> {
        // In `f64` while the counts are drawn, and in `f32` for the corpus.
        const TABLE_VALUE: u64 = (size_of::<f64>() + size_of::<f32>()) as u64;
        let [documents, terms, topics] =
            [self.documents, self.terms, self.topics].map(|size| size as u64);
        let values = topics.saturating_mul(documents.saturating_add(terms));
        let needed = values.saturating_mul(TABLE_VALUE).saturating_add(more);
        check_free(needed, "L, F and the buffers of synthetic counts")
    }

    fn check(&self) -> Result<()> {
        for (name, value) in [
            ("documents", self.documents),
            ("terms", self.terms),
            ("topics", self.topics),
            ("avg_doc_length", self.avg_doc_length),
        ] {
            if value == 0 {
                return Err(Error::setting(format!("synthetic counts need {name} > 0"))
                    .fix("Synthetic::new(documents, terms, topics).avg_doc_length(tokens)"));
            }
        }
        if u32::try_from(self.terms).is_err() || self.documents.checked_mul(self.terms).is_none() {
            return Err(Error::setting(format!(
                "{} × {} counts are too many to address in memory",
                self.documents, self.terms
            ))
            .fix("ask for fewer documents or terms (at most 4,294,967,295 terms)"));
        }
        Ok(())
    }
}

/// The true L and F, in the precision in which the counts are drawn.
struct Truth {
    /// Documents x topics.
    l: Vec<f64>,
    f: Topics,
    topics: usize,
    terms: usize,
}

/// F: topics x terms.
struct Topics {
    exact: Vec<f64>,
    rounded: Vec<f32>,
    terms: usize,
}

impl Topics {
    fn new(exact: Vec<f64>, terms: usize) -> Self {
        let rounded = exact.par_iter().map(|value| *value as f32).collect();
        Self {
            exact,
            rounded,
            terms,
        }
    }

    /// The mean count of a term in a document with these expected numbers of tokens of each topic.
    fn mean(&self, weights: &[f64], term: usize) -> f64 {
        let column = self.exact[term..].iter().step_by(self.terms);
        let pairs = weights.iter().zip(column);
        pairs.fold(0.0, |sum, (weight, probability)| sum + weight * probability)
    }
}

impl Truth {
    fn draw(recipe: &Synthetic) -> Self {
        Self {
            l: dirichlet_rows(
                (recipe.documents, recipe.topics),
                recipe.seed,
                Purpose::TrueL,
                0,
            ),
            f: Topics::new(
                dirichlet_rows(
                    (recipe.topics, recipe.terms),
                    recipe.seed,
                    Purpose::TrueF,
                    0,
                ),
                recipe.terms,
            ),
            topics: recipe.topics,
            terms: recipe.terms,
        }
    }

    /// The expected number of tokens of each topic in a document.
    fn weights(&self, recipe: &Synthetic, document: usize) -> Vec<f64> {
        self.l[document * self.topics..(document + 1) * self.topics]
            .iter()
            .map(|weight| weight * recipe.avg_doc_length as f64)
            .collect()
    }

    /// Draws consecutive documents. Calls `take` with a document's number among them, the first term of a chunk of terms, and
    /// the document's counts of the chunk. The probabilities of a chunk stay in the cache for all of these documents.
    fn draw_documents(
        &self,
        recipe: &Synthetic,
        documents: Range<usize>,
        mut take: impl FnMut(usize, usize, &[u32]),
    ) {
        let mut documents: Vec<_> = documents
            .map(|document| {
                let rng = stream(recipe.seed, Purpose::Counts, document as u64);
                (self.weights(recipe, document), rng)
            })
            .collect();
        let mut drawn = [0; TERMS_AT_ONCE];
        for start in (0..self.terms).step_by(TERMS_AT_ONCE) {
            let drawn = &mut drawn[..TERMS_AT_ONCE.min(self.terms - start)];
            for (document, (weights, rng)) in documents.iter_mut().enumerate() {
                poisson::draw_terms(weights, &self.f, start, drawn, rng);
                take(document, start, drawn);
            }
        }
    }

    fn draw_counts(&self, recipe: &Synthetic) -> Result<Counts> {
        let dtype = self.dtype(recipe);
        // A nonzero count in CSR has a column of four bytes and a value of four.
        if 8.0 * self.density(recipe) < dtype.bytes() as f64 {
            return self.draw_csr(recipe);
        }
        let counts = match dtype {
            Dtype::U8 => self.draw_dense::<u8>(recipe)?,
            Dtype::U16 => self.draw_dense::<u16>(recipe)?,
            _ => None,
        };
        match counts {
            Some(counts) => Ok(counts),
            // A count exceeds the expected range. The same seed draws the same counts again, into the widest dtype.
            None => self.draw_dense::<u32>(recipe)?.ok_or_else(too_large),
        }
    }

    /// The narrowest dtype that fits the largest mean count plus twelve standard deviations.
    fn dtype(&self, recipe: &Synthetic) -> Dtype {
        let largest_mean =
            recipe.avg_doc_length as f64 * self.f.exact.iter().copied().fold(0.0, f64::max);
        match largest_mean + 12.0 * largest_mean.sqrt() + 30.0 {
            bound if bound <= 255.0 => Dtype::U8,
            bound if bound <= 65_535.0 => Dtype::U16,
            _ => Dtype::U32,
        }
    }

    /// The expected fraction of nonzero counts, estimated from up to 32 documents.
    fn density(&self, recipe: &Synthetic) -> f64 {
        let sample = recipe.documents.min(32);
        let mut means = vec![0.0; self.terms];
        let mut nonzeros = 0.0;
        for document in 0..sample {
            let document = document * recipe.documents / sample;
            means.fill(0.0);
            for (topic, weight) in self.weights(recipe, document).iter().enumerate() {
                let row = &self.f.exact[topic * self.terms..(topic + 1) * self.terms];
                for (mean, probability) in means.iter_mut().zip(row) {
                    *mean += weight * probability;
                }
            }
            nonzeros += means.iter().map(|mean| 1.0 - (-mean).exp()).sum::<f64>();
        }
        nonzeros / (sample * self.terms) as f64
    }

    /// Draws dense counts; `None` if a count does not fit the type.
    fn draw_dense<T>(&self, recipe: &Synthetic) -> Result<Option<Counts>>
    where
        T: CountValue + TryFrom<u32>,
    {
        let cells = recipe.documents * self.terms;
        check_free((cells * size_of::<T>()) as u64, "the counts")?;
        let mut values = vec![T::default(); cells];
        let progress = recipe.progress("");
        if self.draw_rows(recipe, 0, &mut values, &progress)? {
            Counts::dense(recipe.documents, self.terms, values).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Draws consecutive documents from `first` on, on all threads, and fills `rows` with their counts. Returns `false`
    /// if a count does not fit the type.
    fn draw_rows<T>(
        &self,
        recipe: &Synthetic,
        first: usize,
        rows: &mut [T],
        progress: &Progress,
    ) -> Result<bool>
    where
        T: CountValue + TryFrom<u32>,
    {
        rows.par_chunks_mut(BLOCK * self.terms)
            .enumerate()
            .map(|(block, rows)| {
                let first = first + block * BLOCK;
                let documents = rows.len() / self.terms;
                let mut fits = true;
                self.draw_documents(
                    recipe,
                    first..first + documents,
                    |document, start, counts| {
                        let row = &mut rows[document * self.terms + start..][..counts.len()];
                        fits &= narrow(counts, row);
                    },
                );
                progress.advance(documents)?;
                Ok(fits)
            })
            .try_reduce(|| true, |left, right| Ok(left && right))
    }

    fn draw_csr(&self, recipe: &Synthetic) -> Result<Counts> {
        // Two vectors per document, which grow to at most twice their length, and the rows made of them.
        const DOCUMENT: f64 = (2 * size_of::<Vec<u32>>() + 2 * 16 + size_of::<u64>()) as f64;
        const NONZERO: f64 = (3 * (size_of::<u32>() + size_of::<f32>())) as f64;
        let documents = recipe.documents as f64;
        let nonzeros = self.density(recipe) * self.terms as f64 * documents;
        let needed = nonzeros * NONZERO + documents * DOCUMENT;
        check_free(needed as u64, "the counts")?;
        let too_large_drawn = AtomicBool::new(false);
        let progress = recipe.progress("");
        let blocks: Vec<Vec<(Vec<u32>, Vec<f32>)>> = (0..recipe.documents.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let documents = block * BLOCK..recipe.documents.min((block + 1) * BLOCK);
                let drawn = documents.len();
                let mut rows = vec![(Vec::new(), Vec::new()); drawn];
                self.draw_documents(recipe, documents, |document, start, counts| {
                    if counts.contains(&u32::MAX) {
                        too_large_drawn.store(true, Ordering::Relaxed);
                    }
                    let (terms, values) = &mut rows[document];
                    // `check` limits the terms to the range of `u32`.
                    append_nonzeros(counts, start as u32, terms, values);
                });
                progress.advance(drawn)?;
                Ok(rows)
            })
            .collect::<Result<_>>()?;
        if too_large_drawn.into_inner() {
            return Err(too_large());
        }
        let rows: Vec<_> = blocks.into_iter().flatten().collect();
        let mut starts = Vec::with_capacity(rows.len() + 1);
        let mut nonzeros = 0;
        starts.push(0);
        for (terms, _) in &rows {
            nonzeros += terms.len() as u64;
            starts.push(nonzeros);
        }
        let mut columns = Vec::with_capacity(nonzeros as usize);
        let mut values = Vec::with_capacity(nonzeros as usize);
        for (terms, counts) in rows {
            columns.extend(terms);
            values.extend(counts);
        }
        Counts::csr(recipe.documents, self.terms, starts, columns, values)
    }

    fn into_corpus(self, recipe: &Synthetic, counts: Counts) -> Result<Corpus> {
        let l = self.l.into_iter().map(|value| value as f32).collect();
        Ok(Corpus::new(
            recipe.clone(),
            counts,
            Matrix::new(recipe.documents, recipe.topics, l)?,
            Matrix::new(recipe.topics, recipe.terms, self.f.rounded)?,
        ))
    }
}

/// Copies counts into values of another type. Returns `false` if one does not fit it.
fn narrow<T: CountValue + TryFrom<u32>>(counts: &[u32], values: &mut [T]) -> bool {
    let largest = u32::MAX >> (u32::BITS as usize - 8 * size_of::<T>());
    let mut bits = 0;
    for (value, count) in values.iter_mut().zip(counts) {
        bits |= count;
        // The masked bits always fit: the conversion never fails, and compiles without a branch.
        *value = T::try_from(count & largest).unwrap_or_default();
    }
    bits <= largest && !(bits == u32::MAX && counts.contains(&u32::MAX))
}

fn too_large() -> Error {
    Error::value("a synthetic count is above 4,294,967,294").fix("use a smaller avg_doc_length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_narrowed_or_refused() {
        let counts = [0, 7, 255];
        let mut values = [0u8; 3];
        assert!(narrow(&counts, &mut values));
        assert_eq!(values, [0, 7, 255]);
        assert!(!narrow(&[1, 256, 1], &mut values));
        assert!(narrow(&[256, 65_535, 0], &mut [0u16; 3]));
        assert!(!narrow(&[65_536, 0, 0], &mut [0u16; 3]));
        assert!(narrow(&[u32::MAX - 1], &mut [0u32; 1]));
        // `u32::MAX` stands for itself and all larger counts.
        assert!(!narrow(&[u32::MAX], &mut [0u32; 1]));
    }
}
