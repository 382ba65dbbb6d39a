//! Six corpora: two of text, where their files are given, and four that are drawn.

use testkit::Random;
use topicbook::{Counts, Result};

use crate::support::draw::Draw;
use crate::support::tokens::count_tokens;

/// What is drawn: topics of Zipf's law over shuffled terms, each document with a few of them.
struct Recipe {
    name: &'static str,
    documents: usize,
    terms: usize,
    topics: usize,
    /// The median length of a document, and the standard deviation of its logarithm.
    length: (f64, f64),
    /// How frequent topics are: the frequency of the i-th falls as i to this power.
    sizes: f64,
}

const DRAWN: [Recipe; 4] = [
    Recipe {
        name: "drawn, sparse",
        documents: 20_000,
        terms: 10_000,
        topics: 30,
        length: (60.0, 0.0),
        sizes: 0.0,
    },
    Recipe {
        name: "drawn, dense",
        documents: 1_500,
        terms: 1_500,
        topics: 30,
        length: (4_000.0, 0.0),
        sizes: 0.0,
    },
    Recipe {
        name: "drawn, skewed lengths",
        documents: 5_000,
        terms: 8_000,
        topics: 30,
        length: (100.0, 1.3),
        sizes: 0.0,
    },
    Recipe {
        name: "drawn, unequal topics",
        documents: 5_000,
        terms: 8_000,
        topics: 30,
        length: (200.0, 0.0),
        sizes: -1.2,
    },
];

/// The corpora of `name=file` arguments, and the drawn ones.
pub fn corpora(files: &[String]) -> Result<Vec<(String, Counts)>> {
    let mut corpora = Vec::new();
    for file in files {
        let (name, path) = file.split_once('=').unwrap_or((file, file));
        corpora.push((name.to_string(), Counts::open(path)?));
    }
    for recipe in &DRAWN {
        corpora.push((recipe.name.to_string(), recipe.draw()?));
    }
    Ok(corpora)
}

impl Recipe {
    fn draw(&self) -> Result<Counts> {
        let mut random = Random::new(7);
        let zipf = Draw::new((1..=self.terms).map(|rank| 1.0 / rank as f64));
        let sizes = Draw::new((1..=self.topics).map(|rank| (rank as f64).powf(self.sizes)));
        // Each topic has its own order of the terms, and all share the most frequent fiftieth.
        let topics: Vec<Vec<u32>> = (0..self.topics)
            .map(|_| {
                let mut terms: Vec<u32> = (0..self.terms as u32).collect();
                for last in (self.terms / 50 + 1..self.terms).rev() {
                    let other = self.terms / 50 + random.below(last + 1 - self.terms / 50);
                    terms.swap(last, other);
                }
                terms
            })
            .collect();
        let documents = (0..self.documents).map(|_| {
            let normal: f64 = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
            let length = (self.length.0 * (self.length.1 * normal).exp()).max(5.0) as usize;
            let own = [(); 3].map(|()| sizes.index(&mut random));
            let shares = Draw::new([0.6, 0.3, 0.1].into_iter());
            (0..length)
                .map(|_| topics[own[shares.index(&mut random)]][zipf.index(&mut random)])
                .collect()
        });
        count_tokens(self.terms, documents)
    }
}
