//! The corpora: MovieLens 100k, and two that are drawn. Each is split by its nonzero counts.

use std::fs;

use serde_json::{Value, json};
use testkit::Random;
use topicbook::{Counts, Result};

use crate::support::draw::Draw;

/// One in this many nonzero counts is held out.
const HELD_OUT: u64 = 5;

/// Nonzero counts by document, in the arrays of `Counts::csr`.
struct Rows {
    starts: Vec<u64>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Rows {
    fn new() -> Self {
        Self {
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        }
    }

    fn push(&mut self, column: u32, value: f32) {
        self.columns.push(column);
        self.values.push(value);
    }

    fn end_row(&mut self) {
        self.starts.push(self.columns.len() as u64);
    }

    fn counts(self, terms: usize) -> Result<Counts> {
        let documents = self.starts.len() - 1;
        Counts::csr(documents, terms, self.starts, self.columns, self.values)
    }
}

/// What a corpus was drawn from: documents x topics, and topics x terms.
pub struct Truth {
    pub topics: usize,
    pub l: Vec<f32>,
    pub f: Vec<f32>,
}

/// A corpus in two parts, documents x terms both.
pub struct Corpus {
    pub name: &'static str,
    pub train: Counts,
    pub held_out: Counts,
    pub truth: Option<Truth>,
}

impl Corpus {
    /// Splits nonzero counts by a hash of row and column.
    fn new(name: &'static str, rows: Rows, terms: usize, truth: Option<Truth>) -> Result<Self> {
        let (mut train, mut held_out) = (Rows::new(), Rows::new());
        for (row, ends) in rows.starts.windows(2).enumerate() {
            let range = ends[0] as usize..ends[1] as usize;
            let pairs = rows.columns[range.clone()].iter().zip(&rows.values[range]);
            for (&column, &value) in pairs {
                let part = match hash((row as u64) << 32 | u64::from(column)) % HELD_OUT {
                    0 => &mut held_out,
                    _ => &mut train,
                };
                part.push(column, value);
            }
            train.end_row();
            held_out.end_row();
        }
        drop(rows);
        Ok(Self {
            name,
            train: train.counts(terms)?,
            held_out: held_out.counts(terms)?,
            truth,
        })
    }

    /// Sizes of the corpus, for the record.
    pub fn described(&self) -> Result<Value> {
        let part = |counts: &Counts| -> Result<Value> {
            let summary = counts.summary()?;
            Ok(json!({
                "nonzeros": summary.nonzeros(),
                "total": summary.total(),
                "density": summary.density(),
                "largest": summary.largest(),
                "empty_documents": summary.empty_documents().len(),
                "empty_terms": summary.empty_terms().len(),
            }))
        };
        Ok(json!({
            "corpus": self.name,
            "documents": self.train.documents(),
            "terms": self.train.terms(),
            "dtype": self.train.dtype().name(),
            "train": part(&self.train)?,
            "held_out": part(&self.held_out)?,
        }))
    }
}

/// SplitMix64's mixture of bits.
fn hash(key: u64) -> u64 {
    let mut bits = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// The ratings of MovieLens 100k, 1 to 5, as counts: users x films, both numbered from 1 in the file.
///
/// # Panics
/// When the file is not the one that recbole provides.
pub fn movielens(path: &str) -> Result<Corpus> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut ratings: Vec<(usize, u32, f32)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let mut fields = line.split('\t');
            let mut number = || -> f32 {
                let field = fields.next().and_then(|field| field.parse().ok());
                field.unwrap_or_else(|| panic!("{path}: {line}"))
            };
            let (user, film, rating) = (number(), number(), number());
            (user as usize - 1, film as u32 - 1, rating)
        })
        .collect();
    ratings.sort_by_key(|&(user, film, _)| (user, film));
    let films = ratings.iter().map(|rating| rating.1 as usize + 1).max();
    let users = ratings.last().map_or(0, |rating| rating.0 + 1);
    let mut rows = Rows::new();
    for of_user in ratings.chunk_by(|one, next| one.0 == next.0) {
        // A user without ratings has an empty row.
        while rows.starts.len() <= of_user[0].0 {
            rows.end_row();
        }
        for &(_, film, rating) in of_user {
            rows.push(film, rating);
        }
        rows.end_row();
    }
    assert_eq!(rows.starts.len(), users + 1, "every user has one row");
    Corpus::new("MovieLens 100k", rows, films.unwrap_or(0), None)
}

/// What is drawn: topics of Zipf's law over shuffled terms, each document with a few of them.
pub struct Recipe {
    pub name: &'static str,
    pub documents: usize,
    pub terms: usize,
    pub topics: usize,
    /// Tokens of the shortest and the longest document.
    pub length: (usize, usize),
}

/// One in this many terms is common to all topics.
const SHARED: usize = 4_000;
/// The shares of a document's own topics.
const SHARES: [f64; 3] = [0.6, 0.3, 0.1];

impl Recipe {
    pub fn draw(&self) -> Result<Corpus> {
        let mut random = Random::new(7);
        let frequency = |rank: usize| 1.0 / (rank + 1) as f64;
        let zipf = Draw::new((0..self.terms).map(frequency));
        let whole: f64 = (0..self.terms).map(frequency).sum();
        let mut truth = Truth {
            topics: self.topics,
            l: vec![0.0; self.documents * self.topics],
            f: vec![0.0; self.topics * self.terms],
        };
        // Columns have no order: else a ranking of equal scores, by column, would be one by frequency.
        let mut columns: Vec<u32> = (0..self.terms as u32).collect();
        shuffle(&mut columns, &mut random);
        let orders: Vec<Vec<u32>> = truth
            .f
            .chunks_mut(self.terms)
            .map(|f| {
                let mut order = columns.clone();
                // All topics share the most frequent terms.
                shuffle(&mut order[self.terms / SHARED..], &mut random);
                for (rank, &term) in order.iter().enumerate() {
                    f[term as usize] = (frequency(rank) / whole) as f32;
                }
                order
            })
            .collect();
        let shares = Draw::new(SHARES.into_iter());
        let (shortest, longest) = self.length;
        let mut rows = Rows::new();
        let mut tokens = Vec::new();
        for l in truth.l.chunks_mut(self.topics) {
            let own = SHARES.map(|_| random.below(self.topics));
            for (topic, share) in own.into_iter().zip(SHARES) {
                l[topic] += share as f32;
            }
            tokens.clear();
            for _ in 0..shortest + random.below(longest - shortest + 1) {
                let topic = own[shares.index(&mut random)];
                tokens.push(orders[topic][zipf.index(&mut random)]);
            }
            tokens.sort_unstable();
            for same in tokens.chunk_by(|one, next| one == next) {
                rows.push(same[0], same.len() as f32);
            }
            rows.end_row();
        }
        Corpus::new(self.name, rows, self.terms, Some(truth))
    }
}

fn shuffle(values: &mut [u32], random: &mut Random) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.below(last + 1));
    }
}
