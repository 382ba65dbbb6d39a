//! Texts and their numbers: each distinct text once, numbered in the order in which they came.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Distinct texts in one buffer, and a table of their hashes.
#[derive(Default)]
pub(super) struct Interner {
    text: String,
    /// Where each text ends in `text`; it begins where the previous text ends.
    ends: Vec<usize>,
    table: HashTable<u32>,
    hashes: Hashes,
}

impl fmt::Debug for Interner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interner of {} texts", self.len())
    }
}

/// The hash function that interners share, so that a hash is computed once.
#[derive(Clone, Default)]
pub(super) struct Hashes(DefaultHashBuilder);

impl Hashes {
    #[inline]
    pub(super) fn of(&self, text: &str) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(text.as_bytes());
        hasher.finish()
    }
}

impl Interner {
    pub(super) fn new(hashes: Hashes) -> Self {
        Self {
            hashes,
            ..Self::default()
        }
    }

    /// The number of a text, which is added if it is new. Memory keeps the number of texts below 2^32.
    #[inline]
    pub(super) fn number(&mut self, hash: u64, text: &str) -> usize {
        if let Some(id) = self.find_hashed(hash, text) {
            return id;
        }
        self.add(hash, text)
    }

    fn add(&mut self, hash: u64, text: &str) -> usize {
        let id = self.ends.len();
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let (buffer, ends, hashes) = (&self.text, &self.ends, &self.hashes);
        self.table.insert_unique(hash, id as u32, |&id| {
            hashes.of(at(buffer, ends, id as usize))
        });
        id
    }

    /// The number of a text, if it is known.
    #[inline]
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        self.find_hashed(self.hashes.of(text), text)
    }

    #[inline]
    fn find_hashed(&self, hash: u64, text: &str) -> Option<usize> {
        // Bytes are compared: the ends of texts need no check that they are boundaries of characters.
        let bytes = self.text.as_bytes();
        let same = |&id: &u32| &bytes[range(&self.ends, id as usize)] == text.as_bytes();
        self.table.find(hash, same).map(|&id| id as usize)
    }

    pub(super) fn hashes(&self) -> &Hashes {
        &self.hashes
    }

    pub(super) fn get(&self, id: usize) -> &str {
        at(&self.text, &self.ends, id)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|id| self.get(id))
    }

    /// Bytes of the texts and the table.
    pub(super) fn bytes(&self) -> u64 {
        let table = self.table.allocation_size();
        (self.text.capacity() + self.ends.capacity() * size_of::<usize>() + table) as u64
    }
}

#[inline]
fn at<'a>(text: &'a str, ends: &[usize], id: usize) -> &'a str {
    &text[range(ends, id)]
}

#[inline]
fn range(ends: &[usize], id: usize) -> Range<usize> {
    let start = match id {
        0 => 0,
        id => ends[id - 1],
    };
    start..ends[id]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_one_number() {
        let hashes = Hashes::default();
        let mut interner = Interner::new(hashes.clone());
        let texts: Vec<String> = (0..2_000).map(|n| format!("word{}", n % 1_000)).collect();
        for (n, text) in texts.iter().enumerate() {
            assert_eq!(interner.number(hashes.of(text), text), n % 1_000);
        }
        assert_eq!(interner.len(), 1_000);
        assert_eq!(interner.find("word7"), Some(7));
        assert_eq!(interner.find("none"), None);
        assert_eq!(interner.get(999), "word999");
        assert!(interner.bytes() > 1_000 * 4);
    }
}
