//! The first pass: how many documents contain each term, and how often it occurs in all.

use std::sync::{Mutex, MutexGuard};

use crate::counts::select_terms::sealed::Bounded;
use crate::error::{Error, ErrorKind, Result};
use crate::system::lock;
use crate::text::{bytes, count};

use super::interner::{Hashes, Interner};
use super::text_counts::Dropped;
use super::texts::Text;
use super::tokenizer::{Scratch, Tokenizer};

/// Number of shards of the vocabulary, each with a lock of its own (lock striping).
const SHARDS: usize = 16;
/// Terms of up to this many documents are told apart when the vocabulary is pruned.
const MOST_PRUNED: usize = 1024;

/// Statistics of a term.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct TermStats {
    /// Occurrences in all documents.
    total: u64,
    /// Documents that contain it.
    documents: u32,
    /// The most occurrences in one document.
    largest: u32,
}

impl TermStats {
    fn add(&mut self, other: TermStats) {
        self.total += other.total;
        self.documents += other.documents;
        self.largest = self.largest.max(other.largest);
    }
}

/// Terms and their statistics.
#[derive(Default)]
struct Shard {
    terms: Interner,
    stats: Vec<TermStats>,
}

impl Shard {
    fn new(hashes: Hashes) -> Self {
        Self {
            terms: Interner::new(hashes),
            stats: Vec::new(),
        }
    }

    fn add(&mut self, hash: u64, term: &str, stats: TermStats) {
        let id = self.terms.number(hash, term);
        if id == self.stats.len() {
            self.stats.push(TermStats::default());
        }
        self.stats[id].add(stats);
    }

    fn bytes(&self) -> u64 {
        self.terms.bytes() + (self.stats.capacity() * size_of::<TermStats>()) as u64
    }
}

/// The counts of a batch of documents, by one thread.
pub(super) struct BatchTerms {
    shard: Shard,
    /// Occurrences of each term in the current document, and the terms that it has.
    in_document: Vec<u32>,
    seen: Vec<u32>,
    scratch: Scratch,
}

impl BatchTerms {
    pub(super) fn add_document(&mut self, tokenizer: &Tokenizer, text: Text<'_>) {
        let Self {
            shard,
            in_document,
            seen,
            scratch,
        } = self;
        let hashes = shard.terms.hashes().clone();
        tokenizer.for_each_term(text, scratch, &mut |term| {
            let id = shard.terms.number(hashes.of(term), term);
            if id == in_document.len() {
                in_document.push(0);
                shard.stats.push(TermStats::default());
            }
            if in_document[id] == 0 {
                seen.push(id as u32);
            }
            in_document[id] += 1;
        });
        for id in seen.drain(..) {
            let times = std::mem::take(&mut in_document[id as usize]);
            shard.stats[id as usize].add(TermStats {
                total: u64::from(times),
                documents: 1,
                largest: times,
            });
        }
    }
}

/// The terms of all documents so far. Threads add to it at the same time.
pub(super) struct TermCounts {
    shards: Vec<Mutex<Shard>>,
    hashes: Hashes,
    pruned: Mutex<Pruned>,
}

/// Terms that were dropped because the vocabulary had no room.
#[derive(Debug, Clone, Copy, Default)]
struct Pruned {
    terms: u64,
    /// The most documents that contained such a term when it was dropped.
    documents: u64,
}

/// The terms that are kept, and the numbers of dropped terms.
pub(super) struct Selected {
    /// The terms in alphabetical order; the number of each is its column.
    pub(super) vocabulary: Interner,
    pub(super) nonzeros: u64,
    pub(super) largest: u32,
    pub(super) dropped: Dropped,
}

