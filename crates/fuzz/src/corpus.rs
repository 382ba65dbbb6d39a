//! The files that mutation starts from, and their mutants.

use std::fs;
use std::io;
use std::path::Path;

use testkit::Random;

use crate::{Target, mutate};

/// The files of a target. Those in its folder `malformed` are refused, and mutants of them mostly too.
pub struct Corpus {
    target: Target,
    /// First the whole files, then the malformed ones; both in the order of their names.
    files: Vec<Vec<u8>>,
    whole: usize,
}

impl Corpus {
    /// Reads the corpus of a target from its folder inside `corpora`.
    ///
    /// # Errors
    /// When the folder cannot be read, or has no whole file.
    pub fn read(corpora: &Path, target: &Target) -> io::Result<Self> {
        let folder = corpora.join(target.name);
        let mut files = files_of(&folder)?;
        let whole = files.len();
        if whole == 0 {
            return Err(io::Error::other(format!("no file in {}", folder.display())));
        }
        let malformed = folder.join("malformed");
        if malformed.is_dir() {
            files.extend(files_of(&malformed)?);
        }
        Ok(Self {
            target: *target,
            files,
            whole,
        })
    }

    /// Number of its files.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one file")]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// The input of a number: first come the files themselves, then their mutants. The same seed gives the same mutants.
    pub fn input(&self, seed: u64, number: usize) -> Vec<u8> {
        if let Some(file) = self.files.get(number) {
            return file.clone();
        }
        let mut random = Random::new(stream(self.target.name, seed, number as u64));
        let from = match random.below(4) {
            0 => self.files.len(),
            _ => self.whole,
        };
        let file = &self.files[random.below(from)];
        let other = &self.files[random.below(self.whole)];
        let structured = match random.below(2) {
            0 => None,
            _ => (self.target.structured)(file, &mut random),
        };
        let (mut mutant, changes) = match structured {
            // Mostly it is left unchanged, so that a valid checksum stays valid.
            Some(mutant) => (mutant, random.below(5) / 4),
            None => (file.clone(), 1 + random.below(4)),
        };
        for _ in 0..changes {
            mutate::bytes(&mut mutant, other, &mut random);
        }
        mutant
    }
}

/// The contents of the files of a folder, by name.
fn files_of(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let named = |error: io::Error| io::Error::other(format!("{}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(named)? {
        let path = entry?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(fs::read).collect()
}

/// The seed of the random numbers of a mutant: neighbouring numbers give unrelated ones (the finalizer of SplitMix64).
fn stream(name: &str, seed: u64, number: u64) -> u64 {
    let name = name.bytes().fold(0u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut mixed = number
        .wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add(name.wrapping_mul(0xd134_2543_de82_ef95));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
