//! Counts with a known truth: documents drawn from the model itself.

mod corpus;
mod poisson;
mod write;

use rand_distr::{Distribution, Exp1};
use rayon::prelude::*;

pub use corpus::Corpus;

use crate::counts::{CountValue, Counts, Dtype};
use crate::display::{Card, count, counted};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::memory::phase;
use crate::progress::{Progress, Throughput};
use crate::random::{Purpose, stream};

/// Documents drawn together by one thread.
const BLOCK: usize = 8;
/// Terms drawn at once for all of them; a multiple of 64.
const PIECE: usize = 512;

/// A recipe for synthetic counts of `n` documents, `m` terms and `k` topics.
///
/// The law is tinytopics' `generate_synthetic_data`: rows of the true L and of the true F are Dirichlet(1), the length
/// of a document is Poisson(`avg_doc_length`), and its counts are multinomial over its row of L F. Reproducible from
/// the seed, whatever the number of threads and the processor.
///
/// ```
/// use topicbook::Synthetic;
/// let corpus = Synthetic::new(50, 20, 3).avg_doc_length(200).seed(1).generate()?;
/// assert_eq!(corpus.counts().shape(), (50, 20));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Synthetic {
    documents: usize,
    terms: usize,
    topics: usize,
    avg_doc_length: usize,
    seed: u64,
}

impl Synthetic {
    /// `n` documents over `m` terms from `k` topics; 1,000 tokens a document on average, seed 0.
    pub fn new(n: usize, m: usize, k: usize) -> Self {
        Self {
            documents: n,
            terms: m,
            topics: k,
            avg_doc_length: 1_000,
            seed: 0,
        }
    }

    /// The mean of the documents' lengths, in tokens.
    pub fn avg_doc_length(mut self, tokens: usize) -> Self {
        self.avg_doc_length = tokens;
        self
    }

    /// The seed; the same seed gives the same corpus.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Shows the recipe below a cell.
    pub fn evcxr_display(&self) {
        Card::new("Recipe for synthetic counts")
            .row("documents", count(self.documents as u64))
            .row("terms", count(self.terms as u64))
            .row("topics", count(self.topics as u64))
            .row("mean length", counted(self.avg_doc_length, "token"))
            .row("seed", self.seed.to_string())
            .show();
    }

    /// Draws the corpus into memory, as dense counts of the narrowest type that holds them or as CSR, whichever is smaller.
    ///
    /// Costs O(n m k) multiplications and n m Poisson draws, on all cores. Prints progress when it takes longer than two
    /// seconds, unless [`show_progress`](crate::show_progress) was told not to.
    ///
    /// # Errors
    /// When a size is zero, or the counts do not fit into the memory that is free.
    pub fn generate(&self) -> Result<Corpus> {
        self.check()?;
        let _phase = phase("generate");
        let truth = Truth::draw(self);
        let counts = truth.draw_counts(self)?;
        truth.into_corpus(self, counts)
    }

    /// The progress of drawing, and where to.
    fn progress(&self, to: &str) -> Progress {
        Progress::new(
            format!(
                "drawing {} x {} counts{to}",
                counted(self.documents, "document"),
                counted(self.terms, "term")
            ),
            self.documents,
            1,
            Throughput::Documents(1.0),
        )
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
                "{} x {} counts are more than a machine can address",
                self.documents, self.terms
            ))
            .fix("ask for fewer documents or terms (at most 4,294,967,295 terms)"));
        }
        Ok(())
    }
}

/// The true L and F, in the precision the counts are drawn with.
struct Truth {
    l: Vec<f64>,
    f: Vec<f64>,
    topics: usize,
    terms: usize,
}

impl Truth {
    fn draw(recipe: &Synthetic) -> Self {
        Self {
            l: dirichlet_rows(recipe.documents, recipe.topics, recipe.seed, Purpose::TrueL),
            f: dirichlet_rows(recipe.topics, recipe.terms, recipe.seed, Purpose::TrueF),
            topics: recipe.topics,
            terms: recipe.terms,
        }
    }

    /// The expected tokens of each topic in a document.
    fn weights(&self, recipe: &Synthetic, document: usize) -> Vec<f64> {
        self.l[document * self.topics..(document + 1) * self.topics]
            .iter()
            .map(|weight| weight * recipe.avg_doc_length as f64)
            .collect()
    }

    /// Draws the documents from `first` on, as many as `rows` holds: the terms in pieces, so that the probabilities of
    /// a piece stay in the cache for all of these documents.
    fn draw_documents(&self, recipe: &Synthetic, first: usize, rows: &mut [u32]) {
        let mut documents: Vec<_> = rows
            .chunks_mut(self.terms)
            .enumerate()
            .map(|(offset, row)| {
                let document = first + offset;
                let rng = stream(recipe.seed, Purpose::Counts, document as u64);
                (self.weights(recipe, document), rng, row)
            })
            .collect();
        for start in (0..self.terms).step_by(PIECE) {
            let end = self.terms.min(start + PIECE);
            for (weights, rng, row) in &mut documents {
                poisson::draw_terms(
                    weights,
                    &self.f,
                    self.terms,
                    start,
                    &mut row[start..end],
                    rng,
                );
            }
        }
    }