impl TermCounts {
    pub(super) fn new() -> Self {
        let hashes = Hashes::default();
        let shard = |_| Mutex::new(Shard::new(hashes.clone()));
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            pruned: Mutex::default(),
            hashes,
        }
    }

    pub(super) fn batch(&self) -> BatchTerms {
        BatchTerms {
            shard: Shard::new(self.hashes.clone()),
            in_document: Vec::new(),
            seen: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Adds the terms of a batch.
    pub(super) fn add(&self, batch: &BatchTerms) {
        let Shard { terms, stats } = &batch.shard;
        let mut by_shard: Vec<Vec<(u64, usize)>> = vec![Vec::new(); SHARDS];
        for (id, term) in terms.iter().enumerate() {
            let hash = self.hashes.of(term);
            by_shard[shard_of(hash)].push((hash, id));
        }
        for (shard, ids) in self.shards.iter().zip(by_shard) {
            let mut shard = lock(shard);
            for (hash, id) in ids {
                shard.add(hash, terms.get(id), stats[id]);
            }
        }
    }

    /// Calls `visit` with each term and its number of occurrences.
    pub(super) fn for_each_total(&self, mut visit: impl FnMut(&str, u64)) {
        for shard in &self.shards {
            let shard = lock(shard);
            for (term, stats) in shard.terms.iter().zip(&shard.stats) {
                visit(term, stats.total);
            }
        }
    }

    /// Occurrences of a term.
    pub(super) fn total(&self, term: &str) -> u64 {
        let shard = lock(&self.shards[shard_of(self.hashes.of(term))]);
        let known = shard.terms.find(term);
        known.map_or(0, |id| shard.stats[id].total)
    }

    /// If the vocabulary takes more than `most` bytes, drops the terms of the fewest documents so far until it takes half of
    /// that. Called between groups of batches, so that what is dropped does not depend on the threads.
    ///
    /// # Errors
    /// When terms of more than a thousand documents would have to go.
    pub(super) fn prune(&self, most: u64) -> Result<()> {
        let mut shards: Vec<MutexGuard<'_, Shard>> = self.shards.iter().map(lock).collect();
        let taken: u64 = shards.iter().map(|shard| shard.bytes()).sum();
        if taken <= most {
            return Ok(());
        }
        let mut terms_by_documents = vec![0u64; MOST_PRUNED + 1];
        for stats in shards.iter().flat_map(|shard| &shard.stats) {
            terms_by_documents[(stats.documents as usize).min(MOST_PRUNED)] += 1;
        }
        let all: u64 = terms_by_documents.iter().sum();
        let mut kept = all;
        let bound = (0..MOST_PRUNED).find(|&documents| {
            kept -= terms_by_documents[documents];
            kept * 2 * taken <= all * most
        });
        let Some(bound) = bound else {
            return Err(Error::new(
                ErrorKind::Space,
                format!(
                    "the vocabulary has {} terms in {}, and each of more than half of them is in over {MOST_PRUNED} documents",
                    count(all),
                    bytes(taken)
                ),
            )
            .fix("give it a larger budget, or use shorter n-grams"));
        };
        for shard in &mut shards {
            let mut smaller = Shard::new(self.hashes.clone());
            for (term, &stats) in shard.terms.iter().zip(&shard.stats) {
                if stats.documents as usize > bound {
                    smaller.add(self.hashes.of(term), term, stats);
                }
            }
            **shard = smaller;
        }
        let mut pruned = lock(&self.pruned);
        pruned.terms += all - kept;
        pruned.documents = pruned.documents.max(bound as u64);
        Ok(())
    }

    /// The terms of at least `min` and at most `max` documents, at most `max_terms` of them: the most frequent, and among
    /// equals the alphabetically first.
    pub(super) fn select(
        self,
        documents: usize,
        (min, max): (Bounded, Bounded),
        max_terms: Option<usize>,
    ) -> Selected {
        let shards: Vec<Shard> = self
            .shards
            .iter()
            .map(|shard| std::mem::take(&mut *lock(shard)))
            .collect();
        let (mut rare, mut frequent) = (0, 0);
        let mut kept: Vec<(&str, TermStats)> = Vec::new();
        for shard in &shards {
            for (term, &stats) in shard.terms.iter().zip(&shard.stats) {
                let with_term = u64::from(stats.documents);
                if min.compare(with_term, documents).is_lt() {
                    rare += 1;
                } else if max.compare(with_term, documents).is_gt() {
                    frequent += 1;
                } else {
                    kept.push((term, stats));
                }
            }
        }
        let mut beyond = 0;
        if let Some(most) = max_terms.filter(|&most| most < kept.len()) {
            kept.sort_unstable_by(|(a, x), (b, y)| y.total.cmp(&x.total).then(a.cmp(b)));
            beyond = (kept.len() - most) as u64;
            kept.truncate(most);
        }
        kept.sort_unstable_by_key(|(term, _)| *term);
        let mut vocabulary = Interner::new(self.hashes.clone());
        for (term, _) in &kept {
            vocabulary.number(self.hashes.of(term), term);
        }
        let pruned = *lock(&self.pruned);
        let stats = || kept.iter().map(|(_, stats)| stats);
        Selected {
            nonzeros: stats().map(|stats| u64::from(stats.documents)).sum(),
            largest: stats().map(|stats| stats.largest).max().unwrap_or(0),
            vocabulary,
            dropped: Dropped {
                rare,
                frequent,
                beyond_max_terms: beyond,
                pruned: pruned.terms,
                pruned_documents: pruned.documents,
            },
        }
    }
}

/// The shard of a hash, by bits that do not choose a slot in a table of up to a million terms.
fn shard_of(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::WordSettings;

    fn counts(texts: &[&str]) -> TermCounts {
        let tokenizer = Tokenizer::new(&WordSettings::default()).unwrap();
        let counts = TermCounts::new();
        for text in texts {
            let mut batch = counts.batch();
            batch.add_document(&tokenizer, Text::Whole(text));
            counts.add(&batch);
        }
        counts
    }

    #[test]
    fn terms_are_selected_by_their_documents() {
        let texts = ["to be or not to be", "to do", "to be"];
        let any = (Bounded::Documents(1), Bounded::Share(1.0));
        let all = counts(&texts).select(3, any, None);
        let terms: Vec<&str> = all.vocabulary.iter().collect();
        assert_eq!(terms, ["be", "do", "not", "or", "to"]);
        assert_eq!((all.nonzeros, all.largest), (8, 2));
        let bounds = (Bounded::Documents(2), Bounded::Share(0.7));
        let some = counts(&texts).select(3, bounds, None);
        assert_eq!(some.vocabulary.iter().collect::<Vec<_>>(), ["be"]);
        assert_eq!((some.dropped.rare, some.dropped.frequent), (3, 1));
        let few = counts(&texts).select(3, any, Some(3));
        let terms: Vec<&str> = few.vocabulary.iter().collect();
        assert_eq!(
            (terms, few.dropped.beyond_max_terms),
            (vec!["be", "do", "to"], 2)
        );
    }

    #[test]
    fn a_full_vocabulary_drops_the_terms_of_the_fewest_documents() {
        let rare: Vec<String> = (0..5_000).map(|n| format!("rare{n}")).collect();
        let texts: Vec<String> = rare.iter().map(|word| format!("common {word}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let counts = counts(&texts);
        let any = (Bounded::Documents(1), Bounded::Share(1.0));
        counts.prune(20_000).unwrap();
        assert_eq!(
            {
                let pruned = lock(&counts.pruned);
                (pruned.terms, pruned.documents)
            },
            (5_000, 1)
        );
        counts.prune(u64::MAX).unwrap();
        let selected = counts.select(5_000, any, None);
        assert_eq!(selected.vocabulary.iter().collect::<Vec<_>>(), ["common"]);
        assert_eq!(selected.nonzeros, 5_000);
    }
}