    fn draw_counts(&self, recipe: &Synthetic) -> Result<Counts> {
        let dtype = self.dtype(recipe);
        // A stored nonzero takes four bytes of column and four of value.
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
            // A count beyond the expected range: the same seed draws the same counts again, into the widest type.
            None => self.draw_dense::<u32>(recipe)?.ok_or_else(too_large),
        }
    }

    /// The narrowest dtype that will hold the counts: twelve standard deviations above the largest mean.
    fn dtype(&self, recipe: &Synthetic) -> Dtype {
        let largest_mean =
            recipe.avg_doc_length as f64 * self.f.iter().copied().fold(0.0, f64::max);
        match largest_mean + 12.0 * largest_mean.sqrt() + 30.0 {
            bound if bound <= 255.0 => Dtype::U8,
            bound if bound <= 65_535.0 => Dtype::U16,
            _ => Dtype::U32,
        }
    }

    /// The expected share of nonzero counts, judged by a few documents.
    fn density(&self, recipe: &Synthetic) -> f64 {
        let sample = recipe.documents.min(32);
        let mut means = vec![0.0; self.terms];
        let mut nonzeros = 0.0;
        for document in 0..sample {
            let document = document * recipe.documents / sample;
            means.fill(0.0);
            for (topic, weight) in self.weights(recipe, document).iter().enumerate() {
                let row = &self.f[topic * self.terms..(topic + 1) * self.terms];
                for (mean, probability) in means.iter_mut().zip(row) {
                    *mean += weight * probability;
                }
            }
            nonzeros += means.iter().map(|mean| 1.0 - (-mean).exp()).sum::<f64>();
        }
        nonzeros / (sample * self.terms) as f64
    }

    /// Dense counts, or `None` when one does not fit the type.
    fn draw_dense<T>(&self, recipe: &Synthetic) -> Result<Option<Counts>>
    where
        T: CountValue + TryFrom<u32>,
    {
        let cells = recipe.documents * self.terms;
        crate::memory::check_free((cells * size_of::<T>()) as u64, "the counts")?;
        let mut values = vec![T::default(); cells];
        let progress = recipe.progress("");
        let fits = self.draw_rows(recipe, 0, &mut values, &progress);
        if fits {
            Counts::dense(recipe.documents, self.terms, values).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Draws the documents from `first` on, as many as `rows` holds, on all threads; `false` when a count does not fit.
    fn draw_rows<T>(
        &self,
        recipe: &Synthetic,
        first: usize,
        rows: &mut [T],
        progress: &Progress,
    ) -> bool
    where
        T: CountValue + TryFrom<u32>,
    {
        rows.par_chunks_mut(BLOCK * self.terms)
            .enumerate()
            .map_init(
                || vec![0; BLOCK * self.terms],
                |drawn, (block, rows)| {
                    let drawn = &mut drawn[..rows.len()];
                    self.draw_documents(recipe, first + block * BLOCK, drawn);
                    let mut fits = true;
                    for (value, &count) in rows.iter_mut().zip(drawn.iter()) {
                        match T::try_from(count) {
                            Ok(count) => *value = count,
                            Err(_) => fits = false,
                        }
                    }
                    progress.advance(rows.len() / self.terms);
                    fits
                },
            )
            .reduce(|| true, |left, right| left && right)
    }

    fn draw_csr(&self, recipe: &Synthetic) -> Result<Counts> {
        let progress = recipe.progress("");
        let blocks: Vec<Vec<(Vec<u32>, Vec<f32>)>> = (0..recipe.documents.div_ceil(BLOCK))
            .into_par_iter()
            .map_init(
                || vec![0; BLOCK * self.terms],
                |drawn, block| {
                    let first = block * BLOCK;
                    let documents = BLOCK.min(recipe.documents - first);
                    let drawn = &mut drawn[..documents * self.terms];
                    self.draw_documents(recipe, first, drawn);
                    progress.advance(documents);
                    drawn
                        .chunks(self.terms)
                        .map(|row| {
                            row.iter()
                                .enumerate()
                                .filter(|(_, count)| **count > 0)
                                .map(|(term, &count)| (term as u32, count as f32))
                                .unzip()
                        })
                        .collect()
                },
            )
            .collect();
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
        let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        Ok(Corpus::new(
            recipe.clone(),
            counts,
            Matrix::new(recipe.documents, recipe.topics, narrow(self.l))?,
            Matrix::new(recipe.topics, recipe.terms, narrow(self.f))?,
        ))
    }
}

fn too_large() -> Error {
    Error::new(ErrorKind::Value, "a count above 4,294,967,295").fix("use a smaller avg_doc_length")
}

/// Rows of Dirichlet(1, ..., 1): exponential variables over their sum (Devroye 1986, chapter XI.4).
fn dirichlet_rows(rows: usize, columns: usize, seed: u64, purpose: Purpose) -> Vec<f64> {
    let mut values = vec![0.0; rows * columns];
    values
        .par_chunks_mut(columns)
        .enumerate()
        .for_each(|(row, values)| {
            let mut rng = stream(seed, purpose, row as u64);
            let mut sum = 0.0;
            for value in values.iter_mut() {
                *value = Exp1.sample(&mut rng);
                sum += *value;
            }
            values.iter_mut().for_each(|value| *value /= sum);
        });
    values
}
